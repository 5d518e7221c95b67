"""The clock jumps, either way: order, validity and what is forgotten do not follow it blindly."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st

from holdfast.core.model import Caller, Memory
from holdfast.core.times import iso
from holdfast.engine import Engine
from holdfast.intake.forget import UNIMPORTANT, plan_sweep, sweep
from holdfast.ops.registry import BY_NAME
from holdfast.serve.background.maintenance import Maintenance
from holdfast.settings import load
from holdfast.store.tables import MEMORIES, OBSERVATIONS

NOON = 1_790_000_000_000
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


class JumpyClock:
    """Wall time that jumps, beside steady time that does not."""

    def __init__(self) -> None:
        self.wall = NOON
        self.elapsed = 0

    def now_ms(self) -> int:
        return self.wall

    def steady(self) -> float:
        return self.elapsed / 1000

    def passes(self, ms: int) -> None:
        """Time goes by."""
        self.wall += ms
        self.elapsed += ms

    def jumps(self, ms: int) -> None:
        """Somebody sets the clock."""
        self.wall += ms


class Memories:
    """An engine on a jumpy clock."""

    def __init__(self, home: Path):
        self.clock = JumpyClock()
        self.engine = Engine(dataclasses.replace(load({}, {}), home=str(home)), self.clock)

    def call(self, name: str, /, **arguments: Any) -> Any:
        return BY_NAME[name].call(self.engine.context(Caller()), arguments)

    def remember(self, text: str, **more: Any) -> str:
        return str(self.call("remember", content=text, **more)["memory"]["id"])

    def observe(self, hook: str = "notification") -> Any:
        """A happening of the least importance: the first that retention lets go."""
        return self.call(
            "observe", sessionId="s", hookType=hook, timestamp=iso(self.clock.wall), data={"message": "done"}
        )

    def all(self) -> list[Memory]:
        return self.engine.store.read().find(MEMORIES, "default", order="seq")

    def sweep(self) -> None:
        Maintenance(self.engine).sweep_all()


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memories]:
    made = Memories(tmp_path / "memory")
    yield made
    made.engine.close()


@pytest.mark.parametrize("jump", [-DAY, -365 * DAY, 365 * DAY, -NOON])
def test_the_newest_is_listed_first_whatever_the_clock_says(memories: Memories, jump: int) -> None:
    ids = [memories.remember("amber lies in the first box")]
    memories.clock.jumps(jump)
    ids.append(memories.remember("basalt lies in the second box"))
    memories.clock.jumps(-jump)
    ids.append(memories.remember("cobalt lies in the third box"))
    assert [one["id"] for one in memories.call("memories")["memories"]] == ids[::-1]
    targets = [one["targetIds"][0] for one in memories.call("audit", operation="remember")["entries"]]
    assert targets == ids[::-1]
    assert [one.id for one in memories.all()] == ids


def test_ids_stay_apart_when_the_clock_stands_or_goes_back(memories: Memories) -> None:
    ids = set()
    for number in range(20):
        ids.add(memories.remember(f"amber{number} basalt{number} cobalt{number} dolomite{number} emerald{number}"))
        memories.clock.jumps(-1 if number % 2 else 0)
    assert len(ids) == 20


JUMPS = st.integers(-400 * DAY, 400 * DAY)
WORDS = (
    "again",
    "always",
    "mostly",
    "seldom",
    "often",
    "still",
    "already",
    "anyway",
)  # no names: these are other facts


@given(jumps=st.lists(st.tuples(JUMPS, st.sampled_from(["say", "evolve", "dated"]), JUMPS), min_size=1, max_size=8))
@hypothesis_settings(max_examples=60)
def test_versions_follow_each_other_without_gap_or_overlap(
    memories: Memories, jumps: list[tuple[int, str, int]]
) -> None:
    """One version is the latest, none ends before it begins, and each begins when the one before it ends."""
    memories.clock.wall = NOON
    tail = f"line{memories.clock.elapsed}"
    memories.clock.passes(SECOND)
    text = f"the deploy of {tail} runs on friday at noon from the main branch"
    first = memories.remember(text)
    for number, (jump, how, dated) in enumerate(jumps):
        memories.clock.jumps(jump)
        text = f"{text} {WORDS[number]}"  # what keeps every word is a new version
        if how == "evolve":
            memories.call("evolve", memoryId=first, newContent=text)
        else:
            memories.remember(text, **({"createdAt": NOON + dated} if how == "dated" else {}))
    lines: dict[str, list[Memory]] = {}
    for one in memories.all():
        if tail in one.content.split():
            lines.setdefault(one.root, []).append(one)
    for line in lines.values():
        line.sort(key=lambda one: one.version)
        assert [one.latest for one in line] == [False] * (len(line) - 1) + [True]
        assert line[-1].valid_to is None
        for before, after in pairwise(line):
            assert before.valid_to is not None
            assert before.valid_from <= before.valid_to == after.valid_from


def test_at_any_moment_at_most_one_version_held(memories: Memories) -> None:
    text = "the deploy runs on friday at noon from the main branch"
    memories.remember(text)
    for jump, word in ((-DAY, "again"), (3 * DAY, "always"), (-HOUR, "mostly")):
        memories.clock.jumps(jump)
        text = f"{text} {word}"  # what keeps every word is a new version; another word in its place, another fact
        memories.remember(text)
    assert len(memories.all()) == 4
    for moment in range(NOON - 2 * DAY, NOON + 4 * DAY, 7 * HOUR):
        assert len(memories.call("memories", asOf=moment)["memories"]) <= 1


def test_an_event_that_happens_again_is_kept_though_the_clock_was_set_back(memories: Memories) -> None:
    """The window in which an equal event counts as the same is five minutes, not as long as the clock was ahead."""
    first = memories.observe()["observationId"]
    memories.clock.passes(10 * MINUTE)
    memories.clock.jumps(-DAY)
    second = memories.observe()
    assert second["observationId"] != first
    assert memories.engine.store.read().count(OBSERVATIONS, "default") == 2


def test_an_event_reported_twice_at_once_is_kept_once(memories: Memories) -> None:
    first = memories.observe()["observationId"]
    memories.clock.passes(SECOND)
    assert memories.observe()["observationId"] == first


def test_a_memory_outlives_a_clock_that_ran_ahead_for_a_moment(memories: Memories) -> None:
    """A wrong year for one second must not cost a memory that was to live for thirty days."""
    id = memories.remember("the rehearsal is in the east hall", ttlDays=30)
    memories.clock.passes(HOUR)
    memories.sweep()
    memories.clock.jumps(365 * DAY)
    memories.clock.passes(SECOND)
    memories.sweep()
    memories.clock.jumps(-365 * DAY)
    assert [one.id for one in memories.all()] == [id]


def test_observations_outlive_a_clock_that_ran_ahead_for_a_moment(memories: Memories) -> None:
    memories.observe()
    assert memories.engine.store.read().find(OBSERVATIONS, "default")[0].importance <= UNIMPORTANT
    memories.sweep()
    memories.clock.jumps(10 * 365 * DAY)
    memories.clock.passes(SECOND)
    memories.sweep()
    assert memories.engine.store.read().count(OBSERVATIONS, "default") == 1


def test_a_memory_goes_when_its_time_has_truly_passed(memories: Memories) -> None:
    memories.remember("the rehearsal is in the east hall", ttlDays=30)
    kept = memories.remember("the piano is tuned in spring")
    for _ in range(31):
        memories.clock.passes(DAY)
        memories.sweep()
    assert [one.id for one in memories.all()] == [kept]


def test_a_clock_set_back_forgets_nothing_early(memories: Memories) -> None:
    id = memories.remember("the rehearsal is in the east hall", ttlDays=1)
    memories.clock.jumps(-365 * DAY)
    memories.sweep()
    assert [one.id for one in memories.all()] == [id]


def test_a_new_wording_without_an_end_survives_the_sweep_that_was_planned_before_it(memories: Memories) -> None:
    """The plan says that the old wording is over; meanwhile somebody says it anew, for good."""
    memories.remember("the deploy runs on friday at noon from the main branch", ttlDays=1)
    memories.clock.passes(2 * DAY)
    ctx = memories.engine.context(Caller())
    plan = plan_sweep(ctx)
    kept = memories.remember("the deploy runs on friday at noon from the main branch again")
    sweep(ctx, plan)
    assert kept in [one.id for one in memories.all()]


def test_a_wording_with_an_end_does_not_take_the_lasting_one_before_it_along(memories: Memories) -> None:
    lasting = memories.remember("the deploy runs on friday at noon from the main branch")
    memories.remember("the deploy runs on friday at noon from the main branch today", ttlDays=1)
    memories.clock.passes(2 * DAY)
    memories.sweep()
    assert lasting in [one.id for one in memories.all()]


@pytest.mark.parametrize("wall", [0, 1, 253_402_300_799_999])
def test_a_clock_at_the_end_of_time_does_not_stop_the_memory(memories: Memories, wall: int) -> None:
    memories.clock.wall = wall
    id = memories.remember("amber lies in the first box")
    memories.observe()
    memories.sweep()
    assert [one["id"] for one in memories.call("search", query="amber")["results"]] == [id]
    assert memories.engine.store.verify() == []
