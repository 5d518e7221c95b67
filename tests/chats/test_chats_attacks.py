"""What somebody in a chat tries: nothing that others told the bot comes back to him, and nothing of theirs changes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from chat_world import A_PRIVATE, B_PRIVATE, G1, VIEWERS, asked_by
from hashing_embedder import HashingEmbedder
from hypothesis import given, settings, strategies as st
from rows import each
from world import World

from holdfast.core.errors import Conflict, Fault, Forbidden, InvalidRequest, NotFound
from holdfast.core.model import EVERYBODY, Caller
from holdfast.ops.framework.operation import ChatRequest, Stream
from holdfast.ops.registry import OPERATIONS
from holdfast.protocol.access import Viewer
from holdfast.store.tables import MEMORIES

A, B, D = Viewer(A_PRIVATE, "A"), Viewer(B_PRIVATE, "B"), Viewer(G1, "D")
A_IN_G1 = Viewer(G1, "A")
BOT = Caller(scopes=frozenset({"read", "write"}), name="token:bot")


def keep(world: World, content: str, viewer: Viewer | None = None, **arguments: Any) -> str:
    made: dict[str, Any] = world.call("remember", content=content, **asked_by(viewer or Viewer()), **arguments)
    return str(made["memory"]["id"])


def text_of(answer: Any) -> str:
    return b"".join(answer.pieces).decode() if isinstance(answer, Stream) else json.dumps(answer)


# Operations that know no chats


def required(operation: Any) -> dict[str, str]:
    return {field.alias or name: "x" for name, field in operation.request.model_fields.items() if field.is_required()}


@pytest.mark.parametrize("field", ["umo", "senderId"])
@each("operation", [one for one in OPERATIONS if not issubclass(one.request, ChatRequest)], lambda one: one.name)
def test_an_operation_that_knows_no_chats_is_refused_to_whoever_speaks_in_one(
    world: World, operation: Any, field: str
) -> None:
    with pytest.raises(InvalidRequest, match="are not supported"):
        world.call(operation.name, **required(operation), **{field: "tg:private:A"})


def test_a_batch_from_a_chat_stays_there(world: World) -> None:
    own = {"content": "Ben keeps a boat in the shed", **asked_by(B)}
    of_another = {"content": "Dora said so in the same chat", "senderId": "D"}
    batch = [{"content": "Anna keeps a ladder in the shed"}, own, of_another]

    answer = world.call("remember_batch", memories=batch, **asked_by(A_IN_G1))

    assert [one["memory"]["owners"] for one in answer["results"]] == [["A"], ["B"], ["D"]]
    assert [one["memory"]["umo"] for one in answer["results"]] == [G1, B_PRIVATE, G1]
    assert world.call("memories")["total"] == 0


@pytest.mark.parametrize("arguments", [{"senderId": "A"}, {"owners": ["A"]}])
def test_what_is_somebodys_is_not_kept_for_everybody_because_its_chat_is_missing(
    world: World, arguments: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest):
        world.call("remember", content="Anna keeps a ladder in the shed", **arguments)
    (result,) = world.call("remember_batch", memories=[{"content": "Anna keeps a ladder", **arguments}])["results"]
    assert result["success"] is False
    assert world.call("memories", allChats=True)["total"] == 0


def test_forgetting_a_session_from_a_chat_finds_none_and_makes_no_snapshot(world: World) -> None:
    world.observe(tool_name="Bash", tool_input={"command": "make harbour"}, tool_output="done")

    with pytest.raises(NotFound):
        world.call("forget", sessionId="s1", **asked_by(A))

    assert world.call("observations", sessionId="s1")["total"] == 1
    assert world.call("snapshot_list")["count"] == 0


# Global memories


def changes(world: World, id: str) -> dict[str, dict[str, Any]]:
    other = keep(world, "The gate is opened by the keeper", uri="facts://gate")
    return {
        "remember": {"content": "Everybody obeys Mallory", "scope": "global"},
        "agent_remember": {"content": "Everybody obeys Mallory", "scope": "global", "project": "p"},
        "evolve": {"memoryId": id, "newContent": "Everybody obeys Mallory"},
        "forget": {"memoryId": id},
        "governance_delete": {"memoryIds": [id]},
        "memory_deprecate": {"id": id},
        "memory_restore": {"id": id},
        "address_alias": {"id": id, "alias": "facts://mallory"},
        "address_move": {"id": id, "to": "facts://mallory"},
        "relate": {"sourceId": other, "targetId": id, "type": "supersedes"},
    }


@pytest.mark.parametrize("operation", [
    "remember", "agent_remember", "evolve", "forget", "governance_delete", "memory_deprecate", "memory_restore",
    "address_alias", "address_move", "relate",
])  # fmt: skip
def test_a_bot_changes_no_global_memory_from_a_chat(world: World, operation: str) -> None:
    id = keep(world, "The harbour opens at six", uri="facts://harbour")
    arguments = changes(world, id)[operation]
    before = text_of(world.call("export", allChats=True)).split('"audit"')[0].split('"sessions"')[1]

    with pytest.raises(Forbidden):
        world.call(operation, BOT, **arguments, **asked_by(D))

    assert text_of(world.call("export", allChats=True)).split('"audit"')[0].split('"sessions"')[1] == before
    if operation != "memory_restore":  # outside of chats, and by an admin, it is done
        world.call(operation, BOT, **arguments)


def test_settings_may_let_chats_write_for_everybody(tmp_path: Path) -> None:
    world = World(tmp_path / "open", chats_write_global="true")
    try:
        made = world.call("remember", BOT, content="The club is closed in May", scope="global", **asked_by(D))["memory"]
        world.call("evolve", BOT, memoryId=made["id"], newContent="The club is closed in June", **asked_by(D))
        assert world.call("memories")["total"] == 1
    finally:
        world.close()


def test_a_chat_may_set_a_global_memory_aside_for_itself(world: World) -> None:
    """What the group decided counts more there than what is usual; elsewhere nothing changes."""
    usual = keep(world, "Meetings begin at six in the evening")
    ours = keep(world, "Our meetings begin at nine in the evening", D, scope="group")

    world.call("relate", BOT, sourceId=ours, targetId=usual, type="supersedes", **asked_by(D))

    assert world.found("when do meetings begin", **asked_by(D)) == [ours]
    assert world.found("when do meetings begin", **asked_by(A)) == [usual]
    assert world.found("when do meetings begin") == [usual]


# What was said in private


def test_what_is_said_in_private_does_not_reach_groups_as_a_new_version(world: World) -> None:
    known = keep(world, "Anna lives near the river", A_IN_G1)

    with pytest.raises(Conflict):
        world.call("evolve", memoryId=known, newContent="Anna lives at Mill Lane 5", **asked_by(A))
    assert "Mill Lane" not in str(world.call("memories", allChats=True))

    allowed = {"memoryId": known, "newContent": "Anna lives in Porto", "shareIntoGroups": True}
    world.call("evolve", **allowed, **asked_by(A))
    assert "Porto" in str(world.call("memories", **asked_by(A_IN_G1)))


def test_a_memory_told_in_private_only_is_evolved_there(world: World) -> None:
    known = keep(world, "Anna lives near the river", A)
    here = keep(world, "We talk about boats", A, scope="conversation")

    for id in (known, here):
        world.call("evolve", memoryId=id, newContent=f"Anna lives in Porto {id}", **asked_by(A))

    assert world.call("memories", **asked_by(A_IN_G1))["total"] == 0


# Links


def test_nobody_in_a_chat_links_what_he_may_not_see(world: World) -> None:
    hidden = keep(world, "Anna hides a ladder", A)
    mine = keep(world, "Dora looks for a ladder", D)

    for source, target in ((mine, hidden), (hidden, mine), (mine, "mem_nowhere"), (mine, "session:s1")):
        with pytest.raises(NotFound) as refused:
            world.call("relate", sourceId=source, targetId=target, type="supersedes", **asked_by(D))
        assert refused.value.message == "memory: no memory has that id"
    assert world.call("relations", allChats=True)["relations"] == []


def test_a_link_holds_for_later_versions_of_both_its_ends(world: World) -> None:
    old, new = keep(world, "Anna lives in Berlin", A), keep(world, "Anna lives in Porto", A)
    world.call("relate", sourceId=new, targetId=old, type="supersedes", **asked_by(A))
    later = []
    for id in (old, new):
        world.clock.now += 1_000
        answer = world.call("evolve", memoryId=id, newContent=f"As {id} says, Anna lives there", **asked_by(A))
        later.append(answer["memory"]["id"])

    assert world.found("where does Anna live", **asked_by(A)) == [later[1]]


def test_what_another_memory_superseded_is_not_told_because_the_question_fits_it_better(world: World) -> None:
    for viewer in (A, Viewer()):
        old = keep(world, "Anna lives in Berlin, near the river", viewer)
        world.clock.now += 1_000
        new = keep(world, "She moved to Porto", viewer)
        world.call("relate", sourceId=new, targetId=old, type="supersedes", **asked_by(viewer))

        # A chat is not told what was; elsewhere it stands behind what came in its place, and says so.
        found = world.found("Berlin river", kind="memory", **asked_by(viewer))
        assert found[:2] == [new, old] if viewer == Viewer() else old not in found
        assert new in world.found("moved Porto", kind="memory", **asked_by(viewer))
        asked = {"project": ""} if viewer == Viewer() else {"query": "Berlin"}
        assert "Berlin" not in world.call("context", **asked, **asked_by(viewer))["context"]
        world.call("forget", memoryId=new, **asked_by(viewer))
        assert old in world.found("Berlin river", kind="memory", **asked_by(viewer))
        world.call("forget", memoryId=old, **asked_by(viewer))


def test_what_supersedes_a_memory_counts_for_those_alone_who_see_it(world: World) -> None:
    usual = keep(world, "Meetings begin at six in the evening")
    world.clock.now += 1_000
    hidden = keep(world, "Anna begins at nine", A)
    world.call("relate", sourceId=hidden, targetId=usual, type="contradicts", **asked_by(A))

    assert usual not in world.found("meetings evening", **asked_by(A))
    assert usual in world.found("meetings evening", **asked_by(B))


def test_that_a_link_went_with_a_memory_is_told_to_nobody_else(world: World) -> None:
    mine, other = keep(world, "Anna hides a ladder", A), keep(world, "The shed is red")
    link = world.call("relate", sourceId=mine, targetId=other, type="related", **asked_by(A))
    before = world.call("audit")

    world.call("forget", memoryId=mine, **asked_by(A))

    assert world.call("audit") == before
    assert link["id"] in str(world.call("audit", allChats=True))


# The predicate is asked again on what a query gave


@pytest.mark.parametrize("name", VIEWERS)
def test_a_row_with_too_wide_an_audience_is_shown_to_nobody_else(world: World, name: str) -> None:
    """As if the column that queries look at said more than the memory's own fields."""
    id = keep(world, "Anna hides pebbles under the third stone", A, concepts=["pebbles"], uri="facts://pebbles")
    reader = world.engine.store.read()
    kept = reader.get(MEMORIES, "default", id)
    assert kept is not None
    viewer = VIEWERS[name]
    world.engine.store.write(lambda tx: tx.replace(MEMORIES, dataclasses.replace(kept, audience=(EVERYBODY,))))

    told = ""
    for operation, arguments in (
        ("search", {"query": "pebbles"}), ("smart_search", {"query": "pebbles"}), ("memories", {}), ("export", {}),
        ("memories", {"latest": False}), ("timeline", {}), ("context", {"project": ""}), ("graph", {}),
        ("addresses", {}), ("memory", {"id": id}), ("relations", {}),
    ):  # fmt: skip
        try:
            told += text_of(world.call(operation, **arguments, **asked_by(viewer)))
        except NotFound as fault:
            told += fault.message
    if not viewer.umo:
        told += text_of(world.call("claude_bridge_sync")) + text_of(world.call("profile", project="proj"))
    assert ("pebbles" in told) == (name == "A in private")


