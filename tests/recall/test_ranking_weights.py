"""The numbers of the ranking: which model has which, and that they are what is weighed with."""

from __future__ import annotations

import pytest
from rows import each

from holdfast.index import LOCAL_MODELS, MINILM
from holdfast.recall.rank import Candidate, Corpus, RankingQuery, rank
from holdfast.recall.ranking.ranking_weights import USUAL, weights_of

NOW = 1_763_260_000_000


def found(model: str, *, by_user: bool) -> dict[int, float]:
    """What the user's own words add, of two records that are alike otherwise."""
    rows = [
        Candidate(seq, None, NOW, 10, {"editor": 1.0}, 0.4, "the editor is vim", 5, 0, by_user=by_user and seq == 1)
        for seq in (1, 2)
    ]
    asked = RankingQuery("which editor do I use", ("editor",), NOW, model=model)
    return {one.seq: one.parts.own for one in rank(asked, rows, Corpus(10, 10.0, {"editor": 2}), 2)}


@each("model", LOCAL_MODELS.values())
def test_each_local_model_has_numbers_and_is_weighed_with_them(model: object) -> None:
    name = model.name  # type: ignore[attr-defined]
    assert found(name, by_user=True) == {1: pytest.approx(weights_of(name).own), 2: 0.0}
    assert weights_of(name).own > 0


def test_a_model_without_numbers_of_its_own_gets_the_usual_ones() -> None:
    assert MINILM.name.startswith(f"{USUAL}/")
    assert weights_of("openai/text-embedding-3-small/1536") == weights_of("") == weights_of(MINILM.name)


@each("model", LOCAL_MODELS.values())
def test_no_number_turns_a_match_into_a_fault(model: object) -> None:
    weights = weights_of(model.name)  # type: ignore[attr-defined]
    assert 0.15 < weights.words < 0.85  # within the range that the lead may move it by, both count
    assert min(weights.lead, weights.alone, weights.speaker, weights.exact, weights.asking, weights.own) >= 0
    assert weights.number >= 0
