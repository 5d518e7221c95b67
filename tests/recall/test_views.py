"""How a memory grew, and the map of folders and concepts: what is counted, for whom, and what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from world import DAY, NOON, World

from holdfast.recall.views import memory_map
from holdfast.store.port import Condition, where
from holdfast.store.tables import MEMORIES, OBSERVATIONS, SESSIONS


def _remember(world: World, content: str, **more: Any) -> str:
    return str(world.call("remember", content=content, **more)["memory"]["id"])


def _days_ago(days: int) -> int:
    return NOON - days * DAY


def test_each_day_counts_what_was_said_on_it(world: World) -> None:
    _remember(world, "The harbour light is green.", createdAt=_days_ago(2))
    _remember(world, "Ropes lie in the north shed.", createdAt=_days_ago(2))
    _remember(world, "The bell was cast in 1902.", createdAt=_days_ago(0))

    growth = world.call("overview", days=4)["growth"]

    assert growth["days"] == ["2026-09-18", "2026-09-19", "2026-09-20", "2026-09-21"]
    assert growth["memories"] == [0, 2, 0, 1]


def test_what_is_older_than_the_first_day_is_counted_apart(world: World) -> None:
    _remember(world, "The pier was built long ago.", createdAt=_days_ago(400))

    answer = world.call("overview", days=7)

    assert (answer["growth"]["before"]["memories"], sum(answer["growth"]["memories"])) == (1, 0)
    assert answer["counts"]["memories"] == 1


def test_what_is_dated_ahead_counts_as_today(world: World) -> None:
    world.observe(at=NOON + 3 * DAY, tool_name="Read", tool_input={"file_path": "/w/a.py"})

    assert world.call("overview", days=2)["growth"]["observations"] == [0, 1]


def test_only_the_latest_version_of_a_memory_counts(world: World) -> None:
    id = _remember(world, "The ferry leaves at nine.")
    world.call("evolve", memoryId=id, newContent="The ferry leaves at ten.")

    assert world.call("overview")["counts"]["memories"] == 1


def test_sessions_are_counted_by_their_start(world: World) -> None:
    world.call("session_start", sessionId="s1", project="p", cwd="/w")

    assert world.call("overview", days=1)["growth"]["sessions"] == [1]


def test_a_chat_is_told_of_memories_alone(world: World) -> None:
    world.observe(tool_name="Read", tool_input={"file_path": "/w/a.py"})
    _remember(world, "Everybody may know the tide table.")

    answer = world.call("overview", umo="tg:GroupMessage:1", senderId="ada")

    assert answer["counts"] == {"memories": 1}
    assert [one["kind"] for one in answer["recent"]] == ["memory"]


def test_what_was_said_in_a_private_chat_is_counted_for_its_owner_alone(world: World) -> None:
    secret = {"umo": "tg:FriendMessage:ada", "senderId": "ada", "scope": "personal"}
    _remember(world, "Ada is afraid of gulls.", concepts=["gulls"], **secret)

    mine = world.call("overview", umo="tg:FriendMessage:ada", senderId="ada")
    his = world.call("overview", umo="tg:FriendMessage:bob", senderId="bob")

    assert (mine["counts"]["memories"], his["counts"]["memories"]) == (1, 0)
    assert (len(mine["recent"]), his["recent"]) == (1, [])


def test_isolated_agents_count_their_own(tmp_path: Path) -> None:
    world = World(tmp_path, agent_scope="isolated")
    _remember(world, "Only the keeper knows this.", agentId="keeper", concepts=["key"], files=["/w/keys/a.txt"])

    keeper, other = world.call("overview", agentId="keeper"), world.call("overview", agentId="other")
    drawn = world.call("folder_graph", agentId="other")

    assert (keeper["counts"]["memories"], other["counts"]["memories"]) == (1, 0)
    assert (drawn["nodes"], drawn["leftOut"]["memories"]) == ([], 0)
    world.close()


def test_the_index_counts_as_the_rows_do(world: World) -> None:
    for number in range(40):
        _remember(
            world,
            f"Fact {number} about number {number * 7} and {'odd' if number % 2 else 'even'} things.",
            project=f"p{number % 3}",
            createdAt=_days_ago(number % 5),
        )
    reader = world.engine.store.read()
    bounds = (*world.context().sees_memories(), *where(latest=True, project="p1"))

    spread = reader.spread(MEMORIES, "default", DAY, *bounds)
    rows = reader.find(MEMORIES, "default", *bounds)

    assert spread == {day: sum(one.created_at // DAY == day for one in rows) for day in spread}
    assert (sum(spread.values()), reader.count(MEMORIES, "default", *bounds)) == (len(rows), len(rows))
    with world.engine.store.snapshot() as still:
        assert still.spread(MEMORIES, "default", DAY, *bounds) == spread


def test_the_newest_are_the_last_stored_that_meet_the_conditions(world: World) -> None:
    for number in range(12):
        _remember(world, f"Numbered fact {number} of the {number * 13} reefs.", project=f"p{number % 2}")
    reader = world.engine.store.read()

    newest = reader.newest(MEMORIES, "default", 3, *where(latest=True, project="p1"))

    listed = reader.find(MEMORIES, "default", *where(latest=True, project="p1"), order="-seq", limit=3)
    assert newest.tolist() == sorted(one.seq for one in listed)


def test_a_condition_that_the_index_does_not_know_is_refused_for_the_newest(world: World) -> None:
    with pytest.raises(KeyError):
        world.engine.store.read().newest(MEMORIES, "default", 3, Condition("title", "=", "x"))


def test_a_table_outside_the_index_is_spread_by_its_rows(world: World) -> None:
    world.call("session_start", sessionId="s1", project="p", cwd="/w")

    assert world.engine.store.read().spread(SESSIONS, "default", DAY, *where(project="p")) == {NOON // DAY: 1}
    assert world.engine.store.read().spread(OBSERVATIONS, "default", DAY) == {}


# The map


def _drawn(world: World, **ask: Any) -> tuple[dict[str, int], set[tuple[str, str, str]]]:
    answer = world.call("folder_graph", **ask)
    nodes = {one["id"]: one["memories"] for one in answer["nodes"]}
    return nodes, {(one["source"], one["target"], one["kind"]) for one in answer["edges"]}


def test_folders_are_joined_by_the_concepts_that_their_memories_share(world: World) -> None:
    _remember(world, "The parser reads headers.", concepts=["parsing"], files=["/w/src/a.py"])
    _remember(world, "The tests check headers too.", concepts=["parsing"], files=["/w/tests/a.py"])

    nodes, edges = _drawn(world)

    assert nodes == {"concept:parsing": 2, "folder:/w/src": 1, "folder:/w/tests": 1, "folder:/w": 0}
    assert edges == {
        ("folder:/w/src", "concept:parsing", "shares"),
        ("folder:/w/tests", "concept:parsing", "shares"),
        ("folder:/w/src", "folder:/w", "parent"),
        ("folder:/w/tests", "folder:/w", "parent"),
    }


def test_a_memory_without_files_lies_in_its_project(world: World) -> None:
    _remember(world, "Deploys happen on Tuesdays.", project="harbour", concepts=["deploy"])

    assert _drawn(world)[1] == {("folder:harbour", "concept:deploy", "shares")}


def test_a_concept_has_the_colour_of_the_folder_that_names_it_most(world: World) -> None:
    for number in range(3):
        _remember(world, f"Cache rule {number} of {number * 9}.", concepts=["cache"], files=[f"/w/store/{number}.py"])
    _remember(world, "The page caches too.", concepts=["cache"], files=["/w/page/a.js"])

    node = next(one for one in world.call("folder_graph")["nodes"] if one["id"] == "concept:cache")

    assert node["folder"] == "/w/store"


def test_no_more_nodes_are_drawn_than_asked_for_and_the_rest_is_counted(world: World) -> None:
    for number in range(30):
        _remember(world, f"Thing {number} of shelf {number * 11}.", concepts=[f"c{number}"], files=[f"/w/d{number}/a"])

    answer = world.call("folder_graph", limit=20)

    assert len(answer["nodes"]) == 20
    assert answer["leftOut"]["folders"] + answer["leftOut"]["concepts"] == 61 - 20
    known = {one["id"] for one in answer["nodes"]}
    assert all({one["source"], one["target"]} <= known for one in answer["edges"])


def test_only_the_newest_memories_are_looked_at_and_the_rest_is_counted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_map, "MOST_MEMORIES", 2)
    for name in ("first", "second", "third"):
        _remember(world, f"The {name} of the three boats.", concepts=[name])

    answer = world.call("folder_graph")

    assert {one["name"] for one in answer["nodes"]} == {"second", "third"}
    assert (answer["memories"], answer["leftOut"]["memories"]) == (2, 1)


def test_a_node_leads_to_its_memories_newest_first(world: World) -> None:
    older = _remember(world, "The parser reads headers.", concepts=["parsing"], files=["/w/src/deep/a.py"])
    newer = _remember(world, "A lexer feeds it words.", concepts=["parsing"], files=["/w/src/b.py"])
    _remember(world, "Boats are blue.", files=["/w/srcery/c.py"])

    concept = world.call("folder_memories", kind="concept", name="parsing")
    folder = world.call("folder_memories", kind="folder", name="/w/src", limit=1)

    assert [one["id"] for one in concept["memories"]] == [newer, older]
    assert ([one["id"] for one in folder["memories"]], folder["total"]) == ([newer], 2)


def test_a_node_shows_nobody_else_s_memories(world: World) -> None:
    secret = {"umo": "tg:FriendMessage:ada", "senderId": "ada", "scope": "personal"}
    _remember(world, "Ada is afraid of gulls.", concepts=["gulls"], **secret)

    his = world.call("folder_memories", kind="concept", name="gulls", umo="tg:FriendMessage:bob", senderId="bob")

    assert his == {"memories": [], "total": 0}
    assert _drawn(world, umo="tg:FriendMessage:bob", senderId="bob") == ({}, set())


# Replay


def test_frames_come_in_pages_with_their_place_and_distance(world: World) -> None:
    for number in range(5):
        tool = {"tool_name": "Bash", "tool_input": {"command": f"make {number}"}, "tool_output": f"done {number}"}
        world.observe(at=NOON + number * 1000, **tool)

    page = world.call("replay_frames", sessionId="s1", limit=2, offset=2)

    assert (page["total"], page["totalDurationMs"]) == (5, 4000)
    assert [(one["index"], one["offsetMs"]) for one in page["frames"]] == [(2, 2000), (3, 3000)]
    assert page["frames"][0]["toolInput"] == {"command": "make 2"}
    assert page["frames"][0]["toolOutput"] == "done 2"


def test_a_long_output_is_cut_and_its_length_said(world: World) -> None:
    world.observe(tool_name="Bash", tool_input={"command": "log"}, tool_output="line of a log\n" * 5_000)

    frame = world.call("replay_frames", sessionId="s1")["frames"][0]

    assert len(frame["toolOutput"]) == 20_000
    assert frame["cut"]["toolOutput"] >= 20_000


@pytest.mark.parametrize(("limit", "offset"), [(3, 0), (3, 2), (5, 4), (5, 6), (100, 0), (1, 5)])
def test_pages_from_the_index_are_those_of_the_rows(world: World, limit: int, offset: int) -> None:
    for number in range(13):
        _remember(world, f"Paged fact {number} of the {number * 17} buoys.", project=f"p{number % 2}")
    bounds = (*world.context().sees_memories(), *where(latest=True, project="p0"))
    reader = world.engine.store.read()

    page = reader.find(MEMORIES, "default", *bounds, order="-seq", limit=limit, offset=offset)

    whole = sorted(reader.find(MEMORIES, "default", *bounds, order="seq"), key=lambda one: -one.seq)
    assert page == whole[offset : offset + limit]
