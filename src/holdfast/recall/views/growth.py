"""How a memory grew: what was stored day by day, counted from the index and never by reading the records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.context import CallContext
from holdfast.core.times import DAY_MS
from holdfast.store.port import Condition, Table, where
from holdfast.store.tables import MEMORIES, OBSERVATIONS, SESSIONS

GROWING: tuple[tuple[str, Table[Any]], ...] = (
    ("memories", MEMORIES),
    ("observations", OBSERVATIONS),
    ("sessions", SESSIONS),
)


@dataclass(frozen=True, slots=True)
class Growth:
    """Counts by day, oldest first. `before` counts what is older than the first day."""

    first_day: int  # since 1970, UTC
    days: dict[str, tuple[int, ...]]
    before: dict[str, int]

    @property
    def totals(self) -> dict[str, int]:
        """How many there are of each; what is dated in the future counts as today's."""
        return {name: self.before[name] + sum(counts) for name, counts in self.days.items()}


def growth(ctx: CallContext, days: int, agent: str | None) -> Growth:
    """What the caller may see of the last days, today among them. Of memories only the latest versions count."""
    reader = ctx.store.read()
    today = ctx.clock.now_ms() // DAY_MS
    first = today - days + 1
    by_day: dict[str, tuple[int, ...]] = {}
    before: dict[str, int] = {}
    for name, table in GROWING:
        shown = table is MEMORIES or not ctx.in_chat
        spans = reader.spread(table, ctx.tenant, DAY_MS, *_bounds(ctx, table, agent)) if shown else {}
        counts = [0] * days
        for day, count in spans.items():
            if day >= first:
                counts[min(day, today) - first] += count
        by_day[name] = tuple(counts)
        before[name] = sum(count for day, count in spans.items() if day < first)
    return Growth(first, by_day, before)


def _bounds(ctx: CallContext, table: Table[Any], agent: str | None) -> tuple[Condition, ...]:
    return (*ctx.sees_memories(agent), *where(latest=True)) if table is MEMORIES else ctx.sees(agent)
