"""How much a sentence is worth keeping, and what kind of knowledge it is.

Two small logistic models over the signs of a sentence and, where the local embedder is available, its meaning. Their
weights are a table in the package; bench/agent_day/fit.py fits it, and docs/benchmarks/agent_day.md has how well it
does on turns that it was not fitted on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.core.ports import Vectors
from holdfast.learn.statements.sentence_features import NAMES, SentencePosition, signs
from holdfast.text.sentences import Sentence

Floats = NDArray[np.float64]

KINDS = ("preference", "decision", "rejected", "finding", "fact", "change", "open")
# Only the user's own words become wishes and rules: what a tool or a page said must not.
OF_THE_USER = "preference"
SIGNS_ALONE = "signs alone"


@dataclass(frozen=True, slots=True)
class SentenceWorth:
    """What a sentence amounts to. `worth` is the chance that it is worth keeping, 0 to 1."""

    kind: str
    worth: float


@dataclass(frozen=True, slots=True)
class _Model:
    """One logistic model for "worth keeping" and one for each kind, as a matrix: a row each."""

    signs: Floats
    meaning: Floats | None
    bias: Floats

    def scores(self, rows: Floats, vectors: Vectors | None) -> Floats:
        total: Floats = rows @ self.signs.T + self.bias
        if self.meaning is not None and vectors is not None:
            total = total + vectors.astype(float) @ self.meaning.T
        return total


def weigh(
    said: Sequence[tuple[Sentence, SentencePosition]], vectors: Vectors | None, model: str = ""
) -> list[SentenceWorth]:
    """What each sentence amounts to; `vectors` are those of the named model, a row for each sentence."""
    if not said:
        return []
    rows = np.stack([signs(sentence, setting) for sentence, setting in said])
    scores = _models()[_table_for(model, vectors)].scores(rows, vectors)
    worth = 1 / (1 + np.exp(-scores[:, 0]))
    kinds = [
        _kind(row, _may_wish(seen, setting)) for row, seen, (_, setting) in zip(scores[:, 1:], rows, said, strict=True)
    ]
    return [SentenceWorth(kind, round(float(one), 4)) for kind, one in zip(kinds, worth, strict=True)]


def _kind(scores: Floats, may_wish: bool) -> str:
    order = np.argsort(-scores)
    return next(KINDS[at] for at in order if may_wish or KINDS[at] != OF_THE_USER)


def _may_wish(row: Floats, setting: SentencePosition) -> bool:
    """Whether it can be a standing wish: said by the user, worded as a wish, and no question, order or complaint."""
    seen = dict(zip(NAMES, row, strict=True))
    once = seen["asks"] or seen["complains"] or seen["orders"]
    return setting.in_prompt and bool(seen["wishes"] or (seen["rules"] and not once))


def _table_for(model: str, vectors: Vectors | None) -> str:
    """The table fitted with vectors of this model, by the model's own name; of others only the signs count."""
    own = model.partition("/")[0]
    return own if vectors is not None and own in _models() else SIGNS_ALONE


@cache
def _table() -> Mapping[str, Any]:
    text = (resources.files("holdfast.learn.statements") / "worth.json").read_text(encoding="utf-8")
    table: Mapping[str, Any] = json.loads(text)
    return table


@cache
def _models() -> Mapping[str, _Model]:
    return {name: _model(table) for name, table in _table()["models"].items()}  # by model, and SIGNS_ALONE


def _model(table: Mapping[str, Any]) -> _Model:
    heads = ("worth", *KINDS)
    by_sign = np.array([[table[head]["signs"].get(name, 0.0) for name in NAMES] for head in heads])
    meaning = [table[head].get("meaning") for head in heads]
    bias = np.array([table[head]["bias"] for head in heads])
    return _Model(by_sign, None if any(one is None for one in meaning) else np.array(meaning), bias)