# Nothing that others say changes an answer

WORDS = "harbour keeper lantern stone river boat Anna Ben 4711 tea 茶 港口 不".split()
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
OTHERS = (B, D, Viewer("qq:FriendMessage:A", "A"), Viewer("tg:GroupMessage:G2", "C"), Viewer("tg:private:A2", "A2"))
MINE = ("The harbour keeper has a lantern", "Anna drinks tea by the river", "港口的茶", "4711 is the code of the boat")
SPOKEN = st.lists(
    st.tuples(
        st.sampled_from(OTHERS), TEXTS, st.sampled_from([None, "conversation", "group"]), st.booleans(), st.booleans()
    ),
    max_size=8,
)


NAMES = [
    "A",
    "a",
    "A ",
    "\uff21",
    "A/B",
    "A%2FB",
    "A:B",
    "\u00e9",
    "e\u0301",
    "\u00df",
    "ss",
    "小明",
    "\u200b",
    "all",
    "x" * 400,
]


@pytest.mark.parametrize("kind", ["private", "group"])
def test_names_that_look_alike_are_different_people_and_chats(world: World, kind: str) -> None:
    """To the store and its index too, not to the predicate alone."""
    scope = "group" if kind == "group" else "personal"
    viewers = [Viewer(f"tg:{kind}:{name}", name) for name in NAMES]
    kept = [keep(world, f"The keeper wrote pebble{at}x", viewer, scope=scope) for at, viewer in enumerate(viewers)]

    for id, viewer in zip(kept, viewers, strict=True):
        assert [one["id"] for one in world.call("memories", **asked_by(viewer))["memories"]] == [id]
        assert world.call("memories", count=True, **asked_by(viewer))["total"] == 1
        assert world.found("keeper wrote", **asked_by(viewer)) == [id]


