"""Fits the table by which sentences are weighed (src/holdfast/learn/statements/worth.json) and tells how well it does.

    python bench/agent_day/fit.py [--embedder minilm|gte-small]            # fit, and report on turns_held_out.jsonl
    python bench/agent_day/fit.py [--embedder minilm|gte-small] --report   # report alone

Logistic regression with a ridge, by Newton's method; cross-validated by domain on the half that it is fitted on. What
is worth keeping is also learnt from the scenarios of the dev half: sentences that state gold, and those of chores.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agent_day.played import dev_sentences
from holdfast.core.model import CleanText
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.embedder import embedder_from
from holdfast.index import LOCAL_MODELS
from holdfast.learn.statements.sentence_features import NAMES, SentencePosition, signs
from holdfast.learn.statements.worth import KINDS, weigh
from holdfast.settings import load
from holdfast.text.sentences import Sentence

HERE = Path(__file__).parent
TABLE = HERE.parents[1] / "src" / "holdfast" / "learn" / "statements" / "worth.json"
# Larger: fewer signs count. Chosen by cross-validation on the half that is fitted on.
RIDGE_SIGNS = 1.0
RIDGE_MEANING = {"minilm": 4.0, "gte-small": 0.7}  # whose stored vectors are shorter
FOLDS = 8
# Chores repeat the same sentences with other words, so each counts less.
CHORE_WEIGHT = 0.3
FITTED, HELD_OUT = ("turns_dev.jsonl", "turns_more.jsonl"), "turns_held_out.jsonl"
Array = Any


class Labelled:
    """The sentences of a file of labelled turns, and what is computed of them once."""

    def __init__(self, embedder: Any, *names: str):
        lines = [line for name in names for line in (HERE / "data" / name).read_text().splitlines()]
        rows = [row for line in lines for row in _rows(json.loads(line))]
        self.said = [(sentence, setting) for _domain, sentence, setting, _label in rows]
        self.domains = np.array([domain for domain, *_ in rows])
        self.labels = np.array([label for *_, label in rows])
        self.signs = np.stack([signs(*one) for one in self.said])
        self.vectors = np.asarray(embedder.embed([CleanText(one.text) for one, _ in self.said]))

    @property
    def worth(self) -> Array:
        return (self.labels != "none").astype(float)


class Played:
    """Sentences of the dev scenarios, labelled by their gold."""

    def __init__(self, embedder: Any):
        rows = list(dev_sentences())
        self.worth = np.array([float(is_gold) for *_, is_gold in rows])
        self.weights = np.where(self.worth > 0, 1.0, CHORE_WEIGHT)
        self.signs = np.stack([signs(sentence, setting) for sentence, setting, _ in rows])
        self.vectors = np.asarray(embedder.embed([CleanText(sentence.text) for sentence, *_ in rows]))


def _rows(turn: dict[str, Any]) -> Iterator[tuple[str, Sentence, SentencePosition, str]]:
    for in_prompt, key in ((True, "prompt_labels"), (False, "answer_labels")):
        heading, items = "", []
        for text, label in turn[key]:
            if text.startswith("#"):
                heading = text.strip("# ")
            elif "```" not in text:
                items.append((_plain(text), heading, bool(re.match(r"\s*[-*|]", text)), label))
        setting = SentencePosition(turn["prompt"], in_prompt, len(items))
        for place, (text, above, listed, label) in enumerate(items):
            yield turn["domain"], Sentence(text, above, "", listed, place), setting, label


def _plain(text: str) -> str:
    return " ".join(re.sub(r"^\s*(?:[-*•+]|\d+[.)])\s+|\*\*|__", "", text).split())


def fitted(rows: Array, wanted: Array, ridge: Array, counts: Array | float = 1.0) -> Array:
    """The weights and the bias; `counts` says how much each row counts."""
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    counts = np.broadcast_to(counts, len(rows))
    ridge = np.append(ridge, 1e-3)
    weights = np.zeros(rows.shape[1])
    for _ in range(40):
        chance = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (counts * (chance - wanted)) + ridge * weights
        curve = (rows * (counts * chance * (1 - chance) + 1e-9)[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        weights -= step
        if abs(step).max() < 1e-7:
            break
    return weights


def ranks_right(scores: Array, wanted: Array) -> tuple[float, float]:
    """The area under the curve, and the average precision."""
    order = np.argsort(np.argsort(scores))
    good = wanted.sum()
    area = (order[wanted > 0].sum() - good * (good - 1) / 2) / (good * (len(wanted) - good))
    hits = wanted[np.argsort(-scores)]
    precision = (np.cumsum(hits) / (np.arange(len(hits)) + 1))[hits > 0].mean()
    return float(area), float(precision)


def _ridge(columns: int, meaning: float) -> Array:
    return np.concatenate([np.full(len(NAMES), RIDGE_SIGNS), np.full(columns - len(NAMES), meaning)])


def cross_validated(data: Labelled, rows: Array, ridge: Array) -> tuple[float, float]:
    scores = np.zeros(len(rows))
    domains = sorted(set(data.domains))
    for fold in range(FOLDS):
        held = np.isin(data.domains, domains[fold::FOLDS])
        weights = fitted(rows[~held], data.worth[~held], ridge)
        scores[held] = rows[held] @ weights[:-1] + weights[-1]
    return ranks_right(scores, data.worth)


def table_of(data: Labelled, rows: Array, played: Played, played_rows: Array, ridge: Array) -> dict[str, Any]:
    kept = data.worth > 0
    every, worth = np.vstack([rows, played_rows]), np.append(data.worth, played.worth)
    counts = np.append(np.ones(len(rows)), played.weights)
    heads = {"worth": fitted(every, worth, ridge, counts)}
    for kind in KINDS:
        heads[kind] = fitted(rows[kept], (data.labels[kept] == kind).astype(float), ridge)
    return {head: _named(weights, rows.shape[1]) for head, weights in heads.items()}


def _named(weights: Array, columns: int) -> dict[str, Any]:
    by_sign = {name: round(float(one), 4) for name, one in zip(NAMES, weights, strict=False) if abs(one) >= 5e-5}
    named: dict[str, Any] = {"bias": round(float(weights[-1]), 4), "signs": by_sign}
    if columns > len(NAMES):
        named["meaning"] = [round(float(one), 4) for one in weights[len(NAMES) : -1]]
    return named


def report(name: str, data: Labelled, embedder: Any) -> None:
    for how, vectors in (("signs alone", None), ("with meaning", data.vectors)):
        weighed = weigh(data.said, vectors, embedder.name)
        area, precision = ranks_right(np.array([one.worth for one in weighed]), data.worth)
        kept = data.worth > 0
        same = np.mean([one.kind == label for one, label in zip(weighed, data.labels, strict=True) if label != "none"])
        print(
            f"{name}, {how}: area {area:.3f}, average precision {precision:.3f}, kind {same:.2f} of {int(kept.sum())}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--embedder", default="gte-small", choices=[*LOCAL_MODELS])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        embedder = embedder_from(load({"home": home, "embedder": given.embedder}), SystemClock(), SystemEntropy())
        assert embedder is not None
        embedder.prepare()
        dev = Labelled(embedder, *FITTED)
        if not given.report:
            both = np.hstack([dev.signs, dev.vectors])
            ridge = _ridge(both.shape[1], RIDGE_MEANING[given.embedder])
            for how, rows in (("signs alone", dev.signs), ("with meaning", both)):
                area, precision = cross_validated(dev, rows, ridge[: rows.shape[1]])
                print(f"cross-validated by domain, {how}: area {area:.3f}, average precision {precision:.3f}")
            played = Played(embedder)
            models = {
                **(json.loads(TABLE.read_text())["models"] if TABLE.exists() else {}),  # those of other embedders
                "signs alone": table_of(dev, dev.signs, played, played.signs, ridge[: len(NAMES)]),
                embedder.name.split("/")[0]: table_of(
                    dev, both, played, np.hstack([played.signs, played.vectors]), ridge
                ),
            }
            table = {"models": models}
            TABLE.write_text(json.dumps(table, separators=(",", ":")) + "\n")
        report("dev (fitted on it)", dev, embedder)
        report("held out", Labelled(embedder, HELD_OUT), embedder)


if __name__ == "__main__":
    main()
