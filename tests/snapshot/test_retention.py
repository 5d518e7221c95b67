"""Retention: restic's rules where clocks are right, and never more removed where they are not."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st
from rows import each

from holdfast.core.errors import InvalidRequest
from holdfast.core.times import DAY_MS
from holdfast.snapshot.repo.retention import RetentionItem, RetentionPlan, RetentionPolicy, plan

pytestmark = pytest.mark.quick

HOUR = 3_600_000
START = 1_767_225_600_000  # 2026-01-01, a Thursday
FAR = START + 5_000 * DAY_MS


def item(sequence: int, at: int, *, good: bool = True, in_use: bool = False, automatic: bool = True) -> RetentionItem:
    return RetentionItem(f"s{sequence}", sequence, at, good, in_use, automatic)


def items(times: Sequence[int]) -> list[RetentionItem]:
    return [item(number, at) for number, at in enumerate(times, 1)]


def kept(made: RetentionPlan) -> set[str]:
    return {id for id, _ in made.keep}


def ids(made: Sequence[RetentionItem]) -> set[str]:
    return {one.id for one in made}


# Plain restic, as its documentation has it, for clocks that never run backwards

_PERIODS = {
    "daily": lambda when: when.date(),
    "weekly": lambda when: when.isocalendar()[:2],
    "monthly": lambda when: (when.year, when.month),
    "yearly": lambda when: when.year,
}


def restic(made: Sequence[RetentionItem], policy: RetentionPolicy) -> set[str]:
    newest_first = sorted(made, key=lambda one: one.sequence, reverse=True)
    named = ids(newest_first[: policy.last])
    for rule, period in _PERIODS.items():
        left, last = getattr(policy, rule), None
        for one in newest_first:
            own = period(datetime.fromtimestamp(one.created_at / 1000, UTC))
            if left and own != last:
                named.add(one.id)
                left, last = left - 1, own
    return named


counts = st.integers(0, 6)
policies = st.builds(RetentionPolicy, last=counts, daily=counts, weekly=counts, monthly=counts, yearly=counts)
steps = st.one_of(st.integers(0, 3 * HOUR), st.integers(0, 3 * DAY_MS), st.integers(0, 60 * DAY_MS))


@st.composite
def honest_times(draw: st.DrawFn, most: int = 40) -> list[int]:
    at = START
    times = []
    for step in draw(st.lists(steps, max_size=most)):
        at += step
        times.append(at)
    return times


@given(honest_times(), policies)
def test_with_right_clocks_the_rules_are_restics(times: list[int], policy: RetentionPolicy) -> None:
    made = items(times)
    if not policy.empty and made:
        assert kept(plan(made, policy, times[-1])) == restic(made, policy) | {made[-1].id}


@each(
    "rule, days, expected",
    [
        ("daily", [0, 0.2, 0.9, 1, 1.5, 2], [3, 5, 6]),
        ("weekly", [0, 1, 3.99, 4, 10.99, 11], [3, 5, 6]),  # Thursday; Monday begins the next ISO week
        ("monthly", [0, 30.9, 31, 58.9, 59], [2, 4, 5]),
        ("yearly", [0, 364.9, 365, 729.9, 730], [2, 4, 5]),
    ],
)
def test_the_last_of_each_period_stays(rule: str, days: list[float], expected: list[int]) -> None:
    made = items([START + int(day * DAY_MS) for day in days])

    assert kept(plan(made, RetentionPolicy(**{rule: 3}), FAR)) == {f"s{number}" for number in expected}
    assert kept(plan(made, RetentionPolicy(**{rule: 2}), FAR)) == {f"s{number}" for number in expected[1:]}


def test_within_counts_from_the_newest_snapshot_not_from_now() -> None:
    made = items([START + day * DAY_MS for day in range(10)])

    assert kept(plan(made, RetentionPolicy(within_days=3), FAR)) == {"s10", "s9", "s8"}


def test_reasons_are_named_newest_first() -> None:
    made = items([START, START + DAY_MS])

    result = plan(made, RetentionPolicy(last=1, within_days=1, daily=2), FAR)
    assert result.keep == (("s2", ("last", "within", "daily", "newest")), ("s1", ("daily",)))
    assert result.remove == ()


# What stays whatever the rules say


@given(honest_times(), st.integers(0, 2 * FAR))
def test_an_empty_policy_removes_nothing(times: list[int], now: int) -> None:
    assert plan(items(times), RetentionPolicy(), now).remove == ()


states = st.tuples(st.integers(0, 2 * FAR), st.booleans(), st.booleans(), st.booleans())


@st.composite
def any_items(draw: st.DrawFn) -> list[RetentionItem]:
    drawn = draw(st.lists(states, max_size=30))
    return [
        RetentionItem(f"s{number}", number, at, good, in_use, automatic)
        for number, (at, good, in_use, automatic) in enumerate(drawn, 1)
    ]


whole_policies = st.builds(
    RetentionPolicy, last=counts, within_days=counts, daily=counts, weekly=counts, monthly=counts, yearly=counts
)


@given(any_items(), whole_policies, st.integers(0, 2 * FAR), st.booleans(), st.booleans())
def test_every_plan_is_whole_and_spares_what_must_stay(
    made: list[RetentionItem], policy: RetentionPolicy, now: int, automatic_only: bool, damaged: bool
) -> None:
    result = plan(made, policy, now, automatic_only, damaged=damaged)
    gone = set(result.remove)

    assert kept(result) | gone == ids(made)
    assert not kept(result) & gone
    assert len(result.keep) + len(result.remove) == len(made)
    assert all(reasons for _, reasons in result.keep)
    good = [one for one in made if one.good]
    if good:
        assert good[-1].id in kept(result)
    else:
        assert gone == set()
    for one in made:
        if one.in_use or (automatic_only and not one.automatic) or (not one.good and not damaged):
            assert one.id in kept(result)
    ruled = [one for one in good if one.automatic or not automatic_only]
    assert ids(ruled[len(ruled) - policy.last :]) <= kept(result)
    assert plan(list(reversed(made)), policy, now, automatic_only, damaged=damaged) == result


def test_damaged_ones_take_nobodys_place_and_go_when_asked() -> None:
    made = [item(1, START), item(2, START + HOUR, good=False), item(3, START + DAY_MS), item(4, FAR, good=False)]

    assert plan(made, RetentionPolicy(last=2), FAR).remove == ()
    assert plan(made, RetentionPolicy(last=2), FAR, damaged=True).remove == ("s4", "s2")
    assert plan(made, RetentionPolicy(), FAR, damaged=True).remove == ("s4", "s2")
    assert plan([made[1], made[3]], RetentionPolicy(last=1), FAR, damaged=True).remove == ()


def test_what_is_made_before_some_work_pushes_no_scheduled_one_out() -> None:
    scheduled = dataclasses.replace(item(1, START), scheduled=True)
    made = [scheduled, *(item(number, START + number) for number in range(2, 20))]

    result = plan(made, RetentionPolicy(last=3), FAR, automatic_only=True)
    assert [id for id, _ in result.keep] == ["s19", "s18", "s17", "s1"]
    assert "s1" in plan(made, RetentionPolicy(last=3), FAR).remove, "a person who prunes counts them all"


def test_those_made_by_hand_stay_and_take_no_place() -> None:
    made = [
        item(1, START),
        item(2, START + 1, automatic=False),
        item(3, START + 2),
        item(4, START + 3, automatic=False),
    ]

    result = plan(made, RetentionPolicy(last=1), FAR, automatic_only=True)
    assert result.remove == ("s1",)
    assert dict(result.keep)["s2"] == ("by hand",)


@each("rule", ["last", "within_days", "daily", "weekly", "monthly", "yearly"])
def test_a_negative_number_is_refused(rule: str) -> None:
    with pytest.raises(InvalidRequest):
        RetentionPolicy(**{rule: -1})


# Clocks that jump

wild_times = st.lists(st.integers(0, 2 * FAR), min_size=1, max_size=30)


@given(wild_times, wild_times, counts, st.integers(0, 2 * FAR))
def test_the_last_ones_stay_whatever_their_times(times: list[int], others: list[int], last: int, now: int) -> None:
    made = items(times)
    changed = [item(one.sequence, others[number % len(others)]) for number, one in enumerate(made)]
    policy = RetentionPolicy(last=last, daily=1)

    assert ids(made[max(0, len(made) - last) :]) <= kept(plan(made, policy, now)) & kept(plan(changed, policy, now))


@given(wild_times, st.sampled_from(sorted(_PERIODS)), st.integers(1, 6), st.integers(0, 2 * FAR))
def test_whoever_goes_leaves_as_many_later_periods_as_the_policy_names(
    times: list[int], rule: str, count: int, now: int
) -> None:
    """Or the next one takes its place: the witness is looked for among what stays, by going through all chains."""
    made = items(times)
    result = plan(made, RetentionPolicy(**{rule: count}), now)
    stays = [one for one in made if one.id in kept(result)]

    def period(one: RetentionItem) -> object:
        return _PERIODS[rule](datetime.fromtimestamp(one.created_at / 1000, UTC))

    def chain(after: RetentionItem) -> int:
        """The longest run of ever later periods among those that stay."""
        best: dict[int, int] = {}
        for one in reversed([one for one in stays if one.sequence > after.sequence and one.created_at <= now]):
            if period(one) > period(after):  # type: ignore[operator]
                later = [best[at.sequence] for at in stays if at.sequence in best and period(at) > period(one)]  # type: ignore[operator]
                best[one.sequence] = 1 + max(later, default=0)
        return max(best.values(), default=0)

    for number, one in enumerate(made):
        if one.id in result.remove:
            successor = made[number + 1]
            replaced = period(successor) == period(one) and successor.created_at >= one.created_at
            assert replaced or chain(one) >= count


jumps = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2**40)), max_size=12)


def mixed(times: Sequence[int], wrong: Sequence[tuple[int, int]]) -> tuple[list[RetentionItem], list[RetentionItem]]:
    """Snapshots of right clocks, among them some of wrong ones; and the right ones alone, with the same numbers."""
    row = [(at, True) for at in times]
    for place, at in wrong:
        row.insert(place % (len(row) + 1), (at, False))
    made = [(item(number, at), right) for number, (at, right) in enumerate(row, 1)]
    return [one for one, _ in made], [one for one, right in made if right]


@given(honest_times(), jumps, policies, st.booleans())
def test_times_before_all_others_or_in_the_future_push_nothing_out(
    times: list[int], wrong: list[tuple[int, int]], policy: RetentionPolicy, ahead: bool
) -> None:
    now = (times or [START])[-1]
    bad = [(place, now + 400 * DAY_MS + at if ahead else at % START) for place, at in wrong]
    everything, right = mixed(times, bad)
    by_periods = RetentionPolicy(0, 0, policy.daily, policy.weekly, policy.monthly, policy.yearly)
    if by_periods.empty:
        return

    assert restic(right, by_periods) <= kept(plan(everything, by_periods, now))


@given(honest_times(), jumps, st.sampled_from(sorted(_PERIODS)), st.integers(1, 6))
def test_a_wrong_time_costs_each_rule_two_at_most(
    times: list[int], wrong: list[tuple[int, int]], rule: str, count: int
) -> None:
    now = (times or [START])[-1]
    bad = [(place, START + at % (now - START + 1)) for place, at in wrong]
    everything, right = mixed(times, bad)

    lost = restic(right, RetentionPolicy(**{rule: count})) - kept(
        plan(everything, RetentionPolicy(**{rule: count}), now)
    )
    assert len(lost) <= 2 * len(bad)


@given(honest_times(), st.integers(0, 2 * FAR), st.integers(0, 2 * FAR), policies)
def test_one_new_snapshot_pushes_out_one_for_each_rule(
    times: list[int], at: int, now: int, policy: RetentionPolicy
) -> None:
    """After a run, a snapshot with any time and another run."""
    made = items(times)
    if policy.empty or not made:
        return
    first = plan(made, policy, times[-1])
    rest = [one for one in made if one.id in kept(first)]
    new = item(len(made) + 1, at)

    second = plan([*rest, new], policy, max(at, now))
    rules = sum(map(bool, (policy.last, policy.daily, policy.weekly, policy.monthly, policy.yearly)))
    assert len(second.remove) <= rules + 1  # and the one that stayed only because it was the newest
    assert new.id in kept(second)


@given(wild_times, st.integers(1, 10), st.integers(0, 2 * FAR))
def test_within_days_keeps_as_many_snapshots_as_days_whatever_the_clocks_say(
    times: list[int], days: int, now: int
) -> None:
    made = items(times)

    assert ids(made[max(0, len(made) - days) :]) <= kept(plan(made, RetentionPolicy(within_days=days), now))


@given(honest_times(), st.integers(1, 30))
def test_within_days_keeps_everything_that_is_so_young(times: list[int], days: int) -> None:
    made = items(times)
    young = [one for one in made if times[-1] - one.created_at < days * DAY_MS]

    assert ids(young) <= kept(plan(made, RetentionPolicy(within_days=days), (times or [0])[-1]))


@given(honest_times(), st.integers(1, 30), st.integers(0, 10**12), st.integers(0, 40))
def test_a_leap_ahead_ages_the_others_by_a_day_at_most(times: list[int], days: int, leap: int, place: int) -> None:
    place = min(place, len(times))
    leapt = times[:place] + [at + leap for at in times[place:]]
    now = (leapt or [0])[-1]

    before = kept(plan(items(times), RetentionPolicy(within_days=days), now))
    assert before <= kept(plan(items(leapt), RetentionPolicy(within_days=days + 1), now))


def test_a_clock_that_starts_anew_at_each_boot_removes_nothing_of_other_boots() -> None:
    made = items([HOUR, 2 * HOUR, HOUR, 3 * HOUR, HOUR])  # three boots, all on the first day of 1970

    assert plan(made, RetentionPolicy(daily=2), FAR).remove == ("s3", "s1")


def test_a_now_that_is_behind_removes_less() -> None:
    made = items([START + day * DAY_MS for day in range(20)])
    right = plan(made, RetentionPolicy(daily=5), FAR)
    behind = plan(made, RetentionPolicy(daily=5), 0)

    assert len(right.remove) == 15
    assert behind.remove == ()


def test_ten_thousand_are_planned_as_the_few_are() -> None:
    made = items([START + number * HOUR for number in range(10_000)])

    result = plan(made, RetentionPolicy(last=10, daily=7, weekly=4, monthly=6), FAR)
    assert kept(result) == restic(made, RetentionPolicy(last=10, daily=7, weekly=4, monthly=6))
    assert len(result.keep) < 10 + 7 + 4 + 6 + 1
