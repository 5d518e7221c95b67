"""Fits the table that says when a newer statement replaces an older one (src/holdfast/learn/changes.json).

    python bench/agent_day/fit_changes.py            # fit on pairs_dev.jsonl, report on pairs_held_out.jsonl
    python bench/agent_day/fit_changes.py --report   # report alone

The bar is the likelihood that, cross-validated by domain, no pair of two facts that both hold reaches.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from fit import FOLDS, fitted, ranks_right
from holdfast.embedder import embedder_from
from holdfast.learn.changes import Claim, Edit, Nearness, bar, likelihood, signs
from holdfast.learn.values import without_values
from holdfast.model import CleanText
from holdfast.settings import load
from holdfast.system import SystemClock, SystemEntropy

HERE = Path(__file__).parent
TABLE = HERE.parents[1] / "src" / "holdfast" / "learn" / "changes.json"
RIDGE = 0.5
NEAR = ("near", "near with prompt", "near without values")
Array = Any


class Pairs:
    """A file of labelled pairs, and what is computed of them once."""

    def __init__(self, path: Path, embedder: Any):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        self.rows = rows
        self.old = [Claim(row["old"], "", _edits(row["old_edit"])) for row in rows]
        self.new = [Claim(row["new"], row["new_prompt"] or "", _edits(row["edit"])) for row in rows]
        self.near = _nearness(self.old, self.new, embedder)
        self.replaces = np.array([row["replaces"] for row in rows], float)
        self.domains = np.array([row["domain"] for row in rows])

    def matrix(self, names: list[str]) -> Array:
        found = [signs(*one) for one in zip(self.old, self.new, self.near, strict=True)]
        return np.array([[one[name] for name in names] for one in found])


def _edits(row: list[str] | None) -> tuple[Edit, ...]:
    return (Edit(*row),) if row else ()


def _nearness(old: list[Claim], new: list[Claim], embedder: Any) -> list[Nearness]:
    def vectors(texts: list[str]) -> Array:
        return np.asarray(embedder.embed([CleanText(text) for text in texts]))

    before, after = vectors([one.text for one in old]), vectors([one.text for one in new])
    asked = vectors([f"{one.prompt} {one.text}".strip() for one in new])
    bare = vectors([without_values(one.text) for one in old]), vectors([without_values(one.text) for one in new])
    said, with_prompt, subject = (before * after).sum(1), (before * asked).sum(1), (bare[0] * bare[1]).sum(1)
    return [Nearness(*map(float, one)) for one in zip(said, with_prompt, subject, strict=True)]


def names_for(meaning: bool) -> list[str]:
    every = list(signs(Claim("a"), Claim("b"), Nearness()))
    return every if meaning else [name for name in every if name not in NEAR]


def cross_validated(pairs: Pairs, rows: Array) -> Array:
    scores = np.zeros(len(rows))
    domains = sorted(set(pairs.domains))
    for fold in range(FOLDS):
        held = np.isin(pairs.domains, domains[fold::FOLDS])
        weights = fitted(rows[~held], pairs.replaces[~held], np.full(rows.shape[1], RIDGE))
        scores[held] = rows[held] @ weights[:-1] + weights[-1]
    return scores


def fit_one(pairs: Pairs, meaning: bool) -> dict[str, Any]:
    names = names_for(meaning)
    rows = pairs.matrix(names)
    scores = cross_validated(pairs, rows)
    area, precision = ranks_right(scores, pairs.replaces)
    apart = np.sort(scores[pairs.replaces == 0])[::-1]
    found = {wrong: float((scores[pairs.replaces == 1] > apart[wrong]).mean()) for wrong in (0, 1, 2, 4, 8)}
    print(f"cross-validated by domain, {'with meaning' if meaning else 'words alone'}: area {area:.3f}, precision {precision:.3f},"
          f" found at so many wrong ones of {len(apart)}: {found}")
    weights = fitted(rows, pairs.replaces, np.full(rows.shape[1], RIDGE))
    named = {name: round(float(one), 4) for name, one in zip(names, weights, strict=False)}
    return {"bias": round(float(weights[-1]), 4), "bar": round(float(1 / (1 + np.exp(-apart[0]))), 4), "signs": named}


def report(name: str, pairs: Pairs, verbose: bool) -> None:
    for meaning in (False, True):
        nears = pairs.near if meaning else [None] * len(pairs.near)
        chance = np.array([likelihood(*one) for one in zip(pairs.old, pairs.new, nears, strict=True)])
        said = chance >= bar(nears[0])
        right, wrong = said[pairs.replaces == 1], said[pairs.replaces == 0]
        print(f"{name}, {'with meaning' if meaning else 'words alone'}: {int(right.sum())} of {len(right)} changes noticed,"
              f" {int(wrong.sum())} of {len(wrong)} pairs of two facts taken for a change")
        if verbose and meaning:
            for row, one in zip(pairs.rows, said, strict=True):
                if one and not row["replaces"]:
                    print("   wrong:", row["old"], "|", row["new"], "|", row["new_prompt"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="show wrong ones of the half that is fitted on")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        embedder = embedder_from(load({"home": home}), SystemClock(), SystemEntropy())
        assert embedder is not None
        embedder.prepare()
        dev = Pairs(HERE / "data" / "pairs_dev.jsonl", embedder)
        if not given.report:
            models = {"words alone": fit_one(dev, False), "with meaning": fit_one(dev, True)}
            TABLE.write_text(json.dumps({"models": models}, separators=(",", ":")) + "\n")
        report("dev (fitted on it)", dev, given.verbose)
        held_out = HERE / "data" / "pairs_held_out.jsonl"
        if held_out.exists():
            report("held out", Pairs(held_out, embedder), False)


if __name__ == "__main__":
    main()
