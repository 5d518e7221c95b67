"""Figures of ranked lists against gold: recall, hit, all, reciprocal rank; means with a confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ROUNDS = 2000


@dataclass(frozen=True, slots=True)
class Row:
    """One question under one way of ranking."""

    collection: str
    category: str
    recall5: float
    recall10: float
    any10: float
    all10: float
    mrr: float


FIGURES = ("recall5", "recall10", "any10", "all10", "mrr")


def row(collection: str, category: str, found: Sequence[str], gold: frozenset[str]) -> Row:
    places = [place for place, id in enumerate(found) if id in gold]
    top = sum(place < 10 for place in places)
    return Row(
        collection,
        category,
        recall5=sum(place < 5 for place in places) / len(gold),
        recall10=top / len(gold),
        any10=float(top > 0),
        all10=float(top == len(gold)),
        mrr=1 / (places[0] + 1) if places else 0.0,
    )


def mean(rows: Sequence[Row], figure: str) -> float:
    return float(np.mean([getattr(one, figure) for one in rows]))


def interval(rows: Sequence[Row], figure: str) -> tuple[float, float]:
    """95 % by bootstrap over questions, seeded."""
    values = np.array([getattr(one, figure) for one in rows])
    draws = np.random.default_rng(1).integers(0, len(values), (ROUNDS, len(values)))
    low, high = np.percentile(values[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
