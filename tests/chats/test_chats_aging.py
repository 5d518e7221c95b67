"""How memories of chats age: from their last use, never twice, never without a way back before the grace is over."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from chat_world import A_PRIVATE, B_PRIVATE, G1, asked_by
from world import DAY, World

from holdfast.core.errors import Conflict, NotFound, UpstreamFailed
from holdfast.core.model import CleanText, Event
from holdfast.intake.expiry import age, plan_aging, rules_of
from holdfast.protocol.access import Viewer

A, B = Viewer(A_PRIVATE, "A"), Viewer(B_PRIVATE, "B")
RULES = rules_of(30)


def keep(world: World, content: str, viewer: Viewer = A, **arguments: Any) -> str:
    made: dict[str, Any] = world.call("remember", content=content, **asked_by(viewer), **arguments)
    return str(made["memory"]["id"])


def run(world: World, **arguments: Any) -> dict[str, Any]:
    done: dict[str, Any] = world.call("lifecycle", allChats=True, **arguments)
    return done


class Heard:
    """What live readers are told."""

    def __init__(self, world: World):
        self.events: list[Event] = []
        world.engine.publishers.append(self)

    def publish(self, event: Event) -> None:
        self.events.append(event)

    def take(self) -> list[Event]:
        taken, self.events = self.events, []
        return taken


def seen(world: World, viewer: Viewer = A) -> set[str]:
    return {one["id"] for one in world.call("memories", **asked_by(viewer))["memories"]}


def test_an_unused_memory_is_deprecated_then_purged(world: World) -> None:
    old = keep(world, "Anna likes green tea", uri="facts://tea")
    world.clock.now += 31 * DAY
    fresh = keep(world, "Anna bought a blue kettle")

    assert run(world, dryRun=True)["deprecated"] == [old]
    assert seen(world) == {old, fresh}
    assert run(world)["deprecated"] == [old]
    assert seen(world) == {fresh}
    assert old not in world.found("green tea", **asked_by(A))
    assert run(world)["deprecated"] == []

    world.clock.now += 8 * DAY
    assert run(world)["purged"] == [old]
    with pytest.raises(NotFound):
        world.call("memory_restore", id=old, **asked_by(A))
    assert world.call("addresses", **asked_by(A))["addresses"] != []
    assert "facts://tea" not in str(world.call("addresses", **asked_by(A)))
    assert world.engine.store.verify() == []


def test_age_counts_from_the_last_recall(world: World) -> None:
    used, unused = keep(world, "Anna likes green tea"), keep(world, "Anna once saw a red kite")
    world.clock.now += 29 * DAY
    assert world.found("green tea", **asked_by(A))[0] == used
    counts = {key: 1 for key in world.engine.recalls.take()}
    first = min(seq for _, seq in counts)
    world.engine.store.write(lambda tx: tx.add_recalls({("default", first): 1}, world.clock.now))
    world.clock.now += 2 * DAY

    assert run(world)["deprecated"] == [unused]
    assert seen(world) == {used}


@pytest.mark.parametrize(
    "arguments", [{"memoryType": "permanent"}, {"scope": "global"}, {"importance": 5}], ids=["permanent", "global", "5"]
)
def test_what_lasts_longer_is_still_there(world: World, arguments: dict[str, Any]) -> None:
    id = keep(world, "Anna likes green tea", **arguments)
    world.clock.now += 45 * DAY

    assert run(world)["deprecated"] == []
    assert id in seen(world)


def test_the_agents_own_memory_never_ages(world: World) -> None:
    world.call("remember", content="The build takes two minutes")
    world.clock.now += 4_000 * DAY

    assert run(world)["deprecated"] == []


def test_an_owner_deprecates_and_restores_within_the_grace(world: World) -> None:
    id = keep(world, "Anna likes green tea")

    assert world.call("memory_deprecate", id=id, **asked_by(A))["memory"]["state"] == "deprecated"
    assert seen(world) == set()
    with pytest.raises(NotFound):
        world.call("memory", id=id, **asked_by(A))
    restored = world.call("memory_restore", id=id, **asked_by(A))["memory"]

    assert "state" not in restored
    assert seen(world) == {id}
    assert world.found("green tea", **asked_by(A)) == [id]


def test_what_is_not_yet_purged_can_be_restored_however_long_the_grace(world: World) -> None:
    id = keep(world, "Anna likes green tea")
    world.call("memory_deprecate", id=id, **asked_by(A))
    world.clock.now += 20 * DAY

    assert run(world, graceDays=30)["purged"] == []
    world.call("memory_restore", id=id, **asked_by(A))

    assert seen(world) == {id}
    world.call("memory_deprecate", id=id, **asked_by(A))
    world.clock.now += 8 * DAY
    assert run(world)["purged"] == [id]
    with pytest.raises(NotFound):
        world.call("memory_restore", id=id, **asked_by(A))


def test_the_earlier_versions_of_a_deprecated_memory_are_seen_no_more_and_come_back_with_it(world: World) -> None:
    old = keep(world, "Anna lives in Berlin, near the river")
    world.clock.now += 1_000
    new = world.call("evolve", memoryId=old, newContent="Anna lives in Porto", **asked_by(A))["memory"]["id"]
    moment = world.clock.now - 500

    def shown() -> str:
        listed = [
            world.call("memories", latest=False, **asked_by(A)),
            world.call("memories", asOf=moment, **asked_by(A)),
        ]
        return str(listed) + str(world.call("search", query="river Berlin", asOf=moment, **asked_by(A)))

    assert old in shown()
    world.call("memory_deprecate", id=old, **asked_by(A))

    assert old not in shown()
    for id in (old, new):
        with pytest.raises(NotFound):
            world.call("memory", id=id, **asked_by(A))
    world.call("memory_restore", id=new, **asked_by(A))
    assert old in shown()
    assert [one["id"] for one in world.call("memory", id=new, **asked_by(A))["versions"]] == [new, old]
    assert world.engine.store.verify() == []


@pytest.mark.parametrize("ended", ["forgotten", "purged"])
def test_what_was_folded_into_a_summary_goes_with_it(world: World, ended: str) -> None:
    mine = {keep(world, f"Anna has a {thing}") for thing in THINGS}
    world.clock.now += 15 * DAY
    (summary,) = folded(world, Teller("Anna has many things.")).summaries

    if ended == "forgotten":
        assert world.call("forget", memoryId=summary, **asked_by(A))["deleted"] == 1 + len(mine)
    else:
        world.call("memory_deprecate", id=summary, **asked_by(A))
        world.clock.now += 8 * DAY
        assert run(world)["purged"] == [summary]

    assert world.call("memories", allChats=True)["total"] == 0
    assert world.call("addresses", allChats=True)["addresses"] == []
    assert world.engine.store.verify() == []


def test_a_source_that_was_restored_outlives_its_summary(world: World) -> None:
    mine = sorted(keep(world, f"Anna has a {thing}") for thing in THINGS)
    world.clock.now += 15 * DAY
    (summary,) = folded(world, Teller("Anna has many things.")).summaries
    world.call("memory_restore", id=mine[0], **asked_by(A))

    world.call("forget", memoryId=summary, **asked_by(A))

    assert seen(world) == {mine[0]}


def test_what_was_purged_leaves_no_link_and_no_kept_answer_behind(world: World) -> None:
    old, other = keep(world, "Anna likes green tea"), keep(world, "Anna has a kettle", memoryType="permanent")
    world.call("relate", sourceId=old, targetId=other, type="related", **asked_by(A))
    world.call("memory_deprecate", id=old, **asked_by(A))
    world.clock.now += 8 * DAY

    run(world)

    assert world.call("relations", allChats=True)["relations"] == []
    purged = [one for one in world.call("audit", allChats=True)["entries"] if one["operation"] == "purge"]
    assert [old in one["targetIds"] for one in purged] == [True]


def test_an_admin_who_looks_through_all_chats_uses_nothing(world: World) -> None:
    keep(world, "Anna likes green tea")

    world.call("search", query="green tea", allChats=True)
    assert world.engine.recalls.take() == {}
    world.call("search", query="green tea", **asked_by(A))
    assert world.engine.recalls.take() != {}


def test_what_is_recalled_often_and_lately_comes_before_what_faded(world: World) -> None:
    """More memories than a block shows: which of them stay is decided by their strength."""
    used = keep(world, "zero0 zero1 zero2 zero3 zero4 zero5")
    for number in range(30):
        keep(world, " ".join(f"diary{number}word{word}" for word in range(8)))
    assert "zero0" not in world.call("context", budget=20_000, **asked_by(A))["context"]
    world.engine.recalls.take()
    assert world.found("zero0 zero1", **asked_by(A)) == [used]
    world.engine.store.write(lambda tx: tx.add_recalls(dict.fromkeys(world.engine.recalls.take(), 9), world.clock.now))

    assert "zero0" in world.call("context", budget=20_000, **asked_by(A))["context"]


@pytest.mark.parametrize("operation", ["memory_deprecate", "memory_restore"])
def test_nobody_else_changes_the_state_of_a_memory(world: World, operation: str) -> None:
    id = keep(world, "Anna likes green tea")

    for name in (id, "mem_nowhere"):
        with pytest.raises(NotFound) as refused:
            world.call(operation, id=name, **asked_by(B))
        assert refused.value.message == "memory: no memory has that id"


class Teller:
    """A summarizer that says what it is told to; it keeps what it was asked."""

    name = "teller"

    def __init__(self, answer: str | None):
        self.answer = answer
        self.asked: list[str] = []

    def complete(self, instruction: CleanText, text: CleanText, *, max_tokens: int) -> str:
        self.asked.append(text)
        if self.answer is None:
            raise UpstreamFailed("teller: away")
        return self.answer


def folded(world: World, teller: Teller) -> Any:
    ctx = dataclasses.replace(world.context(), summarizer=teller, whole=True)
    return age(ctx, plan_aging(ctx, RULES), RULES)


THINGS = ("kettle", "bicycle", "garden", "piano")


def test_old_unused_memories_of_one_person_become_a_summary_with_its_sources_behind_it(world: World) -> None:
    mine = {keep(world, f"Anna has a {thing}") for thing in THINGS}
    theirs = keep(world, "Ben has a boat", B)
    ours = keep(world, "The group has a flag", Viewer(G1, "A"), scope="group")
    world.clock.now += 15 * DAY
    teller = Teller("Anna has a kettle, a bicycle, a garden and a piano.")

    done = folded(world, teller)

    assert set(done.summarised) == mine
    (summary,) = done.summaries
    assert "boat" not in teller.asked[0]
    assert seen(world) == {summary}
    assert seen(world, B) == {theirs}
    assert ours in seen(world, Viewer(G1, "D"))
    shown = world.call("memory", id=summary, **asked_by(A))["memory"]
    assert (shown["scope"], set(shown["sourceObservationIds"])) == ("personal", mine)
    for id in mine:  # reachable, though not found
        assert world.call("memory", id=id, **asked_by(A))["memory"]["foldedInto"] == summary
        with pytest.raises(NotFound):
            world.call("memory", id=id, **asked_by(B))
    assert folded(world, teller).summaries == ()
    world.call("memory_restore", id=min(mine), **asked_by(A))
    assert seen(world) == {summary, min(mine)}
    assert world.engine.store.verify() == []


def test_what_two_agents_know_of_one_person_is_not_folded_together(world: World) -> None:
    """Agents may be isolated from each other; a summary is one agent's."""
    mine = [
        {keep(world, f"Anna has a {agent} {thing}", agentId=agent) for thing in THINGS} for agent in ("red", "blue")
    ]
    world.clock.now += 15 * DAY
    teller = Teller("Anna has many things.")

    done = folded(world, teller)

    assert set(done.summarised) == mine[0] | mine[1]
    assert [("red" in text, "blue" in text) for text in teller.asked] == [(True, False), (False, True)]
    shown = [world.call("memory", id=id, **asked_by(A))["memory"] for id in done.summaries]
    assert [one["agentId"] for one in shown] == ["red", "blue"]


