"""The thread that learns: a session that is over is summarized once, and again when it changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import until
from world import NOON, World

from holdfast.context import CallContext
from holdfast.core.errors import UpstreamFailed
from holdfast.core.model import Insight, Session, Statement, Summary
from holdfast.learn.sessions.backlog import IDLE_MS
from holdfast.learn.statements.learner import LearningStep
from holdfast.learn.statements.supersession import supersede
from holdfast.ops.query import context as context_ops
from holdfast.serve.background import learning_thread
from holdfast.serve.background.learning_thread import LearningThread
from holdfast.serve.background.maintenance import Maintenance
from holdfast.store.tables import INSIGHTS, SESSIONS, STATEMENTS, SUMMARIES

DECIDED = "We decided to use Postgres 14 for the orders service because the managed plan includes it."

CACHED = "We decided to keep Redis 7 for the cache of the orders service because it holds the sessions already."


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()


def summary_of(world: World, session: str = "s1") -> Summary | None:
    return world.engine.store.read().get(SUMMARIES, "default", session)


def talk(world: World, session: str, prompt: str, answer: str) -> None:
    world.clock.now += 1_000
    world.observe(session, "prompt_submit", prompt=prompt)
    world.clock.now += 1_000
    world.observe(session, "assistant_message", message=answer)
    world.clock.now += 1_000


def ended(world: World, session: str = "s1") -> None:
    world.call("session_end", sessionId=session)


def test_a_session_is_summarized_at_once_when_it_ended(world: World) -> None:
    learner = LearningThread(world.engine)
    talk(world, "s1", "Which database do we take?", DECIDED)
    learner.learn()
    assert summary_of(world) is None
    ended(world)
    learner.learn()
    summary = summary_of(world)
    assert summary is not None
    assert DECIDED in summary.narrative
    assert DECIDED in summary.decisions
    assert summary.title == "Which database do we take?"


def test_a_summary_is_not_made_again_while_nothing_changes(world: World) -> None:
    learner = LearningThread(world.engine)
    talk(world, "s1", "Which database do we take?", DECIDED)
    ended(world)
    learner.learn()
    before = world.engine.store.last_seq()
    for _ in range(3):
        world.clock.now += IDLE_MS
        learner.learn()
    assert world.engine.store.last_seq() == before


def test_a_resumed_session_is_summarized_again_after_its_end(world: World) -> None:
    learner = LearningThread(world.engine)
    talk(world, "s1", "Which database do we take?", DECIDED)
    ended(world)
    learner.learn()
    talk(world, "s1", "And the cache?", CACHED)
    learner.learn()
    assert CACHED not in (summary_of(world) or pytest.fail("no summary")).narrative
    ended(world)
    learner.learn()
    assert CACHED in (summary_of(world) or pytest.fail("no summary")).narrative


def test_a_session_whose_end_never_comes_is_summarized_when_it_rested(world: World) -> None:
    learner = LearningThread(world.engine)
    talk(world, "s1", "Which database do we take?", DECIDED)
    learner.learn()
    world.clock.now += IDLE_MS - 10_000
    learner.learn()
    assert summary_of(world) is None
    world.clock.now += 60_000
    learner.learn()
    assert summary_of(world) is not None


def test_all_sessions_get_a_summary_though_each_step_makes_a_few(world: World) -> None:
    for number in range(2 * learning_thread.SUMMARIZED_PER_STEP + 1):
        talk(world, f"s{number}", "Which database do we take?", DECIDED)
        ended(world, f"s{number}")
    world.clock.now += 3 * IDLE_MS
    learner = LearningThread(world.engine)
    for _ in range(4):
        learner.learn()
    assert all(summary_of(world, f"s{number}") for number in range(2 * learning_thread.SUMMARIZED_PER_STEP + 1))


def test_a_session_with_a_count_but_no_observations_stops_no_other(world: World) -> None:
    talk(world, "s1", "Which database do we take?", DECIDED)
    ended(world)

    def brought(tx: Any) -> None:
        tx.add(SESSIONS, Session("default", "empty", tx.next_seq("default"), "proj", "/w", None, "", "completed", NOON + DAY_MS,
                                 NOON, NOON, observation_count=4))  # fmt: skip

    world.engine.store.write(brought)
    LearningThread(world.engine).learn()
    assert summary_of(world) is not None
    assert summary_of(world, "empty") is None


DAY_MS = 86_400_000


def test_a_replaced_statement_leaves_the_summary_of_its_session(world: World) -> None:
    learner = LearningThread(world.engine)
    talk(world, "s1", "Which database do we take?", DECIDED)
    ended(world)
    learner.learn()
    ctx = world.context()
    old = statements(ctx, "s1")[0]
    ctx.store.write(lambda tx: supersede(ctx, tx, "newer", old.id, "replaced", None))
    learner.learn()
    assert DECIDED not in (summary_of(world) or pytest.fail("no summary")).narrative
    world.call("still_true", id=old.id)
    learner.learn()
    assert DECIDED in (summary_of(world) or pytest.fail("no summary")).narrative


def test_a_summary_made_before_its_statements_is_made_anew_with_them(world: World) -> None:
    talk(world, "s1", "Which database do we take?", DECIDED)
    ended(world)
    world.call("summarize", sessionId="s1")
    assert "Wanted:" not in (summary_of(world) or pytest.fail("no summary")).narrative
    LearningThread(world.engine).learn()
    assert (summary_of(world) or pytest.fail("no summary")).narrative.startswith("Wanted: Which database")


def statements(ctx: CallContext, session: str) -> list[Statement]:
    return [one for one in ctx.store.read().find(STATEMENTS, "default") if one.session_id == session]


def test_insights_that_are_drawn_again_write_nothing_and_make_no_snapshot(world: World) -> None:
    for number in range(4):
        talk(world, f"s{number}", "Tune the redis cache of the orders service.", CACHED)
        ended(world, f"s{number}")
    LearningThread(world.engine).learn()
    keeping = Maintenance(world.engine)
    keeping.sweep_all()
    assert insights(world)
    before = world.engine.store.last_seq()
    Maintenance(world.engine).sweep_all()
    assert world.engine.store.last_seq() == before
    assert world.call("snapshot_list")["snapshots"] == []


def test_no_insight_tells_a_sentence_twice_or_one_that_was_replaced(world: World) -> None:
    for number in range(4):
        world.clock.now += 1_000
        world.observe("s1", "prompt_submit", prompt=f"Tune the redis cache, part {number}.")
    talk(world, "s1", "Which cache do we take for redis orders?", CACHED)
    ended(world)
    LearningThread(world.engine).learn()
    Maintenance(world.engine).sweep_all()
    assert sum(one.content.count(CACHED) for one in insights(world) if one.kind == "semantic") == 1
    ctx = world.context()
    old = statements(ctx, "s1")[0]
    ctx.store.write(lambda tx: supersede(ctx, tx, "newer", old.id, "replaced", None))
    LearningThread(world.engine).learn()
    Maintenance(world.engine).sweep_all()
    assert not any(CACHED in one.content for one in insights(world))


def test_a_replaced_wish_leaves_the_slot_that_it_was_written_into(world: World) -> None:
    wish = "Please always run the linter with ruff 0.4 before you commit anything to this repository."
    talk(world, "s1", "Sort the rows of the export.", "Sorted.")
    talk(world, "s1", wish, "Understood.")
    learner = LearningThread(world.engine)
    learner.learn()
    ctx = world.context()
    said = next(one for one in statements(ctx, "s1") if one.kind == "preference")
    world.call("reflect", sessionId="s1")
    world.call("slot_append", label="guidance", text="- my own line", project="proj")
    context = world.call("context", project="proj")["context"]
    assert context.count(said.text) == 1
    ctx.store.write(lambda tx: supersede(ctx, tx, "newer", said.id, "replaced", None))
    assert world.call("slot", label="guidance", project="proj")["slot"]["content"] == "- my own line"


def insights(world: World) -> list[Insight]:
    return world.engine.store.read().find(INSIGHTS, "default")


def test_a_context_waits_for_what_was_said_just_now(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_thread, "LOOK_SECONDS", 3_600.0)  # so the thread looks only if a caller wakes it
    monkeypatch.setattr(context_ops, "LEARNING_SECONDS", 120.0)
    talk(world, "s1", "Which database do we take?", DECIDED)
    thread = LearningThread(world.engine)
    thread.start()
    try:
        assert DECIDED in world.call("context", project="proj")["context"]
        talk(world, "s2", "And the cache?", CACHED)
        assert CACHED in world.call("context", project="proj")["context"]
    finally:
        thread.stop()


def test_nothing_waits_for_a_thread_that_fails_or_has_ended(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[bool] = []
    monkeypatch.setattr(context_ops, "is_learnt", lambda *_: bool(looks.append(True)))
    monkeypatch.setattr(learning_thread, "PAUSE_SECONDS", 3_600.0)
    monkeypatch.setattr(learning_thread, "learn_step", _broken)
    thread = LearningThread(world.engine)
    talk(world, "s1", "Which database do we take?", DECIDED)
    thread.start()
    world.engine.learning.wake()
    until(lambda: not waits(world, looks), "the thread has failed")
    thread.stop()
    assert not waits(world, looks)


def waits(world: World, looks: list[bool]) -> bool:
    looks.clear()
    world.call("context", project="proj")
    return bool(looks)


def _broken(*_: object) -> LearningStep:
    raise UpstreamFailed("no")
