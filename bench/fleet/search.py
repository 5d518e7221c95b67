"""Search of one tenant among others in the database, beside the embedded store that holds it alone.

python -m fleet.search --size 10000        (in bench/)
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import fleet
from scale import questions

from fleet.database import Cluster, Meter, database
from fleet.figures import Figure, Part, p50, table
from fleet.filling import carry, fill, mark_followed, opened
from fleet.sizes import Sizes
from holdfast.core.model import Caller
from holdfast.engine import Engine
from holdfast.ops.registry import BY_NAME

GOALS = {10_000: 2.0, 100_000: 3.0}


class Asker:
    """Asks an engine that runs in this process, and notes what each answer took, in milliseconds."""

    def __init__(self, engine: Engine, tenant: str, server: Cluster | None = None):
        self._ctx = engine.context(Caller(tenant=tenant))
        self._meter = Meter([os.getpid()], server)
        self.forget()

    def forget(self) -> None:
        self.clock: list[float] = []
        self.processor: list[float] = []
        self.embedded: list[float] = []  # processor time of questions whose vector is there already

    def ask(self, question: str) -> list[str]:
        """The ids that it found."""
        body = {"query": question, "format": "compact"}
        before, began = self._meter.milliseconds(), time.perf_counter()
        answer: Any = BY_NAME["search"].call(self._ctx, body)
        self.clock.append((time.perf_counter() - began) * 1000)
        middle = self._meter.milliseconds()
        BY_NAME["search"].call(self._ctx, body)
        self.processor.append(middle - before)
        self.embedded.append(self._meter.milliseconds() - middle)
        return [one["id"] for one in answer["results"]]


def in_turns(ours: Asker, theirs: Asker, sizes: Sizes) -> float:
    """Ask both the same, in turns, so that a busy neighbour meets both; the share of answers that are the same."""
    asked = questions(sizes.questions)
    for question in asked[:5]:  # what is read once is warm from now on
        ours.ask(f"{question} "), theirs.ask(f"{question} ")
    ours.forget(), theirs.forget()
    same = 0
    for mark in ("", "?", "!")[: sizes.rounds]:
        same += sum(ours.ask(question + mark) == theirs.ask(question + mark) for question in asked)
    return same / (len(asked) * sizes.rounds)


def one_size(server: Cluster, folder: Path, size: int, sizes: Sizes) -> tuple[Figure, tuple[str, str]]:
    tenant, url = f"large-{size}", server.url()
    embedded = opened(folder / f"embedded-{size}")
    fill(embedded, [tenant], size)
    shared = opened(folder / f"server-{size}", url)
    try:
        carry(embedded, [tenant], url, folder)
        mark_followed(embedded), mark_followed(shared)
        embedded.store.compact_words(), shared.store.compact_words()
        server.execute("VACUUM ANALYZE")
        ours, theirs = Asker(shared, tenant, server), Asker(embedded, tenant)
        same = in_turns(ours, theirs, sizes)
    finally:
        shared.close(), embedded.close()
    return _figure(size, ours, theirs, same)


def _figure(size: int, ours: Asker, theirs: Asker, same: float) -> tuple[Figure, tuple[str, str]]:
    ratio, clock = p50(ours.processor) / p50(theirs.processor), p50(ours.clock) / p50(theirs.clock)
    goal = GOALS.get(size)
    figure = Figure(
        f"search, one tenant of {size:,}, PostgreSQL / embedded, p50",
        f"{p50(ours.processor):.1f} / {p50(theirs.processor):.1f} ms; by the clock {p50(ours.clock):.0f} / {p50(theirs.clock):.0f} ms "
        f"({clock:.1f}); {same:.0%} same answers",
        f"{ratio:.2f}",
        "" if goal is None else f"≤ {goal:g}",
        None if goal is None else ratio <= goal,
        f"without the embedding of the question {p50(ours.embedded):.1f} / {p50(theirs.embedded):.1f} ms; some 17 round trips a search",
    )
    return figure, (
        f"searches a second, for each processor, of {size:,} memories",
        f"{1000 / p50(ours.processor):,.0f}",
    )


def measure(server: Cluster, folder: Path, sizes: Sizes) -> Part:
    found = [one_size(server, folder, size, sizes) for size in sizes.search]
    return Part([figure for figure, _ in found], [fact for _, fact in found])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, nargs="+", default=[10_000])
    given = parser.parse_args()
    with database() as server, tempfile.TemporaryDirectory(dir=fleet.work_folder()) as name:
        part = measure(server, Path(name), replace(Sizes(), search=tuple(given.size)))
    sys.stdout.write(table(part.figures) + "\n")


if __name__ == "__main__":
    main()