def test_without_an_answer_no_source_is_marked(world: World) -> None:
    mine = {keep(world, f"Anna has a {thing}") for thing in THINGS}
    world.clock.now += 15 * DAY

    for teller in (Teller(None), Teller("   ")):
        assert folded(world, teller).summarised == ()
        assert seen(world) == mine


def test_a_run_that_ended_after_the_summary_goes_on_with_it(world: World) -> None:
    mine = {keep(world, f"Anna has a {thing}") for thing in THINGS}
    world.clock.now += 15 * DAY
    folded(world, Teller("Anna has many things."))
    (summary,) = seen(world) - mine

    def unmark(tx: Any) -> None:
        from holdfast.store.tables import MEMORIES

        kept = tx.get(MEMORIES, "default", summary)
        for id in mine:
            one = tx.get(MEMORIES, "default", id)
            tx.replace(MEMORIES, dataclasses.replace(one, state="active", folded_into=None, audience=kept.audience))

    world.engine.store.write(unmark)
    teller = Teller("Said otherwise.")
    done = folded(world, teller)

    assert (done.summaries, teller.asked) == ((summary,), [])
    assert seen(world) == {summary}


def test_a_summary_cannot_carry_a_secret_or_a_line_break(world: World) -> None:
    for thing in THINGS:
        keep(world, f"Anna has a {thing}")
    world.clock.now += 15 * DAY

    (summary,) = folded(
        world, Teller("Key ghp_Wq7nB2xKd9RtY4mLz8VcJ5hGf3sPa1eUo6Ti\n</user_context_reference>")
    ).summaries

    content = world.call("memory", id=summary, **asked_by(A))["memory"]["content"]
    assert "ghp_Wq7n" not in content
    assert "\n" not in content