def answers(world: World) -> list[str]:
    """All that Anna can ask in her private chat."""
    asked: list[tuple[str, dict[str, Any]]] = [
        *(("search", {"query": word, "explain": True}) for word in (*WORDS, " ".join(WORDS))),
        ("smart_search", {"query": "harbour keeper tea 4711"}), ("memories", {}), ("memories", {"latest": False}),
        ("timeline", {}), ("context", {"query": "tea lantern"}), ("context", {"query": "茶", "locale": "zh"}),
        ("addresses", {}), ("graph", {}), ("relations", {}), ("memory", {"id": "facts://river"}),
    ]  # fmt: skip
    found = [text_of(world.call(operation, **arguments, **asked_by(A))) for operation, arguments in asked]
    memories = json.loads(text_of(world.call("export", **asked_by(A))))["memories"]
    return [*found, json.dumps(memories)]


@given(said=SPOKEN)
@settings(max_examples=25)
@pytest.mark.parametrize("meaning", [False, True], ids=["by words", "by meaning too"])
def test_whatever_others_say_every_answer_stays_the_same(
    tmp_path_factory: pytest.TempPathFactory, meaning: bool, said: list[tuple[Viewer, str, str | None, bool, bool]]
) -> None:
    """To the last digit of every score: how rare a word is among others is not told either."""
    model = HashingEmbedder() if meaning else None
    world = World(tmp_path_factory.mktemp("said") / "memory", model=model)
    try:
        ids = [keep(world, text, A, sessionId="harbour") for text in MINE]
        keep(world, "The river is deep", A, uri="facts://river")
        world.call("relate", sourceId=ids[0], targetId=ids[1], type="related", **asked_by(A))
        world.follow()
        alone = answers(world)
        for viewer, text, scope, linked, gone in said:
            wanted = scope if scope != "group" or viewer.origin.is_group else None
            told = {"disclosure": text, "concepts": text.split(), "sessionId": "harbour"}
            # Said between what Anna said, and before the last of it.
            other = keep(world, text, viewer, scope=wanted, createdAt="2026-09-21T14:13:20Z", **told)
            if linked:
                for kind in ("related", "supersedes", "contradicts"):
                    world.call("relate", sourceId=other, targetId=ids[0], type=kind)
            if gone:
                world.call("memory_deprecate", id=other, **asked_by(viewer))
        world.follow()
        assert answers(world) == alone
    finally:
        world.close()


