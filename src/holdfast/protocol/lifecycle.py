"""How memories age: strength, expiry, summaries, deprecation and purge. Pure: the caller passes the time.

    active ──deprecate──▶ deprecated ──purge, after the grace──▶ gone
       ▲                      │
       └───────restore────────┘       summarised memories stay behind their summary and can be restored as well

Age counts from the last use, not from creation. Permanent and global memories never expire. A plan lists what a run
would do; executing it and planning again at the same moment gives an empty plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from holdfast.core.errors import Conflict, InvalidRequest
from holdfast.core.times import DAY_MS
from holdfast.protocol.terms import (
    LEAST_IMPORTANT,
    MOST_IMPORTANT,
    USUAL_IMPORTANCE,
    MemoryScope,
    MemoryType,
)

State = Literal["active", "folded", "deprecated"]

# As much as each counts in a memory's strength.
_OF_IMPORTANCE, _OF_USE, _OF_RECENCY = 0.4, 0.3, 0.3
_OFTEN = 20  # recalls after which more make no difference


@dataclass(frozen=True, slots=True)
class MemoryLifetime:
    """What decides how a memory ages."""

    id: str
    created_at: int
    last_recalled_at: int | None = None
    recall_count: int = 0
    importance: int = USUAL_IMPORTANCE
    memory_type: str = MemoryType.NORMAL
    scope: str = MemoryScope.PERSONAL
    audience: tuple[str, ...] = ()  # who may see it: only memories of one audience are summarised together
    state: State = "active"
    deprecated_at: int | None = None
    folded_into: str | None = None

    @property
    def last_used_at(self) -> int:
        return max(self.created_at, self.last_recalled_at or 0)

    @property
    def lasts(self) -> bool:
        """Never removed by age."""
        return self.memory_type == MemoryType.PERMANENT or self.scope == MemoryScope.GLOBAL


@dataclass(frozen=True, slots=True)
class LifecycleRules:
    """How fast memories age, and how much one run may do."""

    half_life_ms: int = 14 * DAY_MS
    expire_ms: int = 30 * DAY_MS  # unused for so long, at importance 3
    summarise_ms: int = 14 * DAY_MS
    summarise_recalls: int = 1  # recalled more often than this, a memory is in use and not summarised
    summarise_least: int = 3
    summarise_most: int = 30
    grace_ms: int = 7 * DAY_MS
    per_run: int = 500

    def __post_init__(self) -> None:
        """Refuse rules by which memories would vanish at once or a run would never end."""
        if min(self.half_life_ms, self.expire_ms, self.summarise_ms, self.grace_ms, self.per_run) < 1:
            raise InvalidRequest("lifecycle: every time and the number per run must be at least 1")
        if not 2 <= self.summarise_least <= self.summarise_most:
            raise InvalidRequest("lifecycle: a summary needs two sources at least, and no more than its most")
        if self.per_run < self.summarise_most:
            raise InvalidRequest("lifecycle: a run must have room for the sources of one summary")


def strength(life: MemoryLifetime, rules: LifecycleRules, now: int) -> float:
    """From 0 to 1: how much a memory matters now, by importance, use and time since its last use."""
    importance = (_importance(life) - LEAST_IMPORTANT) / (MOST_IMPORTANT - LEAST_IMPORTANT)
    use = min(math.log1p(max(life.recall_count, 0)) / math.log1p(_OFTEN), 1.0)
    recency = 1.0 if life.lasts else 0.5 ** (_unused(life, now) / rules.half_life_ms)
    return _OF_IMPORTANCE * importance + _OF_USE * use + _OF_RECENCY * recency


def expires_at(life: MemoryLifetime, rules: LifecycleRules) -> int | None:
    """When it expires if it is not used again: the more important, the later. None for what lasts."""
    if life.lasts or life.state != "active":
        return None
    return life.last_used_at + rules.expire_ms * _importance(life) // USUAL_IMPORTANCE


def purged_at(life: MemoryLifetime, rules: LifecycleRules) -> int | None:
    """When it is gone for good; until then it can be restored. None unless it is deprecated."""
    return None if life.deprecated_at is None else life.deprecated_at + rules.grace_ms


# Steps of one memory


def recalled(life: MemoryLifetime, now: int) -> MemoryLifetime:
    """After it was really used. A clock that went back does not make it older."""
    return replace(life, recall_count=life.recall_count + 1, last_recalled_at=max(now, life.last_used_at))


def deprecated(life: MemoryLifetime, now: int) -> MemoryLifetime:
    """Not shown any more; the grace period begins. A second call does not restart it."""
    return life if life.state == "deprecated" else replace(life, state="deprecated", deprecated_at=now)


def summarised(life: MemoryLifetime, summary: str) -> MemoryLifetime:
    """Behind a summary that is stored already, and reachable through it.

    Raises:
        Conflict: it was deprecated, or stands behind another summary.
    """
    if life.state == "folded" and life.folded_into == summary:
        return life
    if life.state != "active" or summary == life.id:
        raise Conflict("only an active memory can be merged into a summary, and not into itself")
    return replace(life, state="folded", folded_into=summary)


def restored(life: MemoryLifetime, rules: LifecycleRules, now: int) -> MemoryLifetime:
    """Active again, and counted as used now: otherwise the next run would deprecate it again.

    Raises:
        Conflict: its grace is over.
    """
    if life.state == "active":
        return life
    if is_purgeable(life, rules, now):
        raise Conflict("the grace period of the memory is over; it can no longer be restored")
    used = max(now, life.last_used_at)
    return replace(life, state="active", deprecated_at=None, folded_into=None, last_recalled_at=used)


def is_purgeable(life: MemoryLifetime, rules: LifecycleRules, now: int) -> bool:
    """Whether its grace is over. A deprecation in the future, by a clock that jumped, has not begun yet."""
    end = purged_at(life, rules)
    return life.state == "deprecated" and end is not None and end <= now


# The plan of one run


@dataclass(frozen=True, slots=True)
class SummaryGroup:
    """Memories of one audience that one summary would replace. They are marked only after it is stored."""

    audience: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LifecyclePlan:
    """What a run would do; the same value is shown by a dry run and carried out by a real one."""

    purge: tuple[str, ...] = ()
    summarise: tuple[SummaryGroup, ...] = ()
    deprecate: tuple[str, ...] = ()
    more: bool = False  # there is more to do than one run may


def plan(lives: Iterable[MemoryLifetime], rules: LifecycleRules, now: int, *, summarise: bool = True) -> LifecyclePlan:
    """What is due now, oldest first, no more than a run may do.

    What can be summarised is summarised before it expires, so that its gist outlives it. Without a model to write
    summaries, `summarise` is False and old memories only expire.
    """
    known = sorted(lives, key=lambda life: (life.last_used_at, life.id))
    summary_groups = list(_summary_groups(known, rules, now)) if summarise else []
    taken = {source for group in summary_groups for source in group.sources}
    purge = [life.id for life in known if is_purgeable(life, rules, now)]
    expired = [life.id for life in known if life.id not in taken and _is_expired(life, rules, now)]
    return _bounded(purge, summary_groups, expired, rules.per_run)


def _bounded(
    purge: Sequence[str], summary_groups: Sequence[SummaryGroup], expired: Sequence[str], room: int
) -> LifecyclePlan:
    now_purged = tuple(purge[:room])
    room -= len(now_purged)
    now_expired = tuple(expired[:room])
    room -= len(now_expired)
    now_summarised: list[SummaryGroup] = []
    for group in summary_groups:
        if len(group.sources) > room:
            break
        room -= len(group.sources)
        now_summarised.append(group)
    more = (len(now_purged), len(now_expired), len(now_summarised)) != (len(purge), len(expired), len(summary_groups))
    return LifecyclePlan(now_purged, tuple(now_summarised), now_expired, more)


def _summary_groups(known: Iterable[MemoryLifetime], rules: LifecycleRules, now: int) -> Iterator[SummaryGroup]:
    """Old and unused memories by audience: a summary is seen by exactly those who saw its sources."""
    by_audience: dict[tuple[str, ...], list[str]] = {}
    for life in known:
        if _can_be_summarised(life, rules, now):
            by_audience.setdefault(tuple(sorted(life.audience)), []).append(life.id)
    for audience, ids in by_audience.items():
        for start in range(0, len(ids), rules.summarise_most):
            sources = tuple(ids[start : start + rules.summarise_most])
            if len(sources) >= rules.summarise_least:
                yield SummaryGroup(audience, sources)


def _can_be_summarised(life: MemoryLifetime, rules: LifecycleRules, now: int) -> bool:
    return (
        life.state == "active"
        and not life.lasts
        and life.scope == MemoryScope.PERSONAL
        and bool(life.audience)
        and life.recall_count <= rules.summarise_recalls
        and _unused(life, now) >= rules.summarise_ms
    )


def _is_expired(life: MemoryLifetime, rules: LifecycleRules, now: int) -> bool:
    end = expires_at(life, rules)
    return end is not None and end <= now


def _unused(life: MemoryLifetime, now: int) -> int:
    """Milliseconds since its last use; a moment in the future is just now."""
    return max(now - life.last_used_at, 0)


def _importance(life: MemoryLifetime) -> int:
    return min(max(life.importance, LEAST_IMPORTANT), MOST_IMPORTANT)


# Memories that cannot both be current

LinkKind = Literal["related", "supports", "context", "supersedes", "contradicts"]


@dataclass(frozen=True, slots=True)
class MemoryLink:
    """A link from source to target: it supersedes it, contradicts it, or is merely related."""

    source: str
    target: str
    kind: LinkKind


@dataclass(frozen=True, slots=True)
class CurrentMemories:
    """What is current, and what was set aside for what."""

    current: tuple[str, ...]
    set_aside: tuple[tuple[str, str], ...]  # memory, and the one that stands instead of it


def settle(lives: Iterable[MemoryLifetime], links: Iterable[MemoryLink]) -> CurrentMemories:
    """Which of the memories may be shown as current, in their order.

    What is superseded by a memory of the list gives way to it, also over several steps; where links run in a circle,
    the newest stays. Of two that contradict each other the newer stays; a memory that gave way displaces no other.
    """
    known = {life.id: life for life in lives}
    newest_first = sorted(known, key=lambda id: (-known[id].created_at, id))
    age = {id: place for place, id in enumerate(newest_first)}
    inside = [link for link in links if link.source != link.target and {link.source, link.target} <= known.keys()]
    above = _above(known, [link for link in inside if link.kind == "supersedes"])
    rivals = _rivals(link for link in inside if link.kind == "contradicts")
    set_aside: dict[str, str] = {}
    current: set[str] = set()
    for id in newest_first:
        over = {one for one in above[id] if id not in above[one] or age[one] < age[id]}
        over |= rivals.get(id, set()) & current
        if over:
            set_aside[id] = min(over, key=lambda one: age[one])
        else:
            current.add(id)
    return CurrentMemories(
        tuple(id for id in known if id in current), tuple((id, set_aside[id]) for id in known if id in set_aside)
    )


def _above(known: Iterable[str], links: Iterable[MemoryLink]) -> dict[str, set[str]]:
    """For each memory all that supersede it, directly or over others; in a circle itself is not among them."""
    direct: dict[str, set[str]] = {id: set() for id in known}
    for link in links:
        direct[link.target].add(link.source)
    return {id: _reached(id, direct) - {id} for id in direct}


def _reached(start: str, direct: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for one in direct[waiting.pop()] - found:
            found.add(one)
            waiting.append(one)
    return found


def _rivals(links: Iterable[MemoryLink]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for link in links:
        found.setdefault(link.source, set()).add(link.target)
        found.setdefault(link.target, set()).add(link.source)
    return found