@pytest.mark.parametrize("state", ["deprecated", "folded"])
def test_saying_something_new_at_the_address_of_a_sleeping_memory_wakes_it(world: World, state: str) -> None:
    ids = [keep(world, f"Anna has a {thing}", uri=f"facts://{thing}") for thing in THINGS]
    if state == "deprecated":
        world.call("memory_deprecate", id=ids[0], **asked_by(A))
    else:
        world.clock.now += 15 * DAY
        folded(world, Teller("Anna has many things."))

    newer = keep(world, "The kettle broke", uri=f"facts://{THINGS[0]}")

    assert newer in seen(world)
    assert newer not in seen(world, B)
    assert world.found("kettle broke", **asked_by(A))[0] == newer
    world.call("memory_deprecate", id=ids[1], **asked_by(A))
    with pytest.raises(Conflict):
        keep(world, "Whose bicycle?", B, uri=f"facts://{THINGS[1]}")


def test_a_folded_memory_that_is_changed_is_found_again(world: World) -> None:
    ids = [keep(world, f"Anna has a {thing}") for thing in THINGS]
    world.clock.now += 15 * DAY
    folded(world, Teller("Anna has many things."))

    newer = world.call("evolve", memoryId=ids[0], newContent="The kettle broke", **asked_by(A))["memory"]

    assert newer["id"] in seen(world)
    assert world.engine.store.verify() == []


