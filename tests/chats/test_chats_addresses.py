"""Addresses of memories: unique in a tenant, the same for all versions, and silent about what one may not see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_world import A_PRIVATE, B_PRIVATE, asked_by
from world import DAY, World

from holdfast.core.errors import Conflict, InvalidRequest, NotFound
from holdfast.protocol.access import Viewer

pytestmark = pytest.mark.engines

A, B = Viewer(A_PRIVATE, "A"), Viewer(B_PRIVATE, "B")
HOME = "facts://home/door"


def keep(world: World, content: str, viewer: Viewer | None = None, **arguments: Any) -> dict[str, Any]:
    made: dict[str, Any] = world.call("remember", content=content, **asked_by(viewer or Viewer()), **arguments)
    return dict(made["memory"])


def uris(answer: dict[str, Any]) -> list[str]:
    return [one["uri"] for one in answer["addresses"]]


def test_a_memory_is_read_changed_and_forgotten_by_its_address(world: World) -> None:
    keep(world, "The door of the house is green", uri=HOME)

    world.call("evolve", memoryId=HOME, newContent="The door is blue now")
    found = world.call("memory", id=HOME)
    assert found["memory"]["content"] == "The door is blue now"
    assert [one["version"] for one in found["versions"]] == [2, 1]
    assert {one["uri"] for one in found["versions"]} == {HOME}

    assert world.call("forget", memoryId=HOME)["deleted"] == 2
    with pytest.raises(NotFound):
        world.call("memory", id=HOME)
    assert world.call("addresses")["addresses"] == []


def test_saying_something_new_at_an_address_makes_a_version(world: World) -> None:
    first = keep(world, "The door is green", uri=HOME)
    second = keep(world, "Nobody ever saw such a narrow gate", uri=HOME)

    assert (second["version"], second["parentId"]) == (2, first["id"])
    assert keep(world, "Nobody ever saw such a narrow gate", uri=HOME)["id"] == second["id"]


A_IN_G1 = Viewer("tg:GroupMessage:G1", "A")


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ((Viewer(), {}), (A, {})),
        ((Viewer(), {}), (A, {"scope": "personal"})),
        ((A_IN_G1, {"scope": "group"}), (A_IN_G1, {})),
        ((A_IN_G1, {}), (A, {})),
        ((A, {}), (A, {"scope": "conversation"})),
        ((A, {}), (A, {"shareIntoGroups": True})),
        ((A, {"owners": ["B"], "visibility": "group"}), (B, {})),
    ],
    ids=["global", "global, said to be personal", "group", "all chats of A", "chat", "opted in", "of two"],
)
def test_what_is_said_at_an_address_is_told_to_nobody_whom_it_was_not_meant_for(
    world: World, there: tuple[Viewer, dict[str, Any]], said: tuple[Viewer, dict[str, Any]]
) -> None:
    """Whoever puts a memory of his own at an address first must not get to read what others put there."""
    keep(world, "Something about doors", there[0], uri=HOME, **there[1])

    with pytest.raises(Conflict):
        keep(world, "My own door has no lock", said[0], uri=HOME, **said[1])

    assert "no lock" not in str(world.call("memories", allChats=True))


def test_an_address_keeps_its_audience(world: World) -> None:
    keep(world, "My door is green", A, uri=HOME)

    revised = keep(world, "It is blue", A, uri=HOME)

    assert (revised["version"], revised["scope"], revised["owners"]) == (2, "personal", ["A"])


def test_an_address_names_a_memory_wherever_an_id_does(world: World) -> None:
    keep(world, "My door is green", A, uri=HOME)
    other = keep(world, "My gate is red", A, uri="facts://gate")
    id = world.call("memory", id=HOME, **asked_by(A))["memory"]["id"]

    link = world.call("relate", sourceId=HOME, targetId="facts://gate", type="related", **asked_by(A))
    assert (link["sourceId"], link["targetId"]) == (id, other["id"])
    assert world.call("relations", id=HOME, **asked_by(A))["relations"] == [link]
    expanded = world.call("smart_search", expandIds=[HOME, "facts://nowhere"], **asked_by(A))["results"]
    assert [one["observation"]["id"] for one in expanded] == [id]
    around = world.call("timeline", anchor=HOME, **asked_by(A))["memories"]
    assert {one["id"] for one in around} == {id, other["id"]}
    world.call("memory_deprecate", id="facts://gate", **asked_by(A))
    world.call("governance_delete", memoryIds=[HOME], **asked_by(A))
    assert world.call("memories", **asked_by(A))["total"] == 0


@pytest.mark.parametrize("operation", ["relate", "relations", "smart_search", "timeline"])
def test_the_address_of_another_persons_memory_is_one_that_is_not_there(world: World, operation: str) -> None:
    keep(world, "My door is green", A, uri=HOME)
    mine = keep(world, "My boat is red", B)["id"]
    given: dict[str, Any] = {
        "relate": {"sourceId": mine, "type": "related"}, "relations": {}, "smart_search": {}, "timeline": {},
    }[operation]  # fmt: skip
    name = {"relate": "targetId", "relations": "id", "smart_search": "expandIds", "timeline": "anchor"}[operation]
    answers = []
    for uri in (HOME, "facts://nowhere"):
        try:
            named = [uri] if name == "expandIds" else uri
            answers.append(world.call(operation, **given, **{name: named}, **asked_by(B)))
        except NotFound as fault:
            answers.append(fault.message)
    assert answers[0] == answers[1]


def test_an_address_that_another_person_has_tells_only_that_it_is_taken(world: World) -> None:
    mine = keep(world, "My door is green", A, uri=HOME)

    with pytest.raises(Conflict) as refused:
        keep(world, "Which door?", B, uri=HOME)
    assert mine["id"] not in str(refused.value)
    with pytest.raises(NotFound) as hidden:
        world.call("memory", id=HOME, **asked_by(B))
    with pytest.raises(NotFound) as nowhere:
        world.call("memory", id="facts://nowhere", **asked_by(B))
    assert hidden.value.message == nowhere.value.message
    with pytest.raises(NotFound):
        world.call("forget", memoryId=HOME, **asked_by(B))
    for operation, arguments in (("address_alias", {"alias": "facts://x"}), ("address_move", {"to": "facts://x"})):
        with pytest.raises(NotFound):
            world.call(operation, id=HOME, **arguments, **asked_by(B))


def test_addresses_are_listed_for_those_who_see_what_lies_there(world: World) -> None:
    keep(world, "My door is green", A, uri=HOME)
    keep(world, "The gate is open", uri="facts://home/gate")
    keep(world, "Elsewhere", uri="events://party")

    assert uris(world.call("addresses", under="facts://", **asked_by(A))) == [HOME, "facts://home/gate"]
    assert uris(world.call("addresses", under="facts://", **asked_by(B))) == ["facts://home/gate"]
    assert uris(world.call("addresses", limit=1, offset=1)) == ["facts://home/gate"]


def test_an_alias_leads_to_the_latest_version_and_goes_with_the_memory(world: World) -> None:
    keep(world, "The door is green", uri=HOME)
    answer = world.call("address_alias", id=HOME, alias="facts://door")
    assert [(one["uri"], one["kind"]) for one in answer["addresses"]] == [(HOME, "own"), ("facts://door", "alias")]
    world.call("address_alias", id=HOME, alias="facts://door")

    world.call("evolve", memoryId="facts://door", newContent="It is blue")
    assert world.call("memory", id="facts://door")["memory"]["content"] == "It is blue"
    keep(world, "Something else", uri="facts://other")
    with pytest.raises(Conflict):
        world.call("address_alias", id="facts://other", alias="facts://door")

    world.call("forget", memoryId=HOME)
    assert uris(world.call("addresses")) == ["facts://other"]


def test_whoever_comes_to_the_old_address_is_led_on(world: World) -> None:
    keep(world, "The door is green", uri=HOME)
    world.call("address_move", id=HOME, to="facts://castle/door")

    found = world.call("memory", id=HOME)

    assert found["memory"]["uri"] == "facts://castle/door"
    assert found["addresses"] == [
        {"uri": HOME, "kind": "moved", "migratedTo": "facts://castle/door"},
        {"uri": "facts://castle/door", "kind": "own", "migratedFrom": HOME},
    ]
    world.call("address_move", id="facts://castle/door", to=HOME)
    assert world.call("memory", id="facts://castle/door")["memory"]["uri"] == HOME
    assert world.engine.store.verify() == []


def test_a_memory_of_a_chat_gets_an_address_of_its_own(world: World) -> None:
    memory = keep(world, "I like tea", A, domain="preferences")

    assert memory["uri"].startswith("preferences://")
    assert world.call("memory", id=memory["uri"], **asked_by(A))["memory"]["id"] == memory["id"]
    assert "uri" not in keep(world, "The agent's own needs none")


def test_two_addresses_are_two_memories_however_alike(world: World) -> None:
    text = "The spare key lies under the third stone by the harbour gate"
    keep(world, text, uri="facts://one")

    assert keep(world, text + " now", uri="facts://two")["version"] == 1
    named = keep(world, text + " again")
    assert (named["version"], named["uri"]) == (2, "facts://one")


@pytest.mark.parametrize(
    "uri", ["door", "://x", "facts://", " facts://x", "facts://a\nb", "f acts://x", "x" * 600 + "://y"]
)
def test_what_is_no_address_is_refused(world: World, uri: str) -> None:
    with pytest.raises(InvalidRequest):
        keep(world, "The door is green", uri=uri)


def test_an_address_is_free_again_once_its_memory_has_expired(world: World) -> None:
    keep(world, "The door is green today", uri=HOME, ttlDays=1)
    world.clock.now += 2 * DAY
    world.call("auto_forget")

    assert keep(world, "Another door", uri=HOME)["version"] == 1


def test_addresses_travel_with_an_export(world: World, tmp_path: Path) -> None:
    keep(world, "The door is green", uri=HOME)
    world.call("address_move", id=HOME, to="facts://castle/door")
    keep(world, "My key", A, uri="facts://key")
    exported = json.loads(b"".join(world.call("export").pieces))
    assert "facts://key" not in json.dumps(exported)
    other = World(tmp_path / "other", chance=1_000)
    try:
        other.call("import_", exportData=exported)
        assert other.call("memory", id=HOME)["memory"]["content"] == "The door is green"
        assert other.engine.store.verify() == []
    finally:
        other.close()
