"""Which snapshots stay: a pure plan, from what is there and the policy.

The rules are restic's: the last N; everything within so many days of the newest; and of each of the N newest days,
weeks (ISO), months and years that have a snapshot the last one. Days begin at midnight UTC. A snapshot stays if one
rule names it. Order is the order of sequence numbers; times only decide in which period a snapshot lies.

Clocks jump, so a time is trusted only as far as the order confirms it:

- *Periods.* A snapshot goes under "N days" only if the very next one is of the same day and not earlier, or if N
  newer ones lie on ever later days, one after the other in sequence, none of them in the future. With clocks that
  never ran backwards this is restic's rule word for word: the newer days are exactly such a chain.
- *Days within.* Age is the sum of the steps from snapshot to snapshot up to the newest, where a step backwards is
  none and no step is longer than a day.

Why no jump removes more:

1. `last` never looks at a time.
2. What goes under N periods has N newer snapshots in N different, later periods that all stay: each link of the
   chain can be exchanged for the last of its period, and the last N links have fewer than N after them. Or its
   successor, of the same period, takes its place.
3. A time in the future is no link, so a clock that ran ahead pushes nothing out once it is set right. A time before
   the predecessor's can only stand in for the link it contradicts, so a chain through one such is no longer than
   without it, and it never takes its predecessor's place. A wrong time that fits the order costs each rule one
   period and its predecessor at most; nothing in the record shows that it is wrong. So of snapshots whose clocks
   were right, k wrong times take at most 2k from each rule, and none if they lie before all others or in the future.
4. A day of age needs a newer snapshot: under "within D days" at least the D newest stay, whatever the clocks,
   and the age is never above the true one. Where snapshots are rarer than daily, more stay than restic would keep.
5. If `now` is behind, all that is later than it is in the future, and more stays. If it is ahead, it is not used.

Damaged snapshots do not count: they keep no good one from being kept, and go only on request, and
only if there is a good one left.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime

from holdfast.core.errors import InvalidRequest
from holdfast.core.times import DAY_MS

_YEAR_10000 = 253_402_300_800_000


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How many to keep by each rule; 0 is no such rule."""

    last: int = 0
    within_days: int = 0
    daily: int = 0
    weekly: int = 0
    monthly: int = 0
    yearly: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 0:
                raise InvalidRequest(f"retention: {field.name} cannot be negative")

    @property
    def empty(self) -> bool:
        return not any(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True, slots=True)
class RetentionItem:
    """What retention knows of a snapshot."""

    id: str
    sequence: int
    created_at: int
    good: bool
    in_use: bool
    automatic: bool
    scheduled: bool = False


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    """What stays and why, and what goes; both newest first."""

    keep: tuple[tuple[str, tuple[str, ...]], ...]
    remove: tuple[str, ...]


def plan(
    items: Sequence[RetentionItem],
    policy: RetentionPolicy,
    now_ms: int,
    automatic_only: bool = False,
    *,
    damaged: bool = False,
) -> RetentionPlan:
    """What the policy keeps and removes.

    With `automatic_only` snapshots that were made by hand stay and take no other's place, and the policy is applied to
    the scheduled ones and to those made before some work apart: however much is done, no scheduled one is pushed out
    by it. With `damaged` damaged ones go too. The newest good one always stays, as does what is in use; an empty
    policy removes no good one.
    """
    ordered = sorted(items, key=lambda item: (item.sequence, item.id))
    good = [item for item in ordered if item.good]
    ruled = [item for item in good if item.automatic or not automatic_only]
    reasons: dict[str, list[str]] = {item.id: [] for item in ordered}
    series = [ruled]
    if automatic_only:
        series = [[item for item in ruled if item.scheduled is scheduled] for scheduled in (True, False)]
    for some in series:
        for name, kept in _named(some, policy, now_ms):
            for item in kept:
                reasons[item.id].append(name)
    for item in ordered:
        reasons[item.id] += _anyway(item, good, policy, automatic_only, damaged)
    newest_first = [item.id for item in reversed(ordered)]
    return RetentionPlan(
        tuple((id, tuple(reasons[id])) for id in newest_first if reasons[id]),
        tuple(id for id in newest_first if not reasons[id]),
    )


def _anyway(
    item: RetentionItem, good: list[RetentionItem], policy: RetentionPolicy, automatic_only: bool, damaged: bool
) -> list[str]:
    """Why a snapshot stays whatever the rules."""
    reasons = []
    if item.in_use:
        reasons.append("in use")
    if automatic_only and not item.automatic:
        reasons.append("by hand")
    if not item.good:
        if not (damaged and good):
            reasons.append("damaged")
        return reasons
    if item is good[-1]:
        reasons.append("newest")
    if policy.empty:
        reasons.append("no rule")
    return reasons


def _named(ruled: list[RetentionItem], policy: RetentionPolicy, now_ms: int) -> list[tuple[str, list[RetentionItem]]]:
    """What each rule of the policy names; the items come oldest first."""
    named = [
        ("last", ruled[-policy.last :] if policy.last else []),
        ("within", _within(ruled, policy.within_days)),
    ]
    for rule, (count, period) in {
        "daily": (policy.daily, _day),
        "weekly": (policy.weekly, _week),
        "monthly": (policy.monthly, _month),
        "yearly": (policy.yearly, _year),
    }.items():
        named.append((rule, _last_of_periods(ruled, count, period, now_ms)))
    return named


def _within(ruled: list[RetentionItem], days: int) -> list[RetentionItem]:
    kept: list[RetentionItem] = []
    age, later = 0, None
    for item in reversed(ruled):
        if later is not None:
            age += min(max(later - item.created_at, 0), DAY_MS)
        if age >= days * DAY_MS:
            break
        kept.append(item)
        later = item.created_at
    return kept


def _last_of_periods(
    ruled: list[RetentionItem], count: int, period: Callable[[int], int], now_ms: int
) -> list[RetentionItem]:
    if not count:
        return []
    kept: list[RetentionItem] = []
    # tails[n]: of all chains of n + 1 ever later periods among those seen, the latest first period, negated: the
    # longest increasing run as it is found by bisection, from the newest to the oldest.
    tails: list[int] = []
    successor: RetentionItem | None = None
    for item in reversed(ruled):
        own = period(item.created_at)
        chain = bisect_left(tails, -own)
        if chain < count and not _takes_its_place(successor, item, own, period):
            kept.append(item)
        if item.created_at <= now_ms:
            tails[chain : chain + 1] = [-own]
        successor = item
    return kept


def _takes_its_place(
    successor: RetentionItem | None, item: RetentionItem, own: int, period: Callable[[int], int]
) -> bool:
    if successor is None or successor.created_at < item.created_at:
        return False
    return period(successor.created_at) == own


def _date(ms: int) -> date:
    return datetime.fromtimestamp(min(max(ms, 0), _YEAR_10000 - 1) // 1000, UTC).date()


def _day(ms: int) -> int:
    return _date(ms).toordinal()


def _week(ms: int) -> int:
    """ISO weeks begin on Monday, as the first day of the calendar's year 1 did."""
    return (_date(ms).toordinal() - 1) // 7


def _month(ms: int) -> int:
    day = _date(ms)
    return day.year * 12 + day.month


def _year(ms: int) -> int:
    return _date(ms).year
