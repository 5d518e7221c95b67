"""Snapshots and the clumsy or greedy caller: asked before something goes, told in plain words, held to a measure."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest
import warm
from engines import store_of
from flows import NEW, OLD, Cli, recipient
from patience import WAIT_SECONDS
from rows import each
from world import World, running

from holdfast.core.errors import Forbidden, InvalidRequest, NotFound, RateLimited
from holdfast.core.model import Caller
from holdfast.ops.framework.operation import Operation
from holdfast.ops.registry import OPERATIONS, TOOLS

HOUR = 3_600_000
WRITER = Caller(scopes=frozenset({"read", "write"}), name="writer")
ADMIN = Caller(scopes=frozenset({"read", "write", "admin"}), name="admin")


# Who may make what


def test_only_an_admin_says_who_can_open_a_snapshot(world: World) -> None:
    with pytest.raises(Forbidden, match="encrypt"):
        world.call("snapshot_create", WRITER, encrypt=[recipient()])
    assert world.call("snapshot_list")["count"] == 0

    assert world.call("snapshot_create", ADMIN, encrypt=[recipient()])["snapshot"]["encrypted"]


def test_a_token_that_may_only_write_makes_so_many_an_hour(tmp_path: Path) -> None:
    world = World(tmp_path / "memory", snapshot_hand_per_hour=2)
    for _ in range(2):
        world.call("snapshot_create", WRITER)
        world.clock.now += HOUR // 4
    with pytest.raises(RateLimited) as told:
        world.call("snapshot_create", WRITER)
    assert told.value.details["retryAfter"] == 1800
    world.call("snapshot_create", ADMIN)  # whoever may remove them may make as many as he likes

    world.clock.now += HOUR - 1
    world.call("snapshot_create", WRITER)  # the admin's counts too, and is alone in this hour
    with pytest.raises(RateLimited):
        world.call("snapshot_create", WRITER)
    world.close()


def test_a_restart_and_another_token_do_not_begin_a_new_measure(tmp_path: Path) -> None:
    for _ in range(2):
        world = World(tmp_path / "memory", snapshot_hand_per_hour=1)
        if not world.call("snapshot_list")["count"]:
            world.call("snapshot_create", WRITER)
        with pytest.raises(RateLimited):
            world.call("snapshot_create", Caller(scopes=WRITER.scopes, name="another"))
        world.close()


def test_a_label_has_at_most_so_many_characters(world: World) -> None:
    with pytest.raises(InvalidRequest, match="at most 200 characters"):
        world.call("snapshot_create", label="x" * 201)
    world.call("snapshot_create", label="x" * 200)


@each("operation", OPERATIONS, lambda one: one.name)
def test_every_bound_that_a_field_states_is_applied(operation: Operation) -> None:
    schema = operation.request.model_json_schema(by_alias=True)
    for name, prop in schema["properties"].items():
        if most := prop.get("maxLength"):
            told = _refusal(operation, {name: "x" * (most + 1)}) or ""
            assert f"{name}: must have at most {most} character" in told, name


def test_a_server_writes_to_no_path_that_begins_in_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "its-own").mkdir()
    monkeypatch.chdir(tmp_path / "its-own")
    with running(tmp_path / "memory") as http:
        assert http.post("/agentmemory/snapshots", json={}).status_code == 201
        asked = [
            http.post("/agentmemory/snapshots/restore", json={"id": "latest", "into": "../there"}),
            http.post("/agentmemory/snapshots/export", json={"id": "latest", "to": "there"}),
            http.post(
                "/agentmemory/mcp/call",
                json={"name": "memory_snapshot_restore", "arguments": {"id": "latest", "into": "there"}},
            ),
        ]
        assert [(one.status_code, "absolute path" in one.json()["error"]) for one in asked] == [(400, True)] * 3
        Cli(tmp_path / "memory").good("snapshot", "export", "latest", "--to", "mine")
    cli = Cli(tmp_path / "memory")
    cli.good("snapshot", "restore", "latest", "--into", "second")  # from where its user stands
    assert sorted(one.name for one in (tmp_path / "its-own").iterdir()) == ["mine", "second"]
    assert not (tmp_path / "there").exists()


# Prune asks whoever sits at a terminal


def at_terminal(cli: Cli, typed: bytes, *words: str) -> subprocess.CompletedProcess[str]:
    """A command whose standard input is a terminal at which somebody types."""
    keyboard, terminal = pty.openpty()
    os.write(keyboard, typed)
    environ = {**os.environ, "HOLDFAST_STORE": store_of(cli.home), **cli.environment}
    done = warm.run([*words, "--data", str(cli.home)], environ, WAIT_SECONDS, stdin=terminal)
    os.close(keyboard)
    os.close(terminal)
    return done


@pytest.fixture
def three(tmp_path: Path) -> Cli:
    cli = Cli(tmp_path / "memory")
    for text in (OLD, NEW, "The third of them"):
        cli.remember(text)
        cli.create()
    return cli


def test_a_program_that_prunes_is_not_asked(three: Cli) -> None:
    assert len(three.good("snapshot", "prune", "--keep", "1", "--dry-run")["remove"]) == 2
    assert three.good("snapshot", "list")["count"] == 3
    assert len(three.good("snapshot", "prune", "--keep", "1")["remove"]) == 2
    assert three.good("snapshot", "list")["count"] == 1


def test_a_program_that_undoes_need_not_confirm_it(three: Cli) -> None:
    three.good("snapshot", "restore", "000001", "--yes")
    three.good("snapshot", "undo")
    assert len(three.good("memories")["memories"]) == 3


@pytest.mark.parametrize(("typed", "left"), [(b"n\n", 3), (b"\n", 3), (b"y\n", 1)])
def test_at_a_terminal_prune_shows_the_plan_and_asks(three: Cli, typed: bytes, left: int) -> None:
    done = at_terminal(three, typed, "snapshot", "prune", "--keep", "1")

    assert "Remove 2? [y/N]" in done.stdout
    assert three.good("snapshot", "list")["count"] == left
    assert (done.returncode == 0) == (left == 1)


@pytest.mark.parametrize(("typed", "left"), [(b"n\n", 3), (b"y\n", 2)])
def test_at_a_terminal_a_snapshot_is_shown_before_it_is_deleted(three: Cli, typed: bytes, left: int) -> None:
    one = three.good("snapshot", "list")["snapshots"][1]
    done = at_terminal(three, typed, "snapshot", "delete", one["id"])

    assert one["createdAt"] in done.stdout
    assert "Remove 1? [y/N]" in done.stdout
    assert three.good("snapshot", "list")["count"] == left
    assert (done.returncode == 0) == (left == 2)


def test_delete_says_what_it_would_remove_and_asks_no_program(three: Cli) -> None:
    id = three.good("snapshot", "list")["snapshots"][1]["id"]
    said = three.good("snapshot", "delete", id, "--dry-run")
    assert (said["remove"], said["dryRun"], said["snapshot"]["id"]) == ([id], True, id)
    assert three.good("snapshot", "list")["count"] == 3

    assert three.good("snapshot", "delete", id) == {"success": True, "id": id, "dryRun": False, "remove": [id]}
    assert three("snapshot", "delete", id, "--dry-run").code == NotFound.exit_code


# Words


NONSENSE: tuple[Any, ...] = ({}, [], [{}], "", -1, 1.5, "x" * 2_000_000, True, "nonsense", 10**30, float("inf"), "\0")
LIBRARY_WORDS = ("Input should", "Value error", "should have", "should be", "unable to", "valid ")


@each("operation", OPERATIONS, lambda one: one.name)
def test_nonsense_is_answered_in_our_own_words(operation: Operation) -> None:
    schema = operation.request.model_json_schema(by_alias=True)
    told = [
        message
        for name in schema["properties"]
        for value in NONSENSE
        if (message := _refusal(operation, {name: value})) is not None
    ]
    assert told
    assert [message for message in told if any(word in message for word in LIBRARY_WORDS)] == []
    assert [message for message in told if "has an invalid format" in message] == []


def _refusal(operation: Operation, arguments: dict[str, Any]) -> str | None:
    try:
        operation.read(arguments)
    except InvalidRequest as fault:
        return fault.message
    return None


def test_undo_is_a_tool_for_admins() -> None:
    undo = TOOLS["memory_snapshot_undo"].operation
    assert (undo.name, undo.needs) == ("snapshot_undo", "admin")
