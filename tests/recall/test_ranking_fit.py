"""What `make rank` fits on is what the ranking weighs, and a fit finds what the questions show."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hashing_embedder import HashingEmbedder

from holdfast.core.model import CleanText
from holdfast.recall.rank import rank

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import pool
from ranking import model, tables
from sets import Collection, Document, Query

SAID = [
    "user: I keep the keys of the boat in the red box",
    "assistant: Keys are best kept dry, and a box of wood is better than one of steel. Do you have one?",
    "user: No, mine is of steel. When does the harbour open in May?",
    "assistant: The harbour opens at 6 in May and at 8 in winter.",
    "user: My lamp is broken, the one on the pier",
    "assistant: Lamps on a pier need a case that is tight against water.",
]


class Vectors:
    """As quality.Vectors, of words alone."""

    def in_parts(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [HashingEmbedder().embed([CleanText(text)]) for text in texts]

    def of_questions(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [HashingEmbedder().embed_query(CleanText(text)) for text in texts]


@pytest.fixture(scope="module")
def collection() -> Collection:
    documents = tuple(Document(f"d{at}", text, f"s{at // 4}", at * 20_000) for at, text in enumerate(SAID))
    asked = {"where do I keep my keys": "d0", "when does the harbour open": "d3", "which lamp of mine is broken": "d4"}
    return Collection("boat", documents, tuple(Query(text, frozenset({id}), "own") for text, id in asked.items()))


@pytest.fixture(scope="module")
def table(collection: Collection) -> tables.Table:
    made = tables._made(collection, Vectors())
    columns = {name: made[name].astype(float) for name in tables.COLUMNS}
    simple = {way: made[f"by {way}"] for way in tables.SIMPLE}
    return tables.Table("boats", "boat", "boat", columns, made["start"], made["gold"], made["golds"], simple)


def test_the_scores_that_are_fitted_are_those_of_the_ranking(collection: Collection, table: tables.Table) -> None:
    store = pool.Store(collection, Vectors().in_parts(SAID))
    found = model.scores(table, model.PRESENT)
    for place, query in enumerate(collection.queries):
        asked = store.asked(query.text)
        (vector,) = Vectors().of_questions([query.text])
        candidates = store.candidates(asked.terms, vector, tables.DEPTH)
        ranked = {one.seq: one for one in rank(asked, candidates, store.corpus(asked.terms), 100)}
        rows = sorted(candidates, key=lambda row: (row.session or "", row.at, row.seq))
        for row, score in zip(rows, found[table.start[place] : table.start[place + 1]], strict=True):
            parts = ranked[row.seq].parts
            without_ties = ranked[row.seq].score - parts.recent - parts.important - parts.recalled
            assert score == pytest.approx(without_ties, abs=1e-6)


def test_a_fit_gives_weight_to_what_the_answers_have_in_common(table: tables.Table) -> None:
    fitted = model.fitted([table], ["own"], ridge=0.01)
    assert fitted.own > model.PRESENT.own  # two of three answers are the user's own words
    assert fitted.words == model.PRESENT.words


def test_the_figures_are_recall_and_the_place_of_the_first_answer(table: tables.Table) -> None:
    found = np.zeros(len(table.of))
    found[table.gold] = 1.0
    assert model.figures(table, found).tolist() == [[1.0, 1.0]] * 3
    assert (model.figures(table, -found)[:, 1] < 1.0).all()


def test_pruning_keeps_every_answer(table: tables.Table) -> None:
    few = table.pruned(model.scores(table, model.PRESENT), 1)
    assert few.questions == table.questions
    assert len(few.gold) == len(table.gold)
    assert len(few.of) < len(table.of)
