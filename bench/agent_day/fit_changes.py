"""Fits the table that says when a newer statement replaces an older one (src/holdfast/learn/statements/changes.json).

    python bench/agent_day/fit_changes.py            # fit on pairs_dev.jsonl, report on pairs_held_out.jsonl
    python bench/agent_day/fit_changes.py --report   # report alone

What counts as replaced, and what as perhaps outdated, needs evidence beside its likelihood: see holdfast.learn.statements.changes.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from fit import FOLDS, fitted, ranks_right

from agent_day.played import dev_pairs
from holdfast.core.model import CleanText
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.embedder import embedder_from
from holdfast.learn.statements.change_features import Similarity, signs
from holdfast.learn.statements.changes import of_two_things, verdict
from holdfast.learn.statements.edits import Claim, Edit
from holdfast.learn.statements.supersession import _comparable, _near_enough
from holdfast.learn.statements.values import without_values
from holdfast.settings import load

HERE = Path(__file__).parent
TABLE = HERE.parents[1] / "src" / "holdfast" / "learn" / "statements" / "changes.json"
RIDGE = 1.0
STRANGERS = 1_500
# For telling the older one below the newer: also learnt from the pairs of the dev scenarios, of which few are changes.
TELLING_RIDGE, CHANGED_WEIGHT, OTHER_WEIGHT = 5.0, 3.0, 0.3
NEAR = ("near", "near with prompt", "near without values")
Array = Any


class Pairs:
    """Labelled pairs, and what is computed of them once."""

    def __init__(self, rows: list[dict[str, Any]], embedder: Any):
        self.rows = rows
        self.old = [Claim(row["old"], "", _edits(row["old_edit"])) for row in rows]
        self.new = [Claim(row["new"], row["new_prompt"] or "", _edits(row["edit"])) for row in rows]
        self.near = _nearness(self.old, self.new, embedder)
        self.replaces = np.array([row["replaces"] for row in rows], float)
        self.two_things = np.array([of_two_things(*one) for one in zip(self.old, self.new, strict=True)])
        self.domains = np.array([row["domain"] for row in rows])

    def matrix(self, names: list[str]) -> Array:
        found = [signs(*one) for one in zip(self.old, self.new, self.near, strict=True)]
        return np.array([[one[name] for name in names] for one in found])


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def strangers(path: Path, most: int) -> list[dict[str, Any]]:
    """Pairs of statements of one domain that have nothing to do with each other: nearly all pairs of a real memory."""
    chance = random.Random(7)
    by_domain: dict[str, list[tuple[str, str, str]]] = {}
    for turn in rows_of(path):
        for key, prompt in (("prompt_labels", ""), ("answer_labels", turn["prompt"])):
            for text, label in turn[key]:
                if label != "none" or chance.random() < 0.15:
                    by_domain.setdefault(turn["domain"], []).append((turn["id"], text, prompt))
    every = [
        (domain, old, new) for domain, said in by_domain.items() for old in said for new in said if old[0] < new[0]
    ]
    return [
        {
            "old": old[1],
            "new": new[1],
            "new_prompt": new[2],
            "edit": None,
            "old_edit": None,
            "replaces": False,
            "domain": domain,
        }
        for domain, old, new in chance.sample(every, min(most, len(every)))
    ]


def _edits(row: list[str] | None) -> tuple[Edit, ...]:
    return (Edit(*row),) if row else ()


def _nearness(old: list[Claim], new: list[Claim], embedder: Any) -> list[Similarity]:
    def vectors(texts: list[str]) -> Array:
        once = list(dict.fromkeys(texts))
        made = np.asarray(embedder.embed([CleanText(text) for text in once]))
        return made[[place[text] for text in texts]] if (place := {text: at for at, text in enumerate(once)}) else made

    before, after = vectors([one.text for one in old]), vectors([one.text for one in new])
    asked = vectors([f"{one.prompt} {one.text}".strip() for one in new])
    bare = vectors([without_values(one.text) for one in old]), vectors([without_values(one.text) for one in new])
    said, with_prompt, subject = (before * after).sum(1), (before * asked).sum(1), (bare[0] * bare[1]).sum(1)
    return [Similarity(*map(float, one)) for one in zip(said, with_prompt, subject, strict=True)]


class PlayedPairs:
    """Pairs of the scenarios that are compared at all, by scenario."""

    def __init__(self, embedder: Any, names: list[str]):
        every = list(dev_pairs())
        near = _nearness([old for _, old, _, _ in every], [new for _, _, new, _ in every], embedder)
        rows = [
            (*one, close)
            for one, close in zip(every, near, strict=True)
            if one[3]
            or _comparable(one[1].text, one[2])
            or _near_enough(one[1].text, one[2].text, max(close.said, close.asked))
        ]
        rows = [one for one in rows if one[3] or not of_two_things(one[1], one[2])]
        self.scenarios = np.array([name for name, *_ in rows])
        self.old = [old.text for _, old, _, _, _ in rows]
        self.replaces = np.array([float(changed) for _, _, _, changed, _ in rows])
        found = [signs(old, new, close) for _, old, new, _, close in rows]
        self.matrix = np.array([[one[name] for name in names] for one in found])
        self.counts = np.where(self.replaces > 0, CHANGED_WEIGHT, OTHER_WEIGHT)


def fit_telling(pairs: Pairs, embedder: Any) -> dict[str, Any]:
    """The model for what is told below a newer statement, and how it does on each scenario without having seen it."""
    names = names_for(True)
    played, rows = PlayedPairs(embedder, names), pairs.matrix(names)
    ridge = np.full(len(names), TELLING_RIDGE)

    def weights_without(held: Array) -> Array:
        kept = ~held
        every, wanted = np.vstack([rows, played.matrix[kept]]), np.append(pairs.replaces, played.replaces[kept])
        return fitted(every, wanted, ridge, np.append(np.ones(len(rows)), played.counts[kept]))

    scores = np.zeros(len(played.old))
    for name in sorted(set(played.scenarios)):
        held = played.scenarios == name
        weights = weights_without(held)
        scores[held] = played.matrix[held] @ weights[:-1] + weights[-1]
    _report_telling(played, 1 / (1 + np.exp(-scores)))
    weights = weights_without(np.zeros(len(played.old), bool))
    named = {name: round(float(one), 4) for name, one in zip(names, weights, strict=False)}
    return {"bias": round(float(weights[-1]), 4), "signs": named}


def _report_telling(played: PlayedPairs, chances: Array) -> None:
    best: dict[tuple[str, str], tuple[float, bool]] = {}
    for key, chance, changed in zip(
        zip(played.scenarios, played.old, strict=True), chances, played.replaces, strict=True
    ):
        before = best.get(key, (0.0, False))
        best[key] = max(before[0], float(chance)), before[1] or bool(changed)
    for bar in (0.1, 0.15, 0.2, 0.3):
        right = [chance >= bar for chance, changed in best.values() if changed]
        wrong = [chance >= bar for chance, changed in best.values() if not changed]
        print(
            f"telling, each scenario held out, from {bar} on: {sum(right)} of {len(right)} outdated sentences,"
            f" {sum(wrong)} of {len(wrong)} others"
        )


def names_for(meaning: bool) -> list[str]:
    every = list(signs(Claim("a"), Claim("b"), Similarity()))
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
    scores[pairs.two_things] = -99.0
    area, precision = ranks_right(scores, pairs.replaces)
    apart = np.sort(scores[pairs.replaces == 0])[::-1]
    found = {wrong: float((scores[pairs.replaces == 1] > apart[wrong]).mean()) for wrong in (0, 1, 2, 4, 8)}
    print(
        f"cross-validated by domain, {'with meaning' if meaning else 'words alone'}: area {area:.3f}, precision {precision:.3f},"
        f" found at so many wrong ones of {len(apart)}: {found}"
    )
    weights = fitted(rows, pairs.replaces, np.full(rows.shape[1], RIDGE))
    named = {name: round(float(one), 4) for name, one in zip(names, weights, strict=False)}
    return {"bias": round(float(weights[-1]), 4), "signs": named}


def report(name: str, pairs: Pairs, verbose: bool) -> None:
    for meaning in (False, True):
        nears = pairs.near if meaning else [None] * len(pairs.near)
        said = np.array([verdict(*one) for one in zip(pairs.old, pairs.new, nears, strict=True)])
        for how, verdicts in (("replaced", ["replaced"]), ("replaced or newer", ["replaced", "newer"])):
            right, wrong = (np.isin(said[pairs.replaces == truth], verdicts) for truth in (1, 0))
            print(
                f"{name}, {'with meaning' if meaning else 'words alone'}, {how}: {int(right.sum())} of {len(right)} changes"
                f" noticed, {int(wrong.sum())} of {len(wrong)} pairs of two facts taken for a change"
            )
        if verbose and meaning:
            for row, one in zip(pairs.rows, said, strict=True):
                if one == "replaced" and not row["replaces"]:
                    print("   wrong:", row["old"], "|", row["new"], "|", row["new_prompt"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--telling", action="store_true", help="fit the model for telling alone")
    parser.add_argument("--verbose", action="store_true", help="show wrong ones of the half that is fitted on")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        embedder = embedder_from(load({"home": home}), SystemClock(), SystemEntropy())
        assert embedder is not None
        embedder.prepare()
        labelled = rows_of(HERE / "data" / "pairs_dev.jsonl")
        dev = Pairs(labelled, embedder)
        if given.telling:
            table = json.loads(TABLE.read_text())
            table["models"]["telling"] = fit_telling(dev, embedder)
            TABLE.write_text(json.dumps(table, separators=(",", ":")) + "\n")
            return
        wide = Pairs([*labelled, *strangers(HERE / "data" / "turns_dev.jsonl", STRANGERS)], embedder)
        if not given.report:
            models = {
                "words alone": fit_one(wide, False),
                "with meaning": fit_one(wide, True),
                "telling": fit_telling(dev, embedder),
            }
            TABLE.write_text(json.dumps({"models": models}, separators=(",", ":")) + "\n")
        report("dev (fitted on it)", dev, given.verbose)
        held_out = HERE / "data" / "pairs_held_out.jsonl"
        if held_out.exists():
            report("held out", Pairs(rows_of(held_out), embedder), False)
            unrelated = strangers(HERE / "data" / "turns_held_out.jsonl", STRANGERS)
            report("held out, strangers", Pairs(unrelated, embedder), False)


if __name__ == "__main__":
    main()
