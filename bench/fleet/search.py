"""Search of one tenant among others in the database, beside the embedded store that holds it alone.

    python -m fleet.search --size 10000        (in bench/)
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import fleet
from scale import questions

from fleet.database import Cluster, database
from fleet.figures import Figure, Part, p50, p99, table
from fleet.filling import carry, fill, mark_followed, opened
from fleet.sizes import Sizes
from holdfast.core.model import Caller
from holdfast.engine import Engine
from holdfast.ops.registry import BY_NAME

GOALS = {10_000: 2.0, 100_000: 3.0}


class Asker:
    """Asks an engine that runs in this process, and notes how long each answer took, by the clock."""

    def __init__(self, engine: Engine, tenant: str):
        self._ctx = engine.context(Caller(tenant=tenant))
        self.new: list[float] = []  # milliseconds, of questions that have to be embedded
        self.again: list[float] = []  # of those whose vector is there

    def ask(self, question: str) -> list[str]:
        """The ids that it found."""
        body = {"query": question, "format": "compact"}
        for took in (self.new, self.again):
            began = time.perf_counter()
            answer: Any = BY_NAME["search"].call(self._ctx, body)
            took.append((time.perf_counter() - began) * 1000)
        return [one["id"] for one in answer["results"]]


def in_turns(ours: Asker, theirs: Asker, sizes: Sizes) -> float:
    """Ask both the same, in turns, so that a busy neighbour meets both; the share of answers that are the same."""
    asked = questions(sizes.questions)
    for question in asked[:5]:  # what is read once is warm from now on
        ours.ask(f"{question} "), theirs.ask(f"{question} ")
    for one in (ours, theirs):
        one.new.clear(), one.again.clear()
    same = 0
    for mark in ("", "?", "!")[: sizes.rounds]:
        same += sum(ours.ask(question + mark) == theirs.ask(question + mark) for question in asked)
    return same / (len(asked) * sizes.rounds)


def one_size(server: Cluster, folder: Path, size: int, sizes: Sizes) -> Figure:
    tenant, url = f"large-{size}", server.url()
    embedded = opened(folder / f"embedded-{size}")
    fill(embedded, [tenant], size)
    shared = opened(folder / f"server-{size}", url)
    try:
        carry(embedded, [tenant], url, folder)
        mark_followed(embedded), mark_followed(shared)
        embedded.store.compact_words(), shared.store.compact_words()
        server.execute("ANALYZE")
        ours, theirs = Asker(shared, tenant), Asker(embedded, tenant)
        same = in_turns(ours, theirs, sizes)
    finally:
        shared.close(), embedded.close()
    ratio, again = p50(ours.new) / p50(theirs.new), p50(ours.again) / p50(theirs.again)
    goal = GOALS.get(size)
    measured = f"{p50(ours.new):.1f} / {p50(theirs.new):.1f} ms, p99 {p99(ours.new):.1f} / {p99(theirs.new):.1f}"
    return Figure(
        f"search, one tenant of {size:,}, PostgreSQL / embedded",
        f"{measured}; without the question's embedding {p50(ours.again):.1f} / {p50(theirs.again):.1f} ms ({again:.2f}); {same:.0%} same answers",
        f"{ratio:.2f}",
        "" if goal is None else f"≤ {goal:g}",
        None if goal is None else ratio <= goal,
    )


def measure(server: Cluster, folder: Path, sizes: Sizes) -> Part:
    return Part([one_size(server, folder, size, sizes) for size in sizes.search])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, nargs="+", default=[10_000])
    given = parser.parse_args()
    with database() as server, tempfile.TemporaryDirectory(dir=fleet.ROOT) as name:
        part = measure(server, Path(name), replace(Sizes(), search=tuple(given.size)))
    sys.stdout.write(table(part.figures) + "\n")


if __name__ == "__main__":
    main()
