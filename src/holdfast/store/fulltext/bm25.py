"""BM25 over the parts of a tenant's words, exact to the last digit: formula and constants are those of FTS5."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.store.fulltext.parts import (
    K1,
    Floats,
    LengthNorms,
    Mask,
    Part,
    Places,
    Posting,
    ScopeBounds,
    Seqs,
)
from holdfast.store.port import WordCount, WordHit

HALF = 0.5
LEAST_IDF = 1e-6  # FTS5's: a word that stands nearly everywhere still counts a trace
# Where fewer than one doc in so many may be found, terms are looked up for those instead of added up for all.
FEW = 16
SHORT = 1 << 16  # docs whose places two bytes hold
NOWHERE, NOTHING = np.zeros(0, np.intp), np.zeros(0)


class PartPostings:
    """One part at one moment, with the postings of a question and what lies in its bounds."""

    def __init__(self, part: Part, live: Mask, dead: bool):
        self.part = part
        self.live = live
        self.dead = dead
        self.postings: Mapping[str, Posting] = {}
        self.inside: Mask = live
        self.count = 0

    def bound(self, bounds: ScopeBounds, masks: Mapping[str, Mask]) -> None:
        """Note what lies in the bounds and is not gone."""
        allowed: Mask | None = self.live if self.dead else None
        for scope in bounds.scopes:
            met = masks[scope[0]] if len(scope) == 1 else _any([masks[term] for term in scope], self.live)
            allowed = met if allowed is None else allowed & met
        if bounds.since is not None:
            allowed = (self.live if allowed is None else allowed) & (self.part.ats >= bounds.since)
        if bounds.until is not None:
            allowed = (self.live if allowed is None else allowed) & (self.part.ats <= bounds.until)
        self.inside = self.live if allowed is None else allowed
        self.count = int(np.count_nonzero(self.inside))

    def frequency(self, term: str) -> int:
        """How many docs hold the term, in the bounds or not."""
        posting = self.postings.get(term)
        if posting is None:
            return 0
        return int(np.count_nonzero(self.live[posting.places])) if self.dead else len(posting.places)

    def weighed(self, term: str, places: Places) -> tuple[NDArray[np.intp], Floats]:
        """Which of the places hold the term, by their number in the list, and how heavily."""
        posting = self.postings.get(term)
        if posting is None:
            return NOWHERE, NOTHING
        # Of one type: otherwise all postings would be copied into the wider one.
        narrow = places.astype(posting.places.dtype, copy=False)
        at = posting.places.searchsorted(narrow)
        held = (posting.places.take(at, mode="clip") == narrow).nonzero()[0]
        return held, posting.weights[at[held]] * HALF if len(held) else NOTHING

    def complete(self, terms: Sequence[str], longest: int) -> NDArray[np.intp]:
        """The places in the bounds that hold all the terms and are not longer; the rarest term decides first."""
        held = [self.postings.get(term) for term in terms]
        if None in held:
            return NOWHERE
        rarest = min((one for one in held if one is not None), key=lambda one: len(one.places))
        places = rarest.places.astype(np.intp)
        places = places[self.inside[places] & (self.part.lengths[places] <= longest)]
        for term in terms:
            if not len(places):
                break
            places = places[self.weighed(term, places)[0]]
        return places

    def best(self, rarity: Mapping[str, float], average: float, limit: int, above: float) -> tuple[Floats, Seqs]:
        """The best scores at or above a bound, and their seqs. Equals of the last one stay: the newest of them is
        decided later."""
        norms = self.part.norms(average)
        if self.count * FEW < len(self.part.docs):
            places: Places = np.flatnonzero(self.inside)
            scores = self._scores_of(places, rarity, norms)
        else:
            every = self._scores(rarity, norms)
            places = np.flatnonzero(every >= above) if above > 0 else np.flatnonzero(every)
            if self.count < len(self.part.docs):
                places = places[self.inside[places]]
            scores = every[places]
        if len(scores) > limit:
            above = max(above, np.partition(scores, len(scores) - limit)[len(scores) - limit])
        kept = np.flatnonzero(scores >= above) if above > 0 else np.flatnonzero(scores)
        return scores[kept], self.part.seqs[places[kept]]

    def _scores(self, rarity: Mapping[str, float], norms: LengthNorms) -> Floats:
        """Of all docs of the part."""
        scores = np.zeros(len(self.part.docs))
        for term, idf in rarity.items():
            posting = self.postings.get(term)
            if posting is None:
                continue
            places = posting.places.astype(np.intp)  # once, not for each use
            worth = norms.once.take(places)
            others = posting.others
            if len(others):
                weights = posting.weights[others].astype(np.float64)
                weights *= HALF
                worth[others] = _worth(weights, norms.lengths.take(places[others]))
            worth *= idf
            np.add.at(scores, places, worth)
        return scores

    def _scores_of(self, places: Places, rarity: Mapping[str, float], norms: LengthNorms) -> Floats:
        """Of these docs alone."""
        scores = np.zeros(len(places))
        lengths = norms.lengths[places]
        for term, idf in rarity.items():
            held, weights = self.weighed(term, places)
            scores[held] += _worth(weights, lengths[held]) * idf
        return scores


def _any(masks: Sequence[Mask], like: Mask) -> Mask:
    met = np.zeros(len(like), np.bool_)
    for mask in masks:
        met |= mask
    return met


def _worth(weights: Floats, norms: Floats) -> Floats:
    """What words of these weights are worth before their rarity."""
    return weights * (K1 + 1) / (norms + weights)


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """How many docs there are, how long they are on average, and how many hold each term."""

    documents: int
    average: float
    frequency: dict[str, int]


class TenantView:
    """A question's share of a tenant's words."""

    def __init__(self, documents: int, words: float, gathered: list[PartPostings]):
        self.documents = documents
        self.average = words / documents if documents else 0.0
        self.gathered = gathered
        self.count = sum(one.count for one in gathered)  # docs in the bounds, whatever their words

    @property
    def is_narrow(self) -> bool:
        """Whether the bounds hold no more than half of all docs."""
        return 0 < 2 * self.count <= self.documents

    def overall(self, terms: Sequence[str]) -> CorpusStats:
        """What is usual in the whole memory."""
        frequency = {term: sum(one.frequency(term) for one in self.gathered) for term in terms}
        return CorpusStats(self.documents, self.average, frequency)

    def inside(self, terms: Sequence[str]) -> CorpusStats:
        """What is usual in the bounds."""
        held = [one for one in self.gathered if one.count]
        words = sum(float(one.part.lengths @ one.inside) for one in held)
        frequency = {term: sum(_held_inside(one, term) for one in held) for term in terms}
        return CorpusStats(self.count, words / self.count if self.count else 0.0, frequency)

    def best(self, usual: CorpusStats, limit: int, check: Callable[[list[int]], set[int]] | None) -> list[WordHit]:
        """The best hits that pass; more are checked until enough do or none are left."""
        # Of a term that stands nowhere all that held it are gone, and with no record there is no average.
        rarity = {term: _rarity(usual.documents, held) for term, held in usual.frequency.items() if held}
        asked = limit if check is None else max(4 * limit, 64)
        while True:
            hits = self._top(rarity, asked) if rarity else []
            passed = check([hit.seq for hit in hits]) if check else None
            kept = hits if passed is None else [hit for hit in hits if hit.seq in passed]
            if passed is None or len(kept) >= limit or len(hits) < asked:
                return kept[:limit]
            asked *= 8

    def _top(self, rarity: Mapping[str, float], limit: int) -> list[WordHit]:
        scores, seqs, above = np.zeros(0), np.zeros(0, np.int64), 0.0
        for one in self.gathered:
            more, of = one.best(rarity, self.average, limit, above) if one.count else (scores[:0], seqs[:0])
            if not len(more):
                continue
            scores, seqs = np.concatenate((scores, more)), np.concatenate((seqs, of))
            if len(scores) > limit:
                above = float(np.partition(scores, len(scores) - limit)[len(scores) - limit])
                keep = scores >= above
                scores, seqs = scores[keep], seqs[keep]
        order = np.lexsort((-seqs, -scores))[:limit]
        return [WordHit(seq, score) for seq, score in zip(seqs[order].tolist(), scores[order].tolist(), strict=True)]

    def meeting(self, seqs: Sequence[int]) -> set[int]:
        """Those of the records that lie in the bounds."""
        wanted = np.sort(np.array(seqs, np.int64))
        met: set[int] = set()
        for one in self.gathered:
            if one.count:
                here, places = one.part.places_of(wanted)
                met.update(here[one.inside[places]].tolist())
        return met

    def complete(self, terms: Sequence[str], longest: int) -> list[int]:
        """Records in the bounds that hold all the terms and are not longer, the shortest first, then the newest."""
        lengths, seqs = [np.zeros(0)], [np.zeros(0, np.int64)]
        for one in self.gathered:
            places = one.complete(terms, longest) if one.count and terms else NOWHERE
            lengths.append(one.part.lengths[places])
            seqs.append(one.part.seqs[places])
        every = np.concatenate(seqs)
        found: list[int] = every[np.lexsort((-every, np.concatenate(lengths)))].tolist()
        return found

    def counted(self, terms: Sequence[str], seqs: Sequence[int]) -> dict[int, WordCount]:
        """How long given records are, and how often they hold the terms."""
        found: dict[int, WordCount] = {}
        wanted = np.sort(np.array(seqs, np.int64))
        for one in self.gathered:
            here, places = one.part.places_of(wanted)
            if one.dead:
                live = one.live[places]
                here, places = here[live], places[live]
            if len(here):
                lengths = one.part.lengths[places].tolist()
                found.update(zip(here.tolist(), map(WordCount, lengths, _weights(one, terms, places)), strict=True))
        return found


def _weights(one: PartPostings, terms: Sequence[str], places: Places) -> Iterable[dict[str, float]]:
    weights: list[dict[str, float]] = [{} for _ in range(len(places))]
    if len(one.part.docs) <= SHORT:
        places = places.astype(np.uint16)  # as postings of segments are; once, not for each term
    for term in terms:
        held, heavy = one.weighed(term, places)
        if len(held):
            for at, weight in zip(held.tolist(), heavy.tolist(), strict=True):
                weights[at][term] = weight
    return weights


def _held_inside(one: PartPostings, term: str) -> int:
    posting = one.postings.get(term)
    return 0 if posting is None else int(np.count_nonzero(one.inside[posting.places]))


def _rarity(documents: int, held: int) -> float:
    return max(math.log((documents - held + 0.5) / (held + 0.5)), LEAST_IDF)