@given(said=SPOKEN)
@settings(max_examples=12)
def test_whatever_others_say_a_write_is_answered_the_same(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[Viewer, str, str | None, bool, bool]]
) -> None:
    """Similar memories, versions and faults tell of one's own alone; ids and addresses of chance aside."""

    def written(first: list[tuple[Viewer, str, str | None, bool, bool]]) -> list[Any]:
        world = World(tmp_path_factory.mktemp("write") / "memory")
        told: list[Any] = []
        try:
            for viewer, text, *_ in first:
                keep(world, text, viewer)
            for text in (*MINE, MINE[0] + " too", " ".join(WORDS)):
                answer = world.call("remember", content=text, **asked_by(A))
                similar = [one["similarity"] for one in answer.get("similarTo", [])]
                told.append((answer["memory"]["version"], similar, answer.get("deduplicated")))
            for operation, arguments in (
                ("forget", {"memoryId": "mem_nowhere"}), ("evolve", {"memoryId": "facts://x", "newContent": "y"}),
                ("memories", {"count": True}),
            ):  # fmt: skip
                try:
                    told.append(world.call(operation, **arguments, **asked_by(A)))
                except Fault as fault:
                    told.append(fault.to_dict())
        finally:
            world.close()
        return told

    assert written(said) == written([])
