"""The numbers of the ranking, fitted for each local model: ranking.json, which `make rank` writes.

Models differ in how far their vectors can be trusted, so each has numbers of its own. How each set of questions does
with numbers that were fitted without it is in docs/benchmarks/ranking.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources

USUAL = "all-MiniLM-L6-v2"  # whose numbers hold for a model that has none


@dataclass(frozen=True, slots=True)
class RankingWeights:
    """What each part of a score counts."""

    words: float  # share of the words, where the best by meaning leads as usual
    lead: float  # how much less for each unit of a clearer lead
    alone: float  # of the record's own meaning, beside that with its neighbours
    speaker: float
    exact: float
    asking: float
    own: float
    number: float


@cache
def weights_of(model: str) -> RankingWeights:
    """The numbers for vectors of the named model; "" if there are none."""
    table = _table()
    return table.get(model.partition("/")[0], table[USUAL])


@cache
def _table() -> Mapping[str, RankingWeights]:
    text = (resources.files("holdfast.recall.ranking") / "ranking.json").read_text(encoding="utf-8")
    names = [field.name for field in fields(RankingWeights)]
    return {model: RankingWeights(*(float(row[name]) for name in names)) for model, row in json.loads(text).items()}
