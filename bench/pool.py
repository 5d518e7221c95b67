"""A store in memory that hands candidates to the ranking as the real one does, and the baselines beside it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sets import Collection, Document

from holdfast.index.local_embedder import readable_share
from holdfast.recall.rank import Candidate, Corpus, RankingQuery
from holdfast.store import tokenizer
from holdfast.store.vector_values import luck

Floats = NDArray[np.float64]
REACH = 3  # turns either way that come along with a candidate
DAY_MS = 86_400_000


def tokens(text: str) -> list[str]:
    """As the word index sees the text."""
    return tokenizer.stems(tokenizer.index_text(text))


@cache
def terms(question: str, stop: bool = True) -> tuple[str, ...]:
    """The question's stemmed terms, each once; stop-words only if there is nothing else."""
    pieces = [part for piece in tokenizer._pieces(question) for part in piece]
    useful = [part for part in pieces if part not in tokenizer.STOP_WORDS] if stop else pieces
    return tuple(dict.fromkeys(term for part in useful or pieces for term in tokens(part)))


@dataclass(slots=True)
class Store:
    """One collection, its words and its vectors."""

    collection: Collection
    vectors: list[NDArray[np.float32]]  # of each document, a row for each of its parts
    model: str = ""  # whose vectors they are, and whose numbers the ranking takes
    rows: NDArray[np.float32] = field(init=False)
    first: NDArray[np.int64] = field(init=False)
    counts: list[Counter[str]] = field(init=False)
    lengths: Floats = field(init=False)
    postings: dict[str, tuple[NDArray[np.int64], Floats]] = field(init=False)
    order: list[int] = field(init=False)
    place: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = np.concatenate(self.vectors)
        self.first = np.cumsum([0, *map(len, self.vectors)])[:-1]
        self.counts = [Counter(tokens(document.text)) for document in self.collection.documents]
        self.lengths = np.array([sum(count.values()) for count in self.counts], float)
        for document, count in zip(self.collection.documents, self.counts, strict=True):
            for term in tokenizer.stems(" ".join(tokenizer.code_terms(document.text))):
                count.setdefault(term, 1)
        found: dict[str, list[tuple[int, int]]] = {}
        for row, count in enumerate(self.counts):
            for term, times in count.items():
                found.setdefault(term, []).append((row, times))
        self.postings = {
            term: (np.array([row for row, _ in rows]), np.array([times for _, times in rows], float))
            for term, rows in found.items()
        }
        documents = self.collection.documents
        self.order = sorted(
            range(len(documents)), key=lambda row: (documents[row].session or "", documents[row].at, row)
        )
        self.place = [0] * len(documents)
        for place, row in enumerate(self.order):
            self.place[row] = place

    @property
    def documents(self) -> tuple[Document, ...]:
        return self.collection.documents

    def corpus(self, asked: tuple[str, ...]) -> Corpus:
        frequency = {term: len(self.postings[term][0]) for term in asked if term in self.postings}
        return Corpus(len(self.documents), float(self.lengths.mean()), frequency)

    def bm25(self, asked: tuple[str, ...]) -> Floats:
        """FTS5's own formula, over every document."""
        scores = np.zeros(len(self.documents))
        norm = 1.2 * (0.25 + 0.75 * self.lengths / self.lengths.mean())
        for term in asked:
            if term not in self.postings:
                continue
            rows, times = self.postings[term]
            idf = max(1e-6, math.log((len(scores) - len(rows) + 0.5) / (len(rows) + 0.5)))
            scores[rows] += idf * 2.2 * times / (times + norm[rows])
        return scores

    def cosines(self, vector: NDArray[np.float32]) -> Floats:
        """Of each document's nearest part, less its luck."""
        near = np.maximum.reduceat(self.rows @ vector, self.first).astype(float)
        return near - luck(np.array([len(parts) for parts in self.vectors]))

    def candidates(
        self, asked: tuple[str, ...], vector: NDArray[np.float32] | None, depth: int | None
    ) -> list[Candidate]:
        """The best `depth` by words, the best by vectors and their neighbours; everything for None."""
        cosines = self.cosines(vector) if vector is not None else None
        if depth is None:
            rows = set(range(len(self.documents)))
        else:
            scores = self.bm25(asked)
            rows = {row for row in _best(scores, depth) if scores[row] > 0}
            if cosines is not None:
                rows.update(_best(cosines, depth))
            rows = {near for row in rows for near in self._near(row)}
        return [self._candidate(row, asked, cosines) for row in sorted(rows)]

    def _near(self, row: int) -> list[int]:
        session = self.documents[row].session
        if session is None:
            return [row]
        place = self.place[row]
        around = self.order[max(0, place - REACH) : place + REACH + 1]
        return [near for near in around if self.documents[near].session == session]

    def _candidate(self, row: int, asked: tuple[str, ...], cosines: Floats | None) -> Candidate:
        document, count = self.documents[row], self.counts[row]
        return Candidate(
            seq=row + 1,
            session=document.session,
            at=document.at,
            length=int(self.lengths[row]),
            weights={term: float(count[term]) for term in asked if term in count},
            cosine=None if cosines is None else float(cosines[row]),
            text=document.text,
            importance=5,
            recalls=0,
        )

    def asked(self, question: str) -> RankingQuery:
        last = max(document.at for document in self.documents)
        return RankingQuery(question, terms(question), last + DAY_MS, readable_share(question), self.model)


def _best(scores: Floats, depth: int) -> list[int]:
    return [int(row) for row in np.argsort(-scores, kind="stable")[:depth]]


def ranked(store: Store, scores: Floats, depth: int = 100, positive: bool = False) -> list[str]:
    """Ids by score, best first."""
    rows = [row for row in _best(scores, depth) if scores[row] > 0 or not positive]
    return [store.documents[row].id for row in rows]


def rrf(lists: list[list[str]], k: int = 60) -> list[str]:
    scores: dict[str, float] = {}
    for found in lists:
        for place, id in enumerate(found):
            scores[id] = scores.get(id, 0.0) + 1 / (k + place + 1)
    return sorted(scores, key=lambda id: -scores[id])


def convex(store: Store, by_words: Floats, by_vectors: Floats) -> list[str]:
    """Half of each, both stretched to 0..1."""
    return ranked(store, _stretched(by_words) + _stretched(by_vectors))


def _stretched(scores: Floats) -> Floats:
    span = scores.max() - scores.min()
    return (scores - scores.min()) / span if span > 0 else scores * 0
