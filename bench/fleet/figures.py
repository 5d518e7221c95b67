"""What a measurement hands back: rows of the page's table, and tables of its own."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

MISSED, MET = "missed", "met"


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: what was measured, the figure that the goal is about, and whether it is met."""

    what: str
    measured: str
    figure: str
    goal: str = ""
    met: bool | None = None
    bound: str = ""  # what bounds it

    def line(self) -> str:
        state = "" if self.met is None else MET if self.met else MISSED
        return f"| {self.what} | {self.measured} | {self.figure} | {self.goal} | {state} | {self.bound} |"


@dataclass(frozen=True, slots=True)
class Part:
    """What one measurement found: rows of the table of goals, and facts for sizing as (what, measured)."""

    figures: Sequence[Figure] = ()
    sizing: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = field(default=())


def p50(took: Sequence[float]) -> float:
    return statistics.median(took)


def p99(took: Sequence[float]) -> float:
    return sorted(took)[min(len(took) - 1, int(len(took) * 0.99))]


def table(figures: Sequence[Figure]) -> str:
    head = "| what | measured | figure | goal | | what bounds it |\n|---|---|---|---|---|---|"
    return "\n".join([head, *(one.line() for one in figures)])


def sizing_table(rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join(["| what | measured |", "|---|---|", *(f"| {what} | {measured} |" for what, measured in rows)])
