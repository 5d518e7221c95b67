"""Words by term, in parts: segments, which never change but for what is gone, and the rows that are not yet compacted.

What is computed from a segment and stays true is kept with it. Knows no query and no database.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.store.fulltext.postings import Postings, WordRow, post

K1, B = 1.2, 0.75  # FTS5's
ONCE = 2  # halves
MASKS = 16  # scopes of one segment kept in memory, 64 kB each
BOUNDED = 8  # bounds of several scopes, the same

Seqs = NDArray[np.int64]
Floats = NDArray[np.float64]
Places = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ScopeBounds:
    """Each scope must be met by one of its terms; the time must lie from `since` to `until`, both included."""

    scopes: tuple[tuple[str, ...], ...] = ()
    since: int | None = None
    until: int | None = None
    of_few: bool = False  # they admit a caller by one of its keys: it must not learn how often others use a word

    def terms(self) -> list[str]:
        return [term for some in self.scopes for term in some]


@dataclass(slots=True)
class Posting:
    """Where a term stands in a part, and how heavily, in halves."""

    places: Places
    weights: NDArray[np.uint16]
    known_others: NDArray[np.intp] | None = None

    @property
    def others(self) -> NDArray[np.intp]:
        """Which of the places do not hold the term just once, by their number in the list."""
        if self.known_others is None:
            self.known_others = np.flatnonzero(self.weights != ONCE)
        return self.known_others


@dataclass(frozen=True, slots=True)
class ScopedDocs:
    """What lies in some bounds, of the docs that lived when that was worked out."""

    live: Mask
    inside: Mask
    count: int


@dataclass(frozen=True, slots=True)
class LengthNorms:
    """What each doc's length takes from a match, and what a word that stands in it once is worth before its rarity."""

    average: float
    lengths: Floats
    once: Floats


@dataclass(slots=True)
class Part:
    """Docs in order: a segment, or the tail for one search."""

    docs: NDArray[np.int64]
    seqs: Seqs
    ats: NDArray[np.int64]
    lengths: Floats
    live: Mask
    dead: bool = False  # whether any doc is gone
    masks: dict[str, Mask] = field(default_factory=dict)
    bounded: dict[ScopeBounds, ScopedDocs] = field(default_factory=dict)
    known_norms: LengthNorms | None = None
    by_seq: NDArray[np.int64] | None = None  # places in the order of their seqs, once that was needed
    postings: dict[str, Posting] = field(default_factory=dict)  # the tail's; a segment's are read when needed

    def norms(self, average: float) -> LengthNorms:
        """The same until the average changes, which a write does."""
        known = self.known_norms
        if known is None or known.average != average:
            norms = B * self.lengths
            norms /= average
            norms += 1 - B
            norms *= K1
            known = self.known_norms = LengthNorms(average, norms, (K1 + 1) / (norms + 1))
        return known

    def places_of(self, seqs: Seqs) -> tuple[Seqs, NDArray[np.int64]]:
        """Those of the ascending seqs that stand here, and their places."""
        if self.by_seq is None:
            self.by_seq = np.argsort(self.seqs, kind="stable")
        ends = self.seqs[self.by_seq[[0, -1]]]
        near = seqs[seqs.searchsorted(ends[0]) : seqs.searchsorted(ends[1], side="right")]
        # The last of equals: a record that was stored again stands here twice, and only the later one may live.
        at = self.seqs.searchsorted(near, side="right", sorter=self.by_seq)
        places = self.by_seq[at - 1]
        here = self.seqs[places] == near
        return near[here], places[here]

    def mask(self, term: str, posting: Posting | None) -> Mask:
        """Which docs meet a scope; kept, as a segment's postings never change."""
        mask = np.zeros(len(self.docs), np.bool_)
        if posting is not None:
            mask[posting.places] = True
        if len(self.masks) >= MASKS:
            self.masks.clear()
        self.masks[term] = mask
        return mask

    def keep(self, bounds: ScopeBounds, bounded: ScopedDocs) -> None:
        """Cache what lies in bounds that the next query may have too; a time is hardly ever queried twice."""
        if bounds.since is None and bounds.until is None:
            if len(self.bounded) >= BOUNDED:
                self.bounded.clear()
            self.bounded[bounds] = bounded

    def kill(self, docs: Sequence[int]) -> Floats:
        """Mark docs as gone; the lengths of those that lived here. A reader of the part keeps what it saw."""
        wanted = np.array(docs, np.int64)
        at = np.minimum(np.searchsorted(self.docs, wanted), len(self.docs) - 1)
        places = np.unique(at[(self.docs[at] == wanted) & self.live[at]])
        if len(places):
            self.live, self.dead = self.live.copy(), True
            self.live[places] = False
        lengths: Floats = self.lengths[places]
        return lengths


class Tail:
    """Rows that are not yet compacted, by term."""

    def __init__(self) -> None:
        self.docs, self.seqs, self.ats, self.lengths = array("q"), array("q"), array("q"), array("d")
        self.live = bytearray()
        self.places: dict[int, int] = {}
        self.postings: Postings = {}

    def add(self, row: WordRow) -> None:
        place = self.places[row.doc] = len(self.docs)
        self.docs.append(row.doc)
        self.seqs.append(row.seq)
        self.ats.append(row.at)
        self.lengths.append(row.length)
        self.live.append(1)
        post(self.postings, 4, place, row)

    def kill(self, docs: Sequence[int]) -> Floats:
        lengths: list[float] = []
        for doc in docs:
            place = self.places.get(doc)
            if place is not None and self.live[place]:
                self.live[place] = 0
                lengths.append(self.lengths[place])
        return np.array(lengths)

    def part(self, terms: Sequence[str]) -> Part:
        """A copy that does not change, with the postings of these terms."""
        held = {term: self.postings[term] for term in terms if term in self.postings}
        return Part(
            np.array(self.docs, np.int64),
            np.array(self.seqs, np.int64),
            np.array(self.ats, np.int64),
            np.array(self.lengths, np.float64),
            np.frombuffer(bytes(self.live), np.bool_),
            dead=True,
            postings={term: _posting(*packed) for term, packed in held.items()},
        )


def _posting(places: bytearray, weights: bytearray) -> Posting:
    """A copy: the next row is written behind them."""
    return Posting(np.frombuffer(bytes(places), "<u4"), np.frombuffer(bytes(weights), "<u2"))
