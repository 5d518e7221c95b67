"""Scores, figures and the fit: conditional logit by BFGS, with a ridge towards the numbers in use.

Each record that answers competes with all candidates that do not. The numbers stay few and close to those that were
reasoned out: a free additive model over two dozen features was behind them on sets left out (docs/decisions/search.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from ranking.tables import Table

from holdfast.recall.rank import WORDS_RANGE
from holdfast.recall.ranking.ranking_weights import RankingWeights

Array = Any
NAMES = tuple(field.name for field in fields(RankingWeights))
# The numbers as they were before they were fitted, and how far the fit may easily move each.
PRESENT = RankingWeights(words=0.5, lead=1.0, alone=0.0, speaker=0.1, exact=0.2, asking=0.3, own=0.14, number=0.07)
EASY = RankingWeights(words=0.15, lead=0.5, alone=0.3, speaker=0.1, exact=0.15, asking=0.2, own=0.1, number=0.07)
RIDGE = 0.3 / 8
SHARPNESS = 10.0  # of the scores in the logit, before it is fitted
RIVALS = 40  # candidates of a question that are fitted on, the best by the numbers in use
STEPS = 40
_LINEAR = {"alone": "own_meaning", **{name: name for name in ("speaker", "exact", "asking", "own", "number")}}


def scores(table: Table, weights: RankingWeights) -> Array:
    """The score of each candidate, as `rank` makes it, but for tie-breakers."""
    share = weights.words - np.clip(weights.lead * table.lead, -WORDS_RANGE, WORDS_RANGE)[table.of]
    columns = table.columns
    total = share * columns["words"] + (1 - share) * columns["meaning"] + columns["date"]
    for name, column in _LINEAR.items():
        total = total + _sign(name) * getattr(weights, name) * columns[column]
    return total


def figures(table: Table, found: Array) -> Array:
    """R@10 and MRR of each question."""
    asked = table.of[table.gold]
    counts = np.diff(table.start)[asked]
    first = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int)
    rival = np.arange(counts.sum()) - np.repeat(first - table.start[asked], counts)
    places = np.add.reduceat(found[rival] > np.repeat(found[table.gold], counts), first) if len(first) else first
    recall = np.bincount(asked, places < 10, table.questions) / table.golds
    best = np.full(table.questions, np.inf)
    np.minimum.at(best, asked, places)
    return np.stack([recall, np.where(best < 100, 1 / (best + 1), 0.0)], axis=1)


def _sign(name: str) -> int:
    return -1 if name == "asking" else 1


@dataclass(frozen=True, slots=True)
class _Slopes:
    """One table as the fit sees it."""

    table: Table
    answers: Array
    weight: Array  # of each record that answers: a question counts the same however many do
    columns: Array  # what each number is multiplied with; that of `lead` depends on where it is clipped

    @classmethod
    def of(cls, table: Table) -> _Slopes:
        apart = table.columns["words"] - table.columns["meaning"]
        columns = {"words": apart, "lead": -table.lead[table.of] * apart}
        columns |= {name: _sign(name) * table.columns[column] for name, column in _LINEAR.items()}
        answers = np.zeros(len(apart), bool)
        answers[table.gold] = True
        asked = table.of[table.gold]
        weight = 1 / np.bincount(asked, minlength=table.questions)[asked] / table.questions
        return cls(table, answers, weight, np.stack([columns[name] for name in NAMES], axis=1))

    def loss(self, weights: RankingWeights, sharpness: float) -> tuple[float, Array]:
        """The mean of -log of the chance of each answer, and its slope by each number and by log sharpness."""
        table, place = self.table, NAMES.index("lead")
        raw = scores(table, weights)
        powers = np.exp(np.minimum(sharpness * (raw - np.maximum.reduceat(raw, table.start[:-1])[table.of]), 0))
        rivals = powers * ~self.answers
        total = np.maximum(np.add.reduceat(rivals, table.start[:-1]), 1e-30)
        asked = table.of[table.gold]
        answer = np.maximum(powers[table.gold], 1e-30)
        columns = self.columns.copy()
        columns[:, place] *= (np.abs(weights.lead * table.lead) < WORDS_RANGE)[table.of]
        columns = np.column_stack([columns, raw])
        mean = np.add.reduceat(rivals[:, None] * columns, table.start[:-1]) / total[:, None]
        wrong = self.weight * total[asked] / (total[asked] + answer)
        slope = sharpness * (wrong[:, None] * (mean[asked] - columns[table.gold])).sum(0)
        return float((self.weight * np.log1p(total[asked] / answer)).sum()), slope


def fitted(tables: Sequence[Table], free: Sequence[str], ridge: float = RIDGE) -> RankingWeights:
    """The numbers for these tables, each family with the same weight; those not in `free` stay as they are."""
    pieces = [_Slopes.of(one.pruned(scores(one, PRESENT), RIVALS)) for one in tables if len(one.gold)]
    parts = _parts(tables)
    moved = np.array([name in free for name in NAMES])
    middle = np.array([getattr(PRESENT, name) for name in NAMES])
    easy = np.array([getattr(EASY, name) for name in NAMES])

    def numbers(at: Array) -> RankingWeights:
        return replace(PRESENT, **dict(zip(NAMES, (middle + easy * at[:-1] * moved).tolist(), strict=True)))

    def loss(at: Array) -> tuple[float, Array]:
        total, slope = ridge * float(at[:-1] @ at[:-1]), 2 * ridge * np.append(at[:-1], 0)
        weights, sharpness = numbers(at), SHARPNESS * float(np.exp(at[-1]))
        for piece in pieces:
            part = parts[piece.table.set, piece.table.collection]
            own, steps = piece.loss(weights, sharpness)
            total += part * own
            slope = slope + part * np.append(steps[:-1] * easy * moved, steps[-1])
        return total, slope

    return numbers(_lowest(loss, len(NAMES) + 1))


def _parts(tables: Sequence[Table]) -> dict[tuple[str, str], float]:
    """The weight of each table: families alike, in them sets alike, in these questions or kinds of data alike."""
    found = {}
    families = {one.family for one in tables}
    for one in tables:
        sets = {other.set for other in tables if other.family == one.family}
        beside = [other.questions for other in tables if other.set == one.set]
        found[one.set, one.collection] = one.questions / sum(beside) / len(sets) / len(families)
    return found


def _lowest(loss: Any, size: int) -> Array:
    at, curve = np.zeros(size), np.eye(size)
    value, slope = loss(at)
    for _ in range(STEPS):
        step, part = -curve @ slope, 1.0
        while True:
            below, steeper = loss(at + part * step)
            if below <= value + 1e-4 * part * (slope @ step) or part < 1e-4:
                break
            part /= 2
        if part < 1e-4:
            break
        moved, change = part * step, steeper - slope
        if moved @ change > 1e-12:
            left = np.eye(size) - np.outer(moved, change) / (moved @ change)
            curve = left @ curve @ left.T + np.outer(moved, moved) / (moved @ change)
        gained = value - below
        at, value, slope = at + moved, below, steeper
        if gained < 1e-6:
            break
    return at
