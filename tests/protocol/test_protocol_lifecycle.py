"""How memories age: from their last use, in bounded runs that can be repeated, and undone until the grace is over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from rows import each
from world import DAY, NOON

from holdfast.core.errors import Conflict, InvalidRequest
from holdfast.protocol.lifecycle import (
    LifecyclePlan,
    LifecycleRules,
    MemoryLifetime,
    MemoryLink,
    deprecated,
    expires_at,
    is_purgeable,
    plan,
    recalled,
    restored,
    settle,
    strength,
    summarised,
)

pytestmark = pytest.mark.quick

RULES = LifecycleRules()


def life(id: str = "m", days: float = 0, **about: Any) -> MemoryLifetime:
    """A memory that was made so many days ago."""
    return MemoryLifetime(id, NOON - int(days * DAY), **{"audience": ("person/tg/A",), **about})


# Age


def carried_out(
    lives: Iterable[MemoryLifetime], done: LifecyclePlan, summaries: Sequence[str], now: int
) -> tuple[MemoryLifetime, ...]:
    """The memories after a plan, with one stored summary for each of its groups."""
    into = {
        source: summary for group, summary in zip(done.summarise, summaries, strict=True) for source in group.sources
    }
    gone, ended = set(done.purge), set(done.deprecate)
    left = (life for life in lives if life.id not in gone)
    return tuple(
        deprecated(life, now) if life.id in ended else summarised(life, into[life.id]) if life.id in into else life
        for life in left
    )


def test_age_counts_from_the_last_use() -> None:
    old = life(days=40)
    assert plan([old], RULES, NOON).deprecate == ("m",)
    assert plan([recalled(old, NOON - DAY)], RULES, NOON) == LifecyclePlan()


@each("importance, days", [(1, 10), (2, 20), (3, 30), (4, 40), (5, 50), (99, 50), (-3, 10)])
def test_the_more_important_the_later_it_expires(importance: int, days: int) -> None:
    assert expires_at(life(importance=importance), RULES) == NOON + days * DAY


@each("about", [{"memory_type": "permanent"}, {"scope": "global"}])
def test_what_lasts_never_expires(about: dict[str, Any]) -> None:
    lasting = life(days=5_000, **about)
    assert expires_at(lasting, RULES) is None
    assert plan([lasting, *(replace(lasting, id=str(at)) for at in range(5))], RULES, NOON) == LifecyclePlan()


@given(st.integers(1, 5), st.integers(0, 50), st.integers(0, 400), st.integers(0, 400))
def test_strength_falls_with_time_and_grows_with_use(importance: int, recalls: int, early: int, late: int) -> None:
    early, late = sorted((early, late))
    fresh, stale = (life(days=days, importance=importance, recall_count=recalls) for days in (early, late))
    assert 0 <= strength(stale, RULES, NOON) <= strength(fresh, RULES, NOON) <= 1
    assert strength(recalled(stale, NOON), RULES, NOON) >= strength(stale, RULES, NOON)
    assert strength(replace(stale, importance=5), RULES, NOON) >= strength(stale, RULES, NOON)


def test_half_of_the_freshness_is_gone_after_the_half_life() -> None:
    now, later, much_later = (strength(life(days=days, importance=1), RULES, NOON) for days in (0, 14, 28))
    assert (now - later) == pytest.approx(2 * (later - much_later))


def test_a_permanent_memory_keeps_its_strength() -> None:
    assert strength(life(days=900, memory_type="permanent"), RULES, NOON) == strength(life(), RULES, NOON)


def test_a_clock_that_went_back_makes_nothing_older() -> None:
    used = recalled(life(), NOON + 5)
    assert recalled(used, NOON - DAY).last_used_at == NOON + 5
    assert strength(life(days=-9), RULES, NOON) == strength(life(), RULES, NOON)


# States


def test_a_deprecated_memory_can_be_restored_until_its_grace_is_over() -> None:
    gone = deprecated(life(days=40), NOON)
    last_moment = NOON + RULES.grace_ms - 1
    assert restored(gone, RULES, last_moment).state == "active"
    assert not is_purgeable(gone, RULES, last_moment)
    assert is_purgeable(gone, RULES, last_moment + 1)
    with pytest.raises(Conflict):
        restored(gone, RULES, last_moment + 1)


def test_a_restored_memory_is_not_taken_away_by_the_next_run() -> None:
    back = restored(deprecated(life(days=40), NOON), RULES, NOON + DAY)
    assert plan([back], RULES, NOON + DAY) == LifecyclePlan()


def test_to_deprecate_twice_does_not_prolong_the_grace() -> None:
    once = deprecated(life(), NOON)
    assert deprecated(once, NOON + DAY) == once


def test_a_deprecation_in_the_future_is_not_purged() -> None:
    assert plan([deprecated(life(), NOON + 99 * DAY)], RULES, NOON) == LifecyclePlan()


def test_a_folded_memory_stays_behind_its_summary_and_can_be_restored() -> None:
    source = summarised(life(days=40), "summary")
    assert plan([source], RULES, NOON + 999 * DAY) == LifecyclePlan()
    assert summarised(source, "summary") == source
    assert restored(source, RULES, NOON) == replace(life(days=40), last_recalled_at=NOON)


@each("other", [deprecated(life(), NOON), summarised(life(), "another"), life("summary")])
def test_only_an_active_memory_is_folded_and_not_into_itself(other: MemoryLifetime) -> None:
    with pytest.raises(Conflict):
        summarised(other, "summary")


# Plans


def test_old_and_unused_memories_of_one_audience_are_folded_together() -> None:
    mine = [life(f"a{at}", days=20 + at) for at in range(4)]
    yours = [life(f"b{at}", days=20, audience=("person/tg/B",)) for at in range(3)]
    others = [
        life("young", days=5), life("used", days=20, recall_count=2), life("group", days=20, scope="group"),
        life("alone", days=20, audience=("person/tg/C",)), life("nobody's", days=20, audience=()),
    ]  # fmt: skip
    found = plan([*yours, *mine, *others], RULES, NOON)
    assert {one.audience: set(one.sources) for one in found.summarise} == {
        ("person/tg/A",): {"a0", "a1", "a2", "a3"},
        ("person/tg/B",): {"b0", "b1", "b2"},
    }
    assert not found.deprecate


def test_what_can_be_folded_is_not_expired_at_the_same_time() -> None:
    old = [life(str(at), days=40) for at in range(3)]
    assert plan(old, RULES, NOON).deprecate == ()
    assert plan(old, RULES, NOON, summarise=False).deprecate == ("0", "1", "2")


def test_a_run_is_bounded_and_says_that_there_is_more() -> None:
    rules = LifecycleRules(per_run=30)
    many = [life(f"{at:03}", days=100 - at / 10, scope="group") for at in range(100)]
    first = plan(many, rules, NOON)
    assert first.deprecate == tuple(f"{at:03}" for at in range(30))
    assert first.more
    runs = 0
    while (step := plan(many, rules, NOON)) != LifecyclePlan():
        many = list(carried_out(many, step, (), NOON))
        runs += 1
    assert runs == 4


@each("wrong", [{"per_run": 0}, {"grace_ms": 0}, {"summarise_least": 1}, {"summarise_most": 2}, {"per_run": 5}])
def test_rules_by_which_memories_would_vanish_or_runs_never_end_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidRequest):
        LifecycleRules(**wrong)


def test_summaries_of_one_run_are_bounded_too() -> None:
    rules = LifecycleRules(summarise_most=3, per_run=30)
    old = [life(f"{group}-{at}", days=20, audience=(str(group),)) for group in range(20) for at in range(3)]
    first = plan(old, rules, NOON)
    assert len(first.summarise) == 10
    assert first.more
    rest = plan(carried_out(old, first, [f"s{at}" for at in range(10)], NOON), rules, NOON)
    assert len(rest.summarise) == 10
    assert not rest.more


LIVES = st.lists(
    st.builds(
        MemoryLifetime,
        id=st.just(""),
        created_at=st.integers(-90, 20).map(lambda day: NOON + day * DAY),
        last_recalled_at=st.one_of(st.none(), st.integers(-60, 9).map(lambda day: NOON + day * DAY)),
        recall_count=st.integers(0, 3),
        importance=st.integers(1, 5),
        memory_type=st.sampled_from(["normal", "normal", "permanent"]),
        scope=st.sampled_from(["personal", "personal", "group", "global"]),
        audience=st.sampled_from([("a",), ("b",), ("a", "b"), ("b", "a"), ()]),
        state=st.just("active"),
    ),
    max_size=25,
).map(lambda lives: [replace(one, id=f"m{at}") for at, one in enumerate(lives)])
GONE = st.sets(st.integers(0, 24))


@settings(max_examples=200)
@given(LIVES, GONE, st.integers(1, 12), st.integers(-10, 3))
def test_carrying_a_plan_out_leaves_nothing_of_it_to_do(
    lives: list[MemoryLifetime], gone: set[int], room: int, day: int
) -> None:
    rules = LifecycleRules(summarise_least=2, summarise_most=2 if room < 4 else 4, per_run=max(room, 2))
    lives = [deprecated(one, NOON + day * DAY) if at in gone else one for at, one in enumerate(lives)]
    before = {one.id: one for one in lives}
    for run in range(60):
        step = plan(lives, rules, NOON)
        if step == LifecyclePlan():
            break
        done = len(step.purge) + len(step.deprecate) + sum(len(one.sources) for one in step.summarise)
        assert done <= rules.per_run
        assert {step} == {plan(reversed(lives), rules, NOON)}, "the order of reading makes no difference"
        lives = list(carried_out(lives, step, [f"s{run}-{at}" for at in range(len(step.summarise))], NOON))
    assert step == LifecyclePlan()
    left = {one.id: one for one in lives}
    assert all(is_purgeable(before[id], rules, NOON) for id in before.keys() - left.keys())
    assert all(before[id] == one for id, one in left.items() if before[id].lasts)
    for group in {one.folded_into for one in lives if one.folded_into}:
        assert len({tuple(sorted(one.audience)) for one in lives if one.folded_into == group}) == 1


# Contradictions


def test_what_is_superseded_gives_way_over_several_steps() -> None:
    lives = [life("c", 3), life("b", 2), life("a", 1)]
    found = settle(lives, [MemoryLink("a", "b", "supersedes"), MemoryLink("b", "c", "supersedes")])
    assert found.current == ("a",)
    assert found.set_aside == (("c", "a"), ("b", "a"))


def test_of_two_that_contradict_each_other_the_newer_is_current() -> None:
    lives = [life("old", 9), life("new", 1), life("other", 5)]
    for link in (MemoryLink("old", "new", "contradicts"), MemoryLink("new", "old", "contradicts")):
        found = settle(lives, [link])
        assert found.current == ("new", "other")
        assert found.set_aside == (("old", "new"),)


def test_what_gave_way_itself_pushes_nobody_aside() -> None:
    lives = [life("a", 1), life("b", 2), life("c", 3)]
    assert settle(lives, [MemoryLink("a", "b", "contradicts"), MemoryLink("b", "c", "contradicts")]).current == (
        "a",
        "c",
    )


def test_links_in_a_circle_leave_the_newest() -> None:
    lives = [life("a", 1), life("b", 2), life("c", 3)]
    ring = [MemoryLink("a", "b", "supersedes"), MemoryLink("b", "c", "supersedes"), MemoryLink("c", "a", "supersedes")]
    assert settle(lives, ring).current == ("a",)


def test_other_links_and_those_that_lead_elsewhere_change_nothing() -> None:
    lives = [life("a"), life("b")]
    links = [MemoryLink("a", "b", "related"), MemoryLink("x", "a", "supersedes"), MemoryLink("a", "a", "supersedes")]
    assert settle(lives, links).current == ("a", "b")


KIND = st.sampled_from(["supersedes", "contradicts", "related"])
IDS = st.integers(0, 6).map(str)


@given(
    st.lists(st.integers(0, 5), min_size=7, max_size=7), st.lists(st.builds(MemoryLink, IDS, IDS, KIND), max_size=12)
)
def test_two_that_cannot_both_be_true_are_never_both_current(ages: list[int], links: list[MemoryLink]) -> None:
    found = settle([life(str(at), age) for at, age in enumerate(ages)], links)
    assert found.current
    assert sorted([*found.current, *(id for id, _ in found.set_aside)]) == [str(at) for at in range(7)]
    against = [link for link in links if link.kind != "related" and link.source != link.target]
    assert not [link for link in against if {link.source, link.target} <= set(found.current)]
