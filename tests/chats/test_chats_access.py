"""Whoever asks, through whichever operation: exactly the memories that the predicate lets him see."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from chat_world import (
    A_PRIVATE,
    B_PRIVATE,
    G1,
    VIEWERS,
    Kept,
    asked_by,
    combinations,
    content_of,
    facts_of,
    seen_by,
    words_in,
)
from rows import each
from world import World, running

from holdfast.core.errors import Forbidden, InvalidRequest, LimitReached, NotFound
from holdfast.core.model import Caller
from holdfast.ops.framework.operation import Stream
from holdfast.protocol.access import Viewer

pytestmark = pytest.mark.quick

MANY = 100
READ_ONLY = Caller(scopes=frozenset({"read"}), name="token:reader")


def answer(world: World, operation: str, viewer: Viewer, **arguments: Any) -> str:
    """What the viewer gets, as text; a fault is an answer too."""
    try:
        found = world.call(operation, **arguments, **asked_by(viewer))
    except NotFound as fault:
        return f"{fault.code} {fault.message}"
    return b"".join(found.pieces).decode() if isinstance(found, Stream) else json.dumps(found)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, list[Kept]]]:
    world = World(tmp_path_factory.mktemp("chats") / "memory")
    kept = []
    for number, arguments in enumerate(combinations()):
        word, content = content_of(number)
        memory = world.call(
            "remember", content=content, files=[f"/harbour/{word}.md"], concepts=[f"stone-{word}"], **arguments
        )["memory"]
        kept.append(Kept(word, facts_of(arguments), memory["id"]))
    for one, other in itertools.pairwise(kept):
        world.call("relate", sourceId=one.id, targetId=other.id, type="related")
    world.observe(tool_name="Bash", tool_input={"command": "make harbour"}, tool_output="harbour keeper wrote")
    yield world, kept
    world.close()


def test_every_scope_and_place_is_there(filled: tuple[World, list[Kept]]) -> None:
    _, kept = filled
    assert len(kept) > 40
    assert {one.facts.scope for one in kept} == {"global", "personal", "group", "conversation"}


LISTS: dict[str, Callable[[World, Viewer, list[Kept]], str]] = {
    "search": lambda world, viewer, kept: answer(world, "search", viewer, query="harbour keeper wall", limit=MANY),
    "search, compact": lambda world, viewer, kept: answer(
        world, "search", viewer, query="harbour keeper wall", limit=MANY, format="compact", explain=True
    ),
    "smart search": lambda world, viewer, kept: answer(
        world, "smart_search", viewer, query="harbour keeper wall", limit=MANY
    ),
    "smart search, expanded": lambda world, viewer, kept: answer(
        world, "smart_search", viewer, query="x", expandIds=[one.id for one in kept]
    ),
    "memories": lambda world, viewer, kept: answer(world, "memories", viewer),
    "memories, all versions": lambda world, viewer, kept: answer(world, "memories", viewer, latest=False),
    "memories, as of now": lambda world, viewer, kept: answer(world, "memories", viewer, asOf="now"),
    "export": lambda world, viewer, kept: answer(world, "export", viewer),
    "graph": lambda world, viewer, kept: answer(world, "graph", viewer),
    "map": lambda world, viewer, kept: answer(
        world, "folder_memories", viewer, kind="folder", name="/harbour", limit=200
    ),
    "map, concepts": lambda world, viewer, kept: answer(world, "folder_graph", viewer),
    "get": lambda world, viewer, kept: "".join(answer(world, "memory", viewer, id=one.id) for one in kept),
}


@each("name", VIEWERS)
@pytest.mark.parametrize("way", LISTS)
def test_a_viewer_gets_what_the_predicate_says_and_nothing_else(
    way: str, name: str, filled: tuple[World, list[Kept]]
) -> None:
    world, kept = filled
    viewer = VIEWERS[name]

    assert words_in(LISTS[way](world, viewer, kept), kept) == seen_by(viewer, kept)


@pytest.mark.parametrize("name", VIEWERS)
def test_a_count_is_of_what_the_viewer_may_see(name: str, filled: tuple[World, list[Kept]]) -> None:
    world, kept = filled

    counted = world.call("memories", count=True, **asked_by(VIEWERS[name]))

    overview = world.call("overview", **asked_by(VIEWERS[name]))
    assert counted["total"] == len(seen_by(VIEWERS[name], kept))
    assert overview["counts"]["memories"] == counted["total"]
    assert words_in(json.dumps(overview), kept) <= seen_by(VIEWERS[name], kept)


@pytest.mark.parametrize("name", VIEWERS)
def test_a_link_is_shown_where_both_its_ends_are(name: str, filled: tuple[World, list[Kept]]) -> None:
    world, kept = filled
    seen = seen_by(VIEWERS[name], kept)
    ids = {one.id for one in kept if one.word in seen}
    pairs = {(one.id, other.id) for one, other in itertools.pairwise(kept) if {one.id, other.id} <= ids}

    found = world.call("relations", limit=1000, **asked_by(VIEWERS[name]))["relations"]

    assert {(one["sourceId"], one["targetId"]) for one in found} == pairs


@pytest.mark.parametrize("name", VIEWERS)
def test_context_and_timeline_hold_nothing_that_the_viewer_may_not_see(
    name: str, filled: tuple[World, list[Kept]]
) -> None:
    world, kept = filled
    viewer = VIEWERS[name]
    text = answer(world, "context", viewer, project="", budget=20_000) + answer(world, "timeline", viewer, before=200)

    found = words_in(text, kept)

    assert found <= seen_by(viewer, kept)
    assert bool(found) == bool(seen_by(viewer, kept))


@pytest.mark.parametrize("operation", ["claude_bridge_sync", "audit", "write_log", "graph", "auto_forget"])
def test_without_a_chat_nothing_tells_of_what_was_said_in_one(operation: str, filled: tuple[World, list[Kept]]) -> None:
    world, kept = filled
    given: dict[str, Any] = {"limit": 500} if operation in ("audit", "write_log", "graph") else {}

    found = words_in(answer(world, operation, Viewer(), **given), kept)

    assert found <= seen_by(Viewer(), kept)


def test_health_and_counts_are_of_the_agents_own(filled: tuple[World, list[Kept]]) -> None:
    world, kept = filled

    assert world.call("health")["counts"]["memories"] == len(seen_by(Viewer(), kept))


def test_nobody_in_a_chat_sees_observations(filled: tuple[World, list[Kept]]) -> None:
    world, _ = filled
    (seen,) = world.call("observations", sessionId="s1")["observations"]
    assert seen["id"] in world.found("harbour", limit=MANY)

    for viewer in VIEWERS.values():
        if viewer.umo:
            assert seen["id"] not in answer(world, "search", viewer, query="harbour", limit=MANY)
            assert seen["id"] not in answer(world, "smart_search", viewer, query="x", expandIds=[seen["id"]])
            assert seen["id"] not in answer(world, "export", viewer)


def test_an_admin_sees_all_only_if_he_says_so_and_it_is_noted(filled: tuple[World, list[Kept]]) -> None:
    world, kept = filled
    before = world.call("audit", limit=1000)["entries"]

    found = words_in(json.dumps(world.call("memories", allChats=True)), kept)

    assert found == {one.word for one in kept}
    newest, *others = world.call("audit", limit=1000)["entries"]
    assert others == before
    assert (newest["operation"], newest["details"]["asked"]) == ("see_all_chats", "memories")


def test_a_token_without_the_scope_of_an_admin_cannot_ask_for_all_chats(filled: tuple[World, list[Kept]]) -> None:
    world, _ = filled

    with pytest.raises(Forbidden):
        world.call("memories", READ_ONLY, allChats=True)


# Changes


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "memory")
    yield world
    world.close()


A, B, D = Viewer(A_PRIVATE, "A"), Viewer(B_PRIVATE, "B"), Viewer(G1, "D")


def kept_by(world: World, viewer: Viewer, content: str, **arguments: Any) -> dict[str, Any]:
    memory: dict[str, Any] = world.call("remember", content=content, **asked_by(viewer), **arguments)["memory"]
    return memory


def test_the_memory_of_another_is_changed_no_more_than_one_that_is_not_there(world: World) -> None:
    memory = kept_by(world, A, "Anna hides the harbour key under the third stone")

    for id in (memory["id"], "mem_nowhere"):
        with pytest.raises(NotFound) as refused:
            world.call("evolve", memoryId=id, newContent="Nothing is hidden", **asked_by(B))
        assert refused.value.message == "memory: no memory has that id"
        with pytest.raises(NotFound) as unseen:
            world.call("forget", memoryId=id, **asked_by(B))
        assert unseen.value.message == "forget: no memory has that id"
        assert world.call("governance_delete", memoryIds=[id], **asked_by(B))["deleted"] == 0
    assert world.call("memory", id=memory["id"], **asked_by(A))["memory"]["content"] == memory["content"]


def test_an_owner_changes_and_forgets_his_memory(world: World) -> None:
    memory = kept_by(world, A, "Anna hides the harbour key under the third stone")

    newer = world.call("evolve", memoryId=memory["id"], newContent="The key lies in the boat", **asked_by(A))["memory"]

    assert (newer["scope"], newer["owners"], newer["umo"]) == ("personal", ["A"], A_PRIVATE)
    assert world.call("forget", memoryId=newer["id"], **asked_by(A))["deleted"] == 2


def test_nearly_the_same_words_of_two_people_stay_two_memories(world: World) -> None:
    text = "I keep the spare harbour key under the third stone by the gate"
    first = kept_by(world, A, text)

    answered = world.call("remember", content=text + " now", **asked_by(B))

    assert "similarTo" not in answered
    assert answered["memory"]["version"] == 1
    assert world.call("memory", id=first["id"], **asked_by(A))["memory"]["isLatest"] is True


def test_nearly_the_same_words_of_one_person_become_a_version(world: World) -> None:
    text = "I keep the spare harbour key under the third stone by the gate"
    kept_by(world, A, text)

    assert kept_by(world, A, text + " now")["version"] == 2


def test_the_agents_own_memory_and_a_persons_do_not_supersede_each_other(world: World) -> None:
    text = "The spare harbour key lies under the third stone by the gate"
    kept_by(world, Viewer(), text)

    assert kept_by(world, A, text)["version"] == 1
    assert kept_by(world, Viewer(), text + " now")["version"] == 2


def test_what_is_forgotten_in_a_chat_is_told_to_nobody_else(world: World) -> None:
    memory = kept_by(world, A, "Anna hides the harbour key under the third stone")
    world.call("forget", memoryId=memory["id"], **asked_by(A))

    assert memory["id"] not in json.dumps(world.call("audit"))
    assert memory["id"] in json.dumps(world.call("audit", allChats=True))


@pytest.mark.parametrize(
    "arguments",
    [
        {"scope": "group", "visibility": "private", "umo": G1, "senderId": "A"},
        {"scope": "group", "umo": A_PRIVATE, "senderId": "A"},
        {"scope": "personal", "umo": G1},
        {"scope": "personal"},
        {"scope": "conversation"},
        {"umo": "tg:channel:5", "senderId": "A"},
        {"umo": "nonsense", "senderId": "A"},
        {"scope": "everyone"},
        {"importance": 6},
        {"owners": [f"p{number}" for number in range(101)], "umo": G1, "senderId": "A"},
    ],
)
def test_what_does_not_fit_together_is_refused_at_the_write(world: World, arguments: dict[str, Any]) -> None:
    with pytest.raises((InvalidRequest, LimitReached)):
        world.call("remember", content="The harbour is closed", **arguments)
    assert world.call("memories", allChats=True)["total"] == 0


def test_an_export_of_all_chats_reads_back_with_the_same_audiences(world: World, tmp_path: Path) -> None:
    kept_by(world, A, "Anna hides the harbour key", disclosure="when keys are lost", entities=["Anna"])
    kept_by(world, D, "The group meets at the harbour", scope="group")
    kept_by(world, Viewer(), "The harbour is red")
    exported = json.loads(b"".join(world.call("export", allChats=True).pieces))
    other = World(tmp_path / "other", chance=1_000)
    try:
        report = other.call("import_", exportData=exported)
        assert report["refusedCount"] == 0
        for viewer in VIEWERS.values():
            assert other.call("memories", **asked_by(viewer)) == world.call("memories", **asked_by(viewer))
        assert len(other.call("audit")["entries"]) < len(other.call("audit", allChats=True)["entries"])
    finally:
        other.close()


def test_a_snapshot_is_searched_as_the_viewer_may(world: World) -> None:
    mine = kept_by(world, A, "Anna hides the harbour key")
    made = world.call("snapshot_create", label="before")
    world.call("forget", memoryId=mine["id"], **asked_by(A))

    def found(viewer: Viewer) -> str:
        return json.dumps(world.call("snapshot_search", id=made["id"], query="harbour key", **asked_by(viewer)))

    assert mine["id"] in found(A)
    assert mine["id"] not in found(B)
    assert mine["id"] not in found(Viewer())


def test_a_comparison_of_snapshots_tells_no_word_of_what_only_some_may_see(world: World) -> None:
    made = world.call("snapshot_create", label="before")
    mine = kept_by(world, A, "Anna hides the harbour key")
    common = kept_by(world, Viewer(), "The harbour is red")
    world.call("relate", sourceId=mine["id"], targetId=common["id"], type="related", **asked_by(A))
    world.call("relate", sourceId=common["id"], targetId="session:s1", type="told_in")

    text = json.dumps(world.call("snapshot_diff", a=made["id"]))

    assert "The harbour is red" in text
    assert "told_in" in text
    assert "Anna" not in text
    assert mine["id"] not in text


# The same over HTTP


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, list[Kept]]]:
    with running(tmp_path_factory.mktemp("served") / "memory") as http:
        kept = []
        for number, arguments in enumerate(combinations()):
            word, content = content_of(number)
            given = {name: value for name, value in arguments.items() if value is not None}
            made = http.post("/agentmemory/remember", json={"content": content, **given})
            assert made.status_code == 201
            kept.append(Kept(word, facts_of(arguments), made.json()["memory"]["id"]))
        yield http, kept


@pytest.mark.parametrize("name", VIEWERS)
def test_over_http_a_viewer_gets_what_the_predicate_says(name: str, server: tuple[httpx.Client, list[Kept]]) -> None:
    http, kept = server
    viewer = VIEWERS[name]
    asked = asked_by(viewer)
    expected = seen_by(viewer, kept)

    search = {"query": "harbour keeper wall", "limit": MANY, **asked}
    assert words_in(http.post("/agentmemory/search", json=search).text, kept) == expected
    assert words_in(http.post("/agentmemory/smart-search", json=search).text, kept) == expected
    assert words_in(http.get("/agentmemory/memories", params=asked).text, kept) == expected
    assert words_in(http.get("/agentmemory/export", params=asked).text, kept) == expected
    context = http.post("/agentmemory/context", json={"project": "", **asked}).text
    assert words_in(context, kept) <= expected


def test_over_http_not_found_and_not_yours_are_the_same_answer(server: tuple[httpx.Client, list[Kept]]) -> None:
    http, kept = server
    for viewer in VIEWERS.values():
        nowhere = http.get("/agentmemory/memories/mem_nowhere", params=asked_by(viewer))
        for one in kept:
            if one.word not in seen_by(viewer, kept):
                hidden = http.get(f"/agentmemory/memories/{one.id}", params=asked_by(viewer))
                assert (hidden.status_code, hidden.content) == (nowhere.status_code, nowhere.content)


def test_a_request_that_a_chat_repeats_is_answered_with_the_first_memory(world: World) -> None:
    first = world.call("remember", content="Anna likes green tea", **asked_by(A))

    again = world.call("remember", content="Anna likes green tea", **asked_by(A))

    assert (again["memory"], again.get("deduplicated")) == (first["memory"], True)