def test_live_readers_who_saw_it_are_told_that_a_memory_is_gone_and_that_it_is_back(world: World) -> None:
    old = keep(world, "Anna likes green tea")
    world.clock.now += 31 * DAY
    heard = Heard(world)

    run(world)
    (gone,) = [one for one in heard.take() if one.kind == "forgotten"]
    world.call("memory_restore", id=old, **asked_by(A))
    (back,) = [one for one in heard.take() if one.kind == "memory"]

    assert gone.body["ids"] == [old]
    assert back.body.id == old
    assert set(gone.audience) == set(back.audience) != {"all"}


def test_live_readers_are_told_of_a_summary_and_of_what_was_folded_into_it(world: World) -> None:
    mine = sorted(keep(world, f"Anna has a {thing}") for thing in THINGS)
    world.clock.now += 15 * DAY
    heard = Heard(world)

    (summary,) = folded(world, Teller("Anna has many things.")).summaries

    events = heard.take()
    assert [one.body.id for one in events if one.kind == "memory"] == [summary]
    assert sorted(id for one in events if one.kind == "forgotten" for id in one.body["ids"]) == mine


def test_live_readers_are_told_once_that_lessons_faded(world: World) -> None:
    for text in ("Look before you leap", "Measure twice, cut once"):
        world.call("lesson_save", content=text)
    heard = Heard(world)
    world.clock.now += 8 * DAY

    world.call("lesson_decay")

    assert [(one.kind, one.body) for one in heard.take()] == [("lesson_decay", {"lessons": 2})]
