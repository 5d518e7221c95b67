"""What tells whether a hit answers: how near it is in meaning, and how much of the question it holds. Pure.

These numbers mean the same whatever the weights of the ranking are, which is why its scores are none of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.recall.confidence.calibration import Calibration, calibration_of
from holdfast.recall.rank import Corpus, rarity

FIRST = 5  # hits among which the best match is looked for: later ones were ranked down for a reason
ANSWERABLE = 0.5  # from this probability on, a memory is said to hold an answer
FEWEST, MOST = 20, 10_000  # records of a memory that were measured; in smaller and larger ones it counts as these
READABLE = 0.5  # of a question that the embedder can read less of, nearness in meaning tells nothing


@dataclass(frozen=True, slots=True)
class QuestionSigns:
    """What is known of a question before its hits."""

    shares: Mapping[str, float]  # of the rarity of all its terms, for each
    documents: int  # in which it was searched
    read: float  # how much of it the embedder can read

    def covered(self, held: Mapping[str, float]) -> float:
        """The share of the question's rarity that a record holds; rare words count more."""
        return sum(share for term, share in self.shares.items() if term in held)


class HitSigns(NamedTuple):
    likeness: float | None  # None: no vector
    covered: float


class Confidence(NamedTuple):
    """Probabilities, as the questions of docs/benchmarks/confidence.md were answered."""

    hit: float  # that this hit answers
    memory: float  # that anything that was searched answers; the same for all hits of a search


def signs_of(terms: Sequence[str], corpus: Corpus, read: float) -> QuestionSigns:
    """The signs of a question with these terms."""
    weights = rarity(terms, corpus)
    total = float(weights.sum()) or 1.0
    shares = {term: float(weight) / total for term, weight in zip(terms, weights, strict=True)}
    return QuestionSigns(shares, corpus.documents, read)


def confidences(question: QuestionSigns, hits: Sequence[HitSigns], model: str | None) -> list[Confidence]:
    """How sure each hit is, in the order of the hits; `model` is the embedder's name."""
    if not hits:
        return []
    unread = question.read < READABLE or any(hit.likeness is None for hit in hits[:FIRST])
    scale = calibration_of(None if unread else model)
    matches = [match(hit, scale) for hit in hits]
    best = max(matches[:FIRST])
    memory = answered(best, question.documents, scale)
    return [Confidence(memory * chosen(one - best, place, scale), memory) for place, one in enumerate(matches)]


def match(hit: HitSigns, scale: Calibration) -> float:
    """How well a hit fits the question, on the scale of likeness."""
    return scale.meaning * (hit.likeness or 0.0) + scale.words * hit.covered


def answered(best: float, documents: int, scale: Calibration) -> float:
    """The probability that the question has an answer, from its best match: among more records a chance match is
    better."""
    constant, of_match, of_size = scale.memory
    return logistic(constant + of_match * best + of_size * size(documents))


def size(documents: int) -> float:
    return math.log(min(max(FEWEST, documents), MOST))


def chosen(behind: float, place: int, scale: Calibration) -> float:
    """The probability that a hit answers if any record does, from what it is behind the best match, and its place."""
    constant, of_gap, of_place = scale.hit
    return logistic(constant + of_gap * behind + of_place * math.log1p(place))


def logistic(value: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, value))))
