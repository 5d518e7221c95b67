"""What the ranking knows of each question's candidates, as tables that numbers can be fitted on; kept on disk.

A table is made again when the set, the model or the code that makes it changes.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pool
import quality
from measure import row as measured
from sets import Collection

from holdfast.recall import rank, signals
from holdfast.recall.ranking import neighbours
from holdfast.recall.rank import RowFeatures

Array = Any
COLUMNS = tuple(field.name for field in fields(RowFeatures))
SIMPLE = ("FTS5", "FTS5, no stop-words", "vectors", "RRF 60", "convex 0.5")
DEPTH = 100
_CODE = (rank, neighbours, signals, pool)


@dataclass(frozen=True)
class Table:
    """The candidates of the questions of one collection, question by question."""

    family: str  # sets of one family have the same questions or texts
    set: str
    collection: str
    columns: dict[str, Array]
    start: Array  # the first candidate of each question, and the end
    gold: Array  # the places of candidates that answer
    golds: Array  # how many records answer each question
    simple: dict[str, Array]  # R@10 and MRR of each question, by each simpler way

    @property
    def questions(self) -> int:
        return len(self.golds)

    @cached_property
    def of(self) -> Array:
        """The question of each candidate."""
        return np.repeat(np.arange(self.questions), np.diff(self.start))

    @cached_property
    def lead(self) -> Array:
        """How much clearer than usual the best by meaning leads, for each question."""
        meaning = self.columns["meaning"]
        leads = [rank.lead_of(meaning[first:end]) for first, end in zip(self.start, self.start[1:], strict=False)]
        return np.array(leads) - rank.LEAD_USUAL

    def pruned(self, scores: Array, most: int) -> Table:
        """The same with only the best candidates of each question, and those that answer."""
        answers = np.zeros(len(scores), bool)
        answers[self.gold] = True
        order = np.lexsort((-scores, self.of))
        place = np.empty(len(scores), int)
        place[order] = np.arange(len(scores)) - self.start[self.of]
        kept = answers | (place < most)
        columns = {name: values[kept] for name, values in self.columns.items()}
        start = np.concatenate([[0], np.cumsum(np.add.reduceat(kept, self.start[:-1]))])
        gold = np.flatnonzero(answers[kept])
        return Table(self.family, self.set, self.collection, columns, start, gold, self.golds, self.simple)


def tables(model: str, group: str, family: str, collections: Sequence[Collection], folder: Path) -> Iterator[Table]:
    """The tables of one set, from disk where they are there and current."""
    vectors: quality.Vectors | None = None
    for collection in collections:
        path = folder / "tables" / f"{_key(model, collection)}.npz"
        if not path.exists():
            vectors = vectors or quality.Vectors(folder / "vectors", model)
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, **_made(collection, vectors))
        with np.load(path) as held:
            columns = {name: held[name].astype(float) for name in COLUMNS}
            simple = {way: held[f"by {way}"] for way in SIMPLE}
            yield Table(family, group, collection.name, columns, held["start"], held["gold"], held["golds"], simple)


def _key(model: str, collection: Collection) -> str:
    asked = [(query.text, sorted(query.gold)) for query in collection.queries]  # a set is written in any order
    digest = hashlib.sha256(f"{model}\n{collection.name}\n{collection.documents!r}\n{asked!r}".encode())
    for module in _CODE:
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:32]


def _made(collection: Collection, vectors: quality.Vectors) -> dict[str, Array]:
    store = pool.Store(collection, vectors.in_parts([document.text for document in collection.documents]))
    asked = vectors.of_questions([query.text for query in collection.queries])
    columns: dict[str, list[Array]] = {name: [] for name in COLUMNS}
    simple: dict[str, list[tuple[float, float]]] = {f"by {way}": [] for way in SIMPLE}
    start, gold = [0], []
    ways = quality.ways(DEPTH)
    for query, vector in zip(collection.queries, asked, strict=True):
        known, ids = _features(store, query.text, vector)
        for name in COLUMNS:
            columns[name].append(getattr(known, name).astype(np.float32))
        gold += [start[-1] + place for place, id in enumerate(ids) if id in query.gold]
        start.append(start[-1] + len(ids))
        for way in SIMPLE:
            found = measured("", "", ways[way](store, query.text, vector), query.gold)
            simple[f"by {way}"].append((found.recall10, found.mrr))
    joined = {name: np.concatenate(values) for name, values in columns.items()}
    golds = np.array([len(query.gold) for query in collection.queries])
    return {**joined, "start": np.array(start), "gold": np.array(gold, int), "golds": golds, **_arrays(simple)}


def _arrays(lists: dict[str, list[tuple[float, float]]]) -> dict[str, Array]:
    return {name: np.array(values) for name, values in lists.items()}


def _features(store: pool.Store, question: str, vector: Array) -> tuple[RowFeatures, list[str]]:
    asked = store.asked(question)
    candidates = store.candidates(asked.terms, vector, DEPTH)
    rows = sorted(candidates, key=lambda row: (row.session or "", row.at, row.seq))
    moments = np.array([row.at for row in rows])
    known = rank.features(asked, rows, moments, store.corpus(asked.terms))
    return known, [store.documents[row.seq - 1].id for row in rows]
