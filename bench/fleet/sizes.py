"""How large a run is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Sizes:
    """The goals are about the sizes that stand here; `QUICK` is for work on the measurements themselves."""

    search: tuple[int, ...] = (10_000, 100_000)
    questions: int = 40
    tenants: int = 1_000
    memories: int = 1_000  # of each of them
    templates: int = 20  # different ones among them
    sampled: int = 200  # tenants that are searched by a server that never saw them
    seconds: float = 8.0  # of each load
    rounds: int = 3
    captured: int = 100_000  # memories
    locomo: Path | None = None


QUICK = Sizes(
    search=(2_000,),
    questions=10,
    tenants=40,
    memories=200,
    templates=2,
    sampled=10,
    seconds=2.0,
    rounds=1,
    captured=5_000,
)
