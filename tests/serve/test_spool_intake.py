"""What hooks left in the spool is taken in once, in order, and what cannot be taken is put aside."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from world import NOON, World, running

from holdfast.core.errors import StorageFull
from holdfast.core.times import iso
from holdfast.local import spool
from holdfast.serve.background.spool_intake import SpoolIntake


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "m")
    yield made
    made.close()


def folder(world: World) -> str:
    return str(world.engine.folder.home)


def prompt(text: str, at: int = NOON) -> dict[str, Any]:
    data = {"hookType": "prompt_submit", "sessionId": "s1", "project": "p", "cwd": "/w", "data": {"prompt": text}}
    return {**data, "timestamp": iso(at)}


def put(world: World, path: str, body: object, number: int) -> None:
    assert spool.keep(folder(world), f"/agentmemory{path}", body, number, f"{number:04d}")


def said(world: World) -> list[str]:
    return [one["narrative"] for one in world.call("observations", sessionId="s1")["observations"]]


def test_a_whole_session_that_waited_is_taken_in_with_its_times(world: World) -> None:
    world.clock.now = NOON + 3_600_000
    put(world, "/session/start", {"sessionId": "s1", "project": "p", "cwd": "/w", "timestamp": iso(NOON)}, 1)
    put(world, "/observe", prompt("what is the limit?", NOON + 1_000), 2)
    put(world, "/session/end", {"sessionId": "s1", "timestamp": iso(NOON + 2_000)}, 3)
    assert SpoolIntake(world.engine).take_in() == 3
    (session,) = world.call("sessions")["sessions"]
    assert (session["status"], session["startedAt"], session["endedAt"]) == ("completed", iso(NOON), iso(NOON + 2_000))
    assert said(world) == ["what is the limit?"]
    assert spool.spool_status(folder(world)) == spool.Status()


def test_an_event_from_before_the_end_does_not_bring_the_session_back(world: World) -> None:
    world.call("observe", **prompt("first"))
    world.clock.now += 10_000
    world.call("session_end", sessionId="s1")
    put(world, "/observe", prompt("late", NOON + 5_000), 1)
    SpoolIntake(world.engine).take_in()
    assert world.call("sessions")["sessions"][0]["status"] == "completed"
    world.clock.now += 10_000
    world.call("observe", **prompt("after", world.clock.now))
    assert world.call("sessions")["sessions"][0]["status"] == "active"


def test_what_was_delivered_and_waits_as_well_is_stored_once(world: World) -> None:
    world.call("observe", **prompt("hello"))
    put(world, "/observe", prompt("hello"), 1)
    SpoolIntake(world.engine).take_in()
    assert said(world) == ["hello"]


@settings(max_examples=25)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_a_server_killed_between_taking_and_removing_takes_it_once(turns: list[int]) -> None:
    """The same request, found again after a crash, changes nothing."""
    with tempfile.TemporaryDirectory() as place:
        world = World(Path(place))
        for number, which in enumerate(turns):
            put(world, "/observe", prompt(f"prompt {which}", NOON + which * 1_000), number)
        SpoolIntake(world.engine).take_in()
        assert sorted(said(world)) == sorted({f"prompt {which}" for which in turns})
        world.close()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/agentmemory/forget", {"sessionId": "s1"}),
        ("/agentmemory/observe", {"sessionId": "s1"}),
        ("/agentmemory/observe", {"sessionId": "", "hookType": "x", "timestamp": "now"}),
        ("/agentmemory/import", {"exportData": {}}),
    ],
)
def test_what_no_hook_asks_or_cannot_be_taken_is_put_aside(world: World, path: str, body: object) -> None:
    spool.keep(folder(world), path, body, 1, "0001")
    put(world, "/observe", prompt("the next one"), 2)
    assert SpoolIntake(world.engine).take_in() == 2
    assert spool.spool_status(folder(world)).refused == 1
    assert said(world) == ["the next one"]


def test_a_full_disk_lets_everything_wait_in_its_order(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise StorageFull("no room")

    put(world, "/observe", prompt("one"), 1)
    put(world, "/observe", prompt("two"), 2)
    monkeypatch.setattr(type(world.engine.store), "write", full)
    assert SpoolIntake(world.engine).take_in() == 0
    assert spool.spool_status(folder(world)).waiting == 2
    monkeypatch.undo()
    assert SpoolIntake(world.engine).take_in() == 2
    assert said(world) == ["one", "two"]


def test_a_running_server_takes_in_what_waits_and_says_how_much_does(tmp_path: Path) -> None:
    home = tmp_path / "m"
    home.mkdir()
    spool.keep(str(home), "/agentmemory/observe", prompt("kept while nobody served"), 1, "0001")
    spool.keep(str(home), "/agentmemory/nothing", {}, 2, "0002")
    with running(home) as client:
        for _ in range(600):
            found = client.get("/agentmemory/health", headers=_run_token(home)).json()["spool"]
            if found == {"waiting": 0, "refused": 1, "dropped": 0}:
                break
        assert found == {"waiting": 0, "refused": 1, "dropped": 0}
        rows = client.get("/agentmemory/observations", params={"sessionId": "s1"}, headers=_run_token(home)).json()
    assert [one["narrative"] for one in rows["observations"]] == ["kept while nobody served"]


def _run_token(home: Path) -> dict[str, str]:
    card = json.loads((home / "server.json").read_text())
    return {"Authorization": f"Bearer {card['token']}"}
