"""The knowledge graph: what the MCP memory server does with it is compared in tests/clients; here is what holds beside."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import orjson
import pytest
from patience import WAIT_SECONDS
from world import World

from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.core.model import Json

GITHUB = "ghp_" + "aB3dE5fG7h" * 3 + "aB3dE5"
IN_CHATS = [{"umo": f"tg:FriendMessage:{user}", "senderId": user} for user in ("ada", "ben")]
KEEPS: Json = {"from": "Ada", "to": "bees", "relationType": "keeps"}


def entity(name: str, *observations: str, kind: str = "person") -> Json:
    return {"name": name, "entityType": kind, "observations": list(observations)}


def graph(world: World, **whose: Any) -> Json:
    return dict(world.call("read_graph", **whose))


def test_observations_and_relations_are_found_by_search(world: World) -> None:
    world.call("create_entities", entities=[entity("Ada", "sleeps until noon")])
    world.call("create_relations", relations=[KEEPS])

    assert [hit["title"] for hit in world.call("search", query="until noon")["results"]] == ["Ada"]
    assert [hit["title"] for hit in world.call("search", query="keeps bees")["results"]] == ["Ada keeps bees"]


def test_a_relation_hides_no_memory_whatever_its_kind(world: World) -> None:
    world.call("create_entities", entities=[entity("new"), entity("old", "is still found")])
    world.call("create_relations", relations=[{"from": "new", "to": "old", "relationType": "supersedes"}])

    assert len(world.found("still found")) == 1


def test_nodes_are_found_in_other_words_where_none_has_these(world: World) -> None:
    world.call("create_entities", entities=[entity("Ada", "keeps bees at home"), entity("Zed", "sleeps")])

    assert [one["name"] for one in world.call("search_nodes", query="bees home")["entities"]] == ["Ada"]
    assert world.call("search_nodes", query="xylophone") == {"entities": [], "relations": []}


def test_entities_of_one_name_in_one_request_are_one_with_the_observations_of_both(world: World) -> None:
    made = world.call("create_entities", entities=[entity("Ada", "a", "b"), entity("Ada", "b", "c", kind="robot")])

    assert made["entities"] == graph(world)["entities"] == [entity("Ada", "a", "b", "c")]


def test_a_secret_is_stored_nowhere_and_the_fact_without_it_once(world: World) -> None:
    told = [{"entityName": "Ada", "contents": [f"uses {GITHUB}"]}]
    world.call("create_entities", entities=[entity("Ada")])

    assert world.call("add_observations", observations=told)["results"][0]["addedObservations"] == [
        "uses [REDACTED_SECRET]"
    ]
    assert world.call("add_observations", observations=told)["results"][0]["addedObservations"] == []
    assert GITHUB not in str(world.call("memories", latest=False))
    world.call("delete_observations", deletions=[{"entityName": "Ada", "observations": [f"uses {GITHUB}"]}])
    assert graph(world)["entities"] == [entity("Ada")]


def test_a_secret_that_only_the_name_of_its_entity_gives_away_is_removed(world: World) -> None:
    made = world.call("create_entities", entities=[entity("password", "tr0ub4dor3xyz")])

    assert made["entities"] == graph(world)["entities"] == [entity("password", "[REDACTED_SECRET]")]
    assert "tr0ub4dor" not in str(world.call("memories", latest=False))


def test_an_observation_says_in_a_search_what_it_is_about(world: World) -> None:
    world.call("create_entities", entities=[entity("Ada", "keeps bees")])

    [hit] = world.call("search", query="who keeps bees", format="passages")["results"]
    assert "Ada: keeps bees" in hit["text"]


@pytest.mark.engines
def test_what_was_deleted_is_not_found_and_can_be_restored(world: World) -> None:
    world.call("create_entities", entities=[entity("Ada", "keeps bees")])
    world.call("delete_entities", entityNames=["Ada"])

    assert world.found("bees") == []
    world.call("memory_restore", id="graph://Ada")
    assert graph(world)["entities"] == [entity("Ada")]


def test_what_is_forgotten_is_gone_from_the_graph(world: World) -> None:
    world.call("create_entities", entities=[entity("Ada", "keeps bees", "sleeps")])
    world.call("forget", memoryId=world.found("bees")[0])

    assert graph(world)["entities"] == [entity("Ada", "sleeps")]


def test_a_fact_that_is_saved_later_never_changes_an_observation(world: World) -> None:
    text = "Ada keeps four colonies of black bees in the orchard behind the mill"
    world.call("create_entities", entities=[entity("Ada", text)])
    world.call("remember", content=f"{text} now")

    assert graph(world)["entities"] == [entity("Ada", text)]


def test_nothing_is_added_if_one_of_the_entities_does_not_exist(world: World) -> None:
    world.call("create_entities", entities=[entity("Ada")])
    told = [{"entityName": name, "contents": ["x"]} for name in ("Ada", "Ben")]

    with pytest.raises(NotFound, match="Entity with name Ben not found"):
        world.call("add_observations", observations=told)
    assert graph(world)["entities"] == [entity("Ada")]


@pytest.mark.parametrize("name", ["x" * 1_025, "a\x00b", "\ud800"])
def test_a_name_that_cannot_be_stored_is_refused(world: World, name: str) -> None:
    with pytest.raises(InvalidRequest):
        world.call("create_entities", entities=[entity(name)])


@pytest.mark.engines
def test_any_other_name_is_an_entity_of_its_own(world: World) -> None:
    names = ["", " ", "~", "~x", "a/b", "A/b", "a\nb", "x" * 1_024, "graph://Ada", "日本", "é", "e\u0301"]
    world.call("create_entities", entities=[entity(name, name) for name in names])

    assert graph(world)["entities"] == [entity(name, name) for name in names]


def test_the_graph_comes_back_from_an_export(world: World, tmp_path: Path) -> None:
    world.call("create_entities", entities=[entity("Ada", "a", ""), entity("", "x")])
    world.call("create_relations", relations=[KEEPS])
    other = World(tmp_path / "other")
    try:
        other.call("import_", exportData=orjson.loads(b"".join(world.call("export").pieces)))
        assert graph(other) == graph(world)
    finally:
        other.close()


@pytest.mark.engines
def test_two_users_and_the_agent_have_graphs_of_their_own(world: World) -> None:
    for whose in ({}, *IN_CHATS):
        world.call("create_entities", entities=[entity("home", str(whose))], **whose)

    assert [graph(world, **whose)["entities"] for whose in ({}, *IN_CHATS)] == [
        [entity("home", str(whose))] for whose in ({}, *IN_CHATS)
    ]
    world.call("delete_entities", entityNames=["home"], **IN_CHATS[0])
    assert graph(world, **IN_CHATS[1])["entities"] != []


def test_isolated_agents_have_graphs_of_their_own(tmp_path: Path) -> None:
    world = World(tmp_path / "isolated", agent_scope="isolated")
    try:
        for agent in ("alpha", "beta"):
            world.call("create_entities", entities=[entity("home", agent)], agentId=agent)
        assert graph(world, agentId="alpha")["entities"] == [entity("home", "alpha")]
        with pytest.raises(InvalidRequest):
            graph(world)
    finally:
        world.close()


@pytest.mark.engines
def test_callers_at_once_lose_nothing_and_store_nothing_twice(world: World) -> None:
    def work(number: int) -> None:
        world.call("create_entities", entities=[entity("shared"), entity(f"own-{number}")])
        for place in range(5):
            told = [{"entityName": "shared", "contents": [f"{number}-{place}", f"all-{place}"]}]
            world.call("add_observations", observations=told)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)

    held = {one["name"]: one["observations"] for one in graph(world)["entities"]}
    assert sorted(held) == ["own-0", "own-1", "own-2", "own-3", "shared"]
    expected = {f"{one}-{place}" for one in (*range(4), "all") for place in range(5)}
    assert sorted(held["shared"]) == sorted(expected)
