"""Fits the numbers of the ranking (recall/ranking/ranking.json) and says how they do on sets that were left out.

    python bench/ranking/run.py [--cache FOLDER] [--locomo FILE] [--chats FILE ...] [--report]

Writes the numbers and docs/benchmarks/ranking.md; with --report the page alone. A form of the ranking is taken for a
model if the mean of R@10 and MRR over the sets left out rises by GAIN over that of the simpler form. Vectors and tables
are kept in the cache.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import quality
from ranking.model import NAMES, PRESENT, figures, fitted, scores
from ranking.page import page
from ranking.tables import Table, tables

from holdfast.index import BERTS
from holdfast.recall.ranking.ranking_weights import RankingWeights

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = ROOT / "src" / "holdfast" / "recall" / "ranking" / "ranking.json"
PAGE = ROOT / "docs" / "benchmarks" / "ranking.md"
OWN = ("assistant", "assistant-long", "coding", "library", "manual")
FAMILIES = {"assistant-long": "assistant"}
FORMS = {"as reasoned": (), "fitted": tuple(name for name in NAMES if name != "alone"), "fitted, own meaning": NAMES}
GAIN = 0.005
Array = Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was found for one model."""

    taken: str
    weights: RankingWeights
    tables: list[Table]
    by_set: dict[str, dict[str, Array]]  # form, set: R@10 and MRR of each question, with numbers of the other families
    by_talk: dict[str, Array]  # set: the same by the form taken, with numbers of all other conversations


def measured(every: Sequence[Table]) -> Outcome:
    """Fit each form with each family of sets left out, and take the last that gains."""
    by_set = {form: _without(every, free, talks=False) for form, free in FORMS.items()}
    taken, best = "", 0.0
    for form, found in by_set.items():
        worth = float(np.mean([rows.mean() for rows in found.values()]))
        if not taken or worth > best + GAIN:
            taken, best = form, worth
    weights = fitted(every, FORMS[taken])
    return Outcome(taken, weights, list(every), by_set, _without(every, FORMS[taken], talks=True))


def _without(every: Sequence[Table], free: Sequence[str], talks: bool) -> dict[str, Array]:
    """The figures of the questions of each set, with numbers fitted on the other families.

    With `talks` on the other conversations of the set as well.
    """
    found: dict[str, list[Array]] = {}
    known: dict[tuple[str, ...], RankingWeights] = {}
    for one in every:
        name = (one.set, one.collection) if talks else (one.family,)
        if name not in known:
            others = [other for other in every if other.family != one.family or (talks and _is_other_talk(one, other))]
            known[name] = fitted(others, free) if free else PRESENT
        found.setdefault(one.set, []).append(figures(one, scores(one, known[name])))
    return {name: np.concatenate(rows) for name, rows in found.items()}


def _is_other_talk(one: Table, other: Table) -> bool:
    return other.set == one.set and other.collection != one.collection


def collected(model: str, cache: Path, locomo: Path, chats: Sequence[Path]) -> list[Table]:
    """The tables of all sets that are there."""
    chosen = [*(["locomo"] if locomo.is_file() else []), *OWN]
    groups = quality.collections(chosen, locomo, Path(), [path for path in chats if path.is_file()])
    found = []
    for name, collections in groups.items():
        several = name in ("coding", "library", "assistant-long")  # kinds of data, and no conversations of one kind
        for one in collections:
            family = FAMILIES.get(name, name)
            found += tables(model, one.name if several else name, family, [one], cache)
        sys.stderr.write(f"{model}: {name}\n")
    return found


def _write(outcomes: Mapping[str, Outcome]) -> None:
    rows = []
    for label, one in outcomes.items():
        numbers = {name: round(value, 3) for name, value in asdict(one.weights).items()}
        rows.append(f"  {json.dumps(label)}: {json.dumps(numbers)}")
    NUMBERS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def main() -> None:
    shared = ROOT.parent / "shared" / "bench"
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "holdfast-ranking")
    options.add_argument("--locomo", type=Path, default=shared / "locomo_first5.json")
    options.add_argument(
        "--chats", type=Path, nargs="*", default=[shared / "realtalk_half.json", shared / "beam100k_half.json"]
    )
    options.add_argument("--report", action="store_true")
    given = options.parse_args()
    outcomes = {}
    for model in BERTS:
        every = collected(model.key, given.cache, given.locomo, given.chats)
        outcomes[model.label] = measured(every)
    if not given.report:
        _write(outcomes)
    PAGE.write_text(page(outcomes), encoding="utf-8")


if __name__ == "__main__":
    main()
