"""What is found through REST on PostgreSQL, beside the embedded store: the same texts, questions and embedding model.

python -m fleet.quality [--locomo FILE]        (in bench/)
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import fleet
import httpx
import sets
from intake import Server
from measure import Row, interval, mean
from through import ask, remember, settle

from fleet.clients import QUIET
from fleet.database import Cluster, create_database, database
from fleet.figures import Figure, Part, table
from fleet.sizes import Sizes

GOAL = 0.01


def rows_of(server: Server, collections: Sequence[sets.Collection]) -> list[Row]:
    """A row for each question, at the level of turns."""
    rows: list[Row] = []
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=120, trust_env=False) as http:
        known = [remember(http, collection) for collection in collections]
        settle(http, sum(len(collection.documents) for collection in collections))
        for collection, ids in zip(collections, known, strict=True):
            rows += ask(http, collection, ids)[0]
    return rows


def measure(server: Cluster, folder: Path, sizes: Sizes) -> Part:
    if sizes.locomo is not None:
        collections = sets.locomo(sizes.locomo)
        name = f"LoCoMo ({len(collections)} conversations)"
    else:
        name, collections = "conversations with an assistant", sets.assistant()
    if sizes.rounds == 1:
        collections = collections[:1]
    found: list[list[Row]] = []
    for place, url in (("shared", create_database(server, "quality")), ("embedded", "")):
        one = Server(folder / place, HOLDFAST_STORE=url, **QUIET)
        try:
            found.append(rows_of(one, collections))
        finally:
            one.stop()
    ours, theirs = found
    same = sum(one == other for one, other in zip(ours, theirs, strict=True)) / len(ours)
    low, high = interval(theirs, "recall10")
    figures = []
    for what, key in (("R@10", "recall10"), ("MRR", "mrr")):
        difference = mean(ours, key) - mean(theirs, key)
        figures.append(
            Figure(
                f"{what} through REST, {name}, PostgreSQL − embedded",
                f"{mean(ours, key):.4f} − {mean(theirs, key):.4f}, {len(ours):,} questions, {same:.1%} of them alike",
                f"{difference:+.4f}",
                f"within {GOAL}",
                abs(difference) <= GOAL,
            )
        )
    return Part(figures, notes=[f"Retrieval: the 95 % interval of R@10 over questions is {low:.3f} to {high:.3f}."])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--locomo", type=Path)
    given = parser.parse_args()
    with database() as server, tempfile.TemporaryDirectory(dir=fleet.work_folder()) as name:
        part = measure(server, Path(name), replace(Sizes(), locomo=given.locomo))
    sys.stdout.write(table(part.figures) + "\n")


if __name__ == "__main__":
    main()
