"""Which texts are the path of a bundle: one answer for the client, the server's permission check and the look-up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from flows import OLD, Cli
from patience import WAIT_SECONDS
from rows import each
from world import World, running

from holdfast.cli.command_table import endpoint
from holdfast.core.bundle_names import SUFFIXES, is_bundle_path
from holdfast.core.errors import Forbidden, InvalidRequest
from holdfast.core.model import Caller
from holdfast.transport import from_here

ID = "000042-20261116T053146Z-9f86d0"
ADMIN = Caller(scopes=frozenset({"read", "write", "admin"}), name="admin")
UNKNOWN = "~no-such-user-here"
USES = [
    ("snapshot_verify", "id"), ("snapshot_restore", "id"), ("snapshot_search", "id"),
    ("snapshot_diff", "a"), ("snapshot_diff", "b"), ("snapshot_merge", "a"), ("snapshot_merge", "b"),
]  # fmt: skip


def naming(operation: str, argument: str, name: str) -> dict[str, Any]:
    needed = {"snapshot_diff": {"a": "latest"}, "snapshot_merge": {"a": "latest"}, "snapshot_search": {"query": "x"}}
    yes = {"yes": True} if operation in ("snapshot_restore", "snapshot_merge") else {}
    return {**needed.get(operation, {}), **yes, argument: name}


@pytest.mark.parametrize(("operation", "argument"), USES)
def test_a_token_without_root_names_no_file_of_a_bundle(world: World, operation: str, argument: str) -> None:
    for suffix in SUFFIXES:
        with pytest.raises(Forbidden, match="may not read or write files"):
            world.call(operation, ADMIN, **naming(operation, argument, f"{ID}{suffix}"))


@pytest.mark.parametrize(("operation", "argument"), USES)
def test_a_command_makes_the_path_of_a_bundle_absolute_before_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, argument: str
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"{ID}{suffix}" for suffix in SUFFIXES]
    sent = [from_here(endpoint(operation), naming(operation, argument, name))[argument] for name in names]

    assert sent == [str(tmp_path / name) for name in names]


@each("name", [ID, "000042", "latest", "now", f"{ID}.tar", "notes.json", "x.age", "x.sha256"])
def test_an_id_is_no_path(name: str) -> None:
    assert not is_bundle_path(name)
    assert from_here(endpoint("snapshot_verify"), {"id": name}) == {"id": name}


@pytest.mark.parametrize("name", [*(f"{ID}{suffix}" for suffix in SUFFIXES), f"backups/{ID}.chunks"])
def test_the_server_resolves_no_path_from_its_own_folder(world: World, name: str) -> None:
    with pytest.raises(InvalidRequest, match="absolute path"):
        world.call("snapshot_verify", id=name)


def test_a_chunked_bundle_is_found_from_the_folder_of_its_user(tmp_path: Path) -> None:
    cli, there = Cli(tmp_path / "memory", HOLDFAST_SNAPSHOT_LAYOUT="chunks"), tmp_path / "there"
    cli.remember(OLD)
    name = f"{cli.create()}.chunks"
    shutil.copytree(cli.repo, there)
    verify = [sys.executable, "-m", "holdfast.cli.main", "snapshot", "verify", name, "--data", str(cli.home), "--json"]
    with running(tmp_path / "memory"):
        done = subprocess.run(
            verify, cwd=there, capture_output=True, env={**os.environ, **cli.environment}, timeout=WAIT_SECONDS
        )

    assert json.loads(done.stdout)["snapshot"] == str(there / name), done.stderr
    assert done.returncode == 0


# A path that begins with ~


@pytest.fixture
def server(tmp_path: Path) -> Iterator[httpx.Client]:
    with running(tmp_path / "memory") as http:
        assert http.post("/agentmemory/snapshots", json={}).status_code == 201
        yield http


@pytest.mark.parametrize("name", [UNKNOWN, f"{UNKNOWN}/x.chunks", f"{UNKNOWN}/{ID}.tar.zst"])
def test_an_unknown_user_after_the_tilde_is_the_callers_mistake(server: httpx.Client, name: str) -> None:
    asked = [
        server.post("/agentmemory/snapshots/verify", json={"id": name}),
        server.post("/agentmemory/snapshots/diff", json={"a": "latest", "b": name}),
        server.post("/agentmemory/snapshots/search", json={"id": name, "query": "x"}),
        server.post("/agentmemory/snapshots/restore", json={"id": name, "yes": True}),
        server.post("/agentmemory/snapshots/restore", json={"id": "latest", "into": name}),
        server.post("/agentmemory/snapshots/export", json={"id": "latest", "to": name}),
        server.post("/agentmemory/snapshots/verify", json={"id": "latest", "identity": name}),
        server.post("/agentmemory/replay/import-jsonl", json={"path": name}),
    ]

    assert [(one.status_code, "unknown user after ~" in one.text) for one in asked] == [(400, True)] * len(asked)


def test_an_unknown_user_in_the_name_of_a_vault_is_told(server: httpx.Client) -> None:
    told = server.post("/agentmemory/snapshots/verify", json={"id": "latest", "from": f"{UNKNOWN}/vault"}).json()

    assert (told["code"], "unknown user after ~" in told["error"]) == ("invalid_settings", True)


def test_a_path_that_no_disk_can_hold_is_not_found(server: httpx.Client) -> None:
    told = server.post("/agentmemory/snapshots/verify", json={"id": "/" + "x" * 400})

    assert (told.status_code, told.json()["code"]) == (404, "not_found")


def test_a_command_with_an_unknown_user_is_told_the_same(tmp_path: Path) -> None:
    said = Cli(tmp_path / "memory")("snapshot", "verify", f"{UNKNOWN}/x.chunks")

    assert (said.code, said.fault["code"]) == (2, "invalid")


def test_a_data_folder_of_an_unknown_user_is_a_wrong_setting() -> None:
    said = Cli(Path(f"{UNKNOWN}/memory"))("memories")

    assert (said.code, said.fault["code"]) == (3, "invalid_settings")
