"""Runs the commands of a page in order, in one shell, in an empty home of their own; no network, no other's server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from processes import environment

NOT_RUN = "<!-- not run by the test"
END = "---end of step---"
RUN_SECONDS = 100


@dataclass(frozen=True)
class Step:
    """A block of commands, and the lines that the page shows under it."""

    commands: str
    shown: tuple[str, ...] = ()


def steps(page: str) -> Iterator[Step]:
    """The shell blocks of a page that are to be run, in order."""
    skip = rf"(?P<skip>{re.escape(NOT_RUN)}[^\n]*\n)?"
    pattern = rf"^{skip}```sh\n(?P<commands>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?"
    for block in re.finditer(pattern, page, re.MULTILINE | re.DOTALL):
        if not block["skip"]:
            yield Step(block["commands"], tuple((block["shown"] or "").splitlines()))


def unmatched(shown: Sequence[str], printed: str) -> str | None:
    """The first line of the page that the output does not have after the lines before it; `…` is any text."""
    lines = iter(printed.splitlines())
    for expected in shown:
        pattern = ".*".join(re.escape(part) for part in re.sub(r"\s*…\s*", "…", expected).split("…"))
        if not any(re.fullmatch(pattern, line) for line in lines):
            return expected
    return None


def run(blocks: Sequence[Step], home: Path, folder: Path | None = None, **more: str) -> list[str]:
    """What each block prints, in a shell that ends at the first command that fails; `more` is added to its
    environment."""
    script = "set -eo pipefail\n" + "".join(f"{block.commands}\necho '{END}'\n" for block in blocks)
    settings = environment(
        HOME=str(home),
        PATH=f"{_commands(home)}:{os.environ['PATH']}",
        HOLDFAST_DAEMON="on",
        HOLDFAST_PORT="0",
        COLUMNS="100",
        **more,
    )
    done = subprocess.run(
        ["bash"],
        input=script,
        cwd=folder or home,
        env=settings,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout.split(f"{END}\n")[:-1]


def _commands(home: Path) -> Path:
    """A folder with `holdfast` in it that runs the code under test."""
    command = home / "bin" / "holdfast"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m holdfast.cli.main "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return command.parent


@contextmanager
def empty_home(place: Path) -> Iterator[Path]:
    """An empty home; a server that the commands left behind is ended."""
    home = place / "home"
    home.mkdir()
    try:
        yield home
    finally:
        for card in home.rglob("server.json"):
            with suppress(OSError, IndexError):
                os.kill(int(re.findall(r'"pid":(\d+)', card.read_text())[0]), signal.SIGKILL)
