"""The whole flow for tests: the command line in this process, and memories with something in them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyrage
import pytest
from engines import store_of
from object_server import BUCKET, WRITER, ObjectServer

from holdfast.cli.main import main
from holdfast.core.system import SystemEntropy

OLD = "The amber cabinet holds the spare fuses"
NEW = "The ferry to the island leaves at noon"

# Keys for tests only.
READER = pyrage.x25519.Identity.generate()
STRANGER = pyrage.x25519.Identity.generate()


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> Any:
        return json.loads(self.out)

    @property
    def fault(self) -> Any:
        return json.loads(self.err)


def command_in(hint: str) -> list[str]:
    """The one command that a hint tells to paste, without the folder, which `Cli` names itself."""
    found = re.findall(r"holdfast ((?:snapshot|verify|vault|key|doctor|recover) .*)$", hint)
    assert len(found) == 1, hint
    words = shlex.split(found[0])
    if "--data" in words:
        at = words.index("--data")
        del words[at : at + 2]
    return words


class Cli:
    """`holdfast … --data home --json`, run here: a process of its own takes a second to start."""

    def __init__(self, home: Path, **environment: str):
        self.home = home
        self.environment = {"HOLDFAST_EMBEDDER": "none", **environment}

    def __call__(self, *words: str) -> Said:
        return self.plain(*words, "--json")

    def plain(self, *words: str) -> Said:
        """As a person sees it."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with (
            _only({"HOLDFAST_STORE": store_of(self.home), **self.environment}),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = main([*words, *([] if "--data" in words else ["--data", str(self.home)])])
        return Said(code, *(one.buffer.getvalue().decode() for one in (out, err)))  # type: ignore[attr-defined]

    def good(self, *words: str) -> Any:
        said = self(*words)
        assert said.code == 0, said.out + said.err
        return said.answer

    def remember(self, *texts: str) -> None:
        for text in texts:
            self.good("remember", text)

    def create(self, *words: str) -> str:
        id: str = self.good("snapshot", "create", *words)["id"]
        return id

    def texts(self) -> set[str]:
        return {one["content"] for one in self.good("memories")["memories"]}

    def found(self, *words: str) -> list[str]:
        return [one["observation"]["content"] for one in self.good(*words)["results"]]

    def files(self) -> dict[str, bytes]:
        return tree(self.home)

    @property
    def repo(self) -> Path:
        return next((self.home / "snapshots").glob("*/*"))


@contextlib.contextmanager
def _only(environment: Mapping[str, str]) -> Iterator[None]:
    """None of the settings that this process was started with, and these."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "AGENTMEMORY_", "III_"))
    }
    with patch.dict(os.environ, {**kept, "HOLDFAST_DAEMON": "off", **environment}, clear=True):
        yield


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder and its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def identity_file(folder: Path, identity: Any = READER) -> str:
    path = folder / f"{str(identity.to_public())[-8:]}.txt"
    path.write_text(f"{identity}\n")
    path.chmod(0o600)
    return str(path)


def recipient(identity: Any = READER) -> str:
    return str(identity.to_public())


def vault_place(request: pytest.FixtureRequest, folder: Path) -> tuple[str, dict[str, str]]:
    """A new vault of the kind that the test is for, and the environment that reaches it."""
    if request.param == "folder":
        return f"file://{folder}/vault", {}
    objects: ObjectServer = request.getfixturevalue("objects")
    keys = {"AWS_ACCESS_KEY_ID": WRITER[0], "AWS_SECRET_ACCESS_KEY": WRITER[1]}
    return f"s3://{BUCKET}/{SystemEntropy().hex(12)}", {**keys, "AWS_ENDPOINT_URL": objects.endpoint}
