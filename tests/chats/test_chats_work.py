"""What a coding agent keeps about a project, or in a session, is not told to strangers in chats."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from chat_world import G1, asked_by
from world import World

from holdfast.core.errors import NotFound
from holdfast.core.model import EVERYBODY, Caller
from holdfast.protocol.access import Viewer
from holdfast.store.tables import MEMORIES

STRANGER = Viewer(G1, "D")
OURS = Caller().tenant


def keep(world: World, content: str, **more: Any) -> str:
    return str(world.call("remember", content=content, **more)["memory"]["id"])


def told(world: World) -> set[str]:
    """What the stranger reads in all lists."""
    memories = world.call("memories", limit=500, **asked_by(STRANGER))
    assert memories["total"] == len(memories["memories"])
    return {one["id"] for one in memories["memories"]}


@pytest.mark.parametrize(
    "where", [{"project": "harbour"}, {"sessionId": "s1"}, {"project": "harbour", "sessionId": "s1"}]
)
def test_a_memory_of_work_is_for_the_agent_alone(world: World, where: dict[str, str]) -> None:
    id = keep(world, "The crane's override code lies in the blue safe", uri="facts://crane", **where)

    assert world.found("crane override code") == [id]
    assert world.call("search", query="crane override code", **asked_by(STRANGER))["results"] == []
    assert told(world) == set()
    for name in (id, "facts://crane"):
        with pytest.raises(NotFound):
            world.call("memory", id=name, **asked_by(STRANGER))
    for operation, arguments in (
        ("context", {"project": "harbour"}),
        ("timeline", {"anchor": "today"}),
        ("export", {}),
        ("smart_search", {"query": "crane override"}),
    ):
        answer = world.call(operation, **arguments, **asked_by(STRANGER))
        said = b"".join(answer.pieces).decode() if hasattr(answer, "pieces") else json.dumps(answer)
        assert "blue safe" not in said, operation


def test_saying_the_same_in_a_chat_does_not_tell_that_it_is_known(world: World) -> None:
    keep(world, "The crane's override code lies in the blue safe", project="harbour")

    answer = world.call("remember", content="The crane's override code lies in the blue safe", **asked_by(STRANGER))

    assert answer["memory"]["version"] == 1
    assert "similarTo" not in answer


@pytest.mark.parametrize(
    "more", [{}, {"scope": "global"}, {"scope": "global", "project": "harbour", "sessionId": "s1"}]
)
def test_what_is_of_no_work_or_saved_for_chats_is_told_there(world: World, more: dict[str, str]) -> None:
    id = keep(world, "The harbour opens at six", **more)

    assert told(world) == {id}
    assert [one["id"] for one in world.call("search", query="harbour opens", **asked_by(STRANGER))["results"]] == [id]


def test_a_memory_of_work_is_told_once_its_scope_is_named(world: World) -> None:
    id = keep(world, "The harbour opens at six", project="harbour")
    assert told(world) == set()

    world.call("memory_change", id=id, scope="global")

    assert told(world) == {id}


def test_work_that_is_said_at_an_address_of_chats_is_not_told_there(world: World) -> None:
    keep(world, "The harbour opens at six", uri="facts://harbour")

    newer = keep(world, "The harbour opens at five, by the crane's code", uri="facts://harbour", project="harbour")

    assert newer not in told(world)
    assert world.found("harbour opens") == [newer]
    assert world.engine.store.verify() == []


# Folders of earlier versions, in which every global memory had the key that everybody held


@pytest.fixture
def earlier(tmp_path: Path) -> World:
    world = World(tmp_path / "m")
    texts = {
        "plain": {},
        "project": {"project": "harbour"},
        "session": {"sessionId": "s1"},
        "named": {"scope": "global"},
    }
    for name, where in texts.items():
        keep(world, f"The {name} lantern burns on the quay all night", uri=f"facts://{name}", **where)

    def as_before(tx: Any) -> None:
        for memory in tx.find(MEMORIES, OURS):
            tx.replace(MEMORIES, dataclasses.replace(memory, audience=(EVERYBODY,), share_into_groups=False))

    world.engine.store.write(as_before)
    world.close()
    return World(tmp_path / "m")


def test_of_an_older_folder_nothing_of_work_is_told_in_chats(earlier: World) -> None:
    seen = {one["uri"] for one in earlier.call("memories", **asked_by(STRANGER))["memories"]}

    assert seen == {"facts://plain", "facts://named"}
    assert earlier.call("memories", count=True, **asked_by(STRANGER))["total"] == 2
    found = earlier.call("search", query="lantern quay night", **asked_by(STRANGER))["results"]
    assert {one["observation"]["uri"] for one in found} == seen
    with pytest.raises(NotFound):
        earlier.call("memory", id="facts://project", **asked_by(STRANGER))
    assert earlier.call("memories")["total"] == 4
    assert earlier.engine.store.verify() == []
    earlier.close()


def test_an_older_folder_is_changed_when_a_chat_first_asks_and_only_then(earlier: World) -> None:
    def keys() -> dict[str, tuple[str, ...]]:
        return {one.uri: one.audience for one in earlier.engine.store.read().find(MEMORIES, OURS)}

    earlier.call("memories")
    assert set(keys().values()) == {(EVERYBODY,)}

    earlier.call("memories", **asked_by(STRANGER))
    changed = keys()
    assert {uri for uri, held in changed.items() if held != (EVERYBODY,)} == {"facts://plain", "facts://named"}
    before = earlier.engine.store.last_seq()
    earlier.call("memories", **asked_by(STRANGER))
    assert (keys(), earlier.engine.store.last_seq()) == (changed, before)
    earlier.close()
