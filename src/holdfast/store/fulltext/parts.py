"""Words by term, in parts: segments, which never change but for what is gone, and the rows that are not yet compacted.

What is computed from a segment and stays true is kept with it. Knows no query and no database.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.store.fulltext.postings import WEIGHT_BYTES, Postings, WordRow, post

K1, B = 1.2, 0.75  # FTS5's
ONCE = 2  # halves
# Scopes of one segment kept in memory, 64 kB each: without, a search by words within a project takes 1.5 times as long
# (bench/mechanisms.py).
MASKS = 16
TEXT_ROWS = 1_024  # of so many a term is looked up in a fifth of a millisecond
POSTED_BYTES, TEXT_BYTES = 5_500, 120  # what a row takes in memory by term, and beside its text
_LINE_END = ord("\n")

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


class RowTexts:
    """The terms of rows as they are stored, each on a line of its own, and looked up there when they are asked for."""

    def __init__(self) -> None:
        self._lines = bytearray(b"\n")
        self._weights = bytearray()
        self._ends = array("q")  # how many lines there are up to the end of each row
        self._breaks: NDArray[np.intp] | None = None  # where each line is preceded by the end of another
        self._known: dict[str, Posting | None] = {}

    def __len__(self) -> int:
        return len(self._lines) + len(self._weights)

    def add(self, rows: Sequence[WordRow]) -> None:
        texts = [row for row in rows if row.terms]
        if texts:
            self._lines += ("\n".join([row.terms for row in texts]) + "\n").encode()
        lines = len(self._weights) // WEIGHT_BYTES
        self._weights += b"".join([row.weights for row in texts])
        counts = (len(row.weights) // WEIGHT_BYTES if row.terms else 0 for row in rows)
        self._ends.extend(lines + end for end in accumulate(counts))
        self._breaks = None
        self._known.clear()

    def posting(self, term: str) -> Posting | None:
        if term not in self._known:
            self._known[term] = self._looked_up(term)
        return self._known[term]

    def _looked_up(self, term: str) -> Posting | None:
        line = b"\n" + term.encode("utf-8", "surrogatepass")
        if not term or b"\n" in line[1:]:  # it would be found across two lines
            return None
        between = self._lines.split(line)  # one scan, however often it stands there
        ends = np.fromiter(map(len, between[:-1]), np.int64, len(between) - 1).cumsum()
        found = ends + len(line) * np.arange(len(ends))
        found = found[np.frombuffer(self._lines, np.uint8)[found + len(line)] == _LINE_END]
        if not len(found):
            return None
        if self._breaks is None:
            self._breaks = np.flatnonzero(np.frombuffer(self._lines, np.uint8) == _LINE_END)
        numbers = self._breaks.searchsorted(found)
        places = np.array(self._ends, np.int64).searchsorted(numbers, side="right").astype(np.uint32)
        return Posting(places, np.frombuffer(self._weights, "<u2")[numbers])

    def post(self, postings: Postings) -> None:
        """Put all rows under each of their terms."""
        lines, first = bytes(self._lines).decode().split("\n")[1:-1], 0
        for place, end in enumerate(self._ends):
            weights = bytes(self._weights[first * WEIGHT_BYTES : end * WEIGHT_BYTES])
            post(postings, 4, place, lines[first:end], weights)
            first = end


class Tail:
    """Rows that are not yet compacted: few as texts, more by term.

    To put 500 rows under their terms took half of the first search of a tenant that a server had not seen, and they
    took 5.5 kB each instead of 0.5 (bench/fleet/tenants.py)."""

    def __init__(self) -> None:
        self.docs, self.seqs, self.ats, self.lengths = array("q"), array("q"), array("q"), array("d")
        self.live = bytearray()
        self.places: dict[int, int] = {}
        self._texts: RowTexts | None = RowTexts()
        self._postings: Postings = {}

    def add(self, rows: Sequence[WordRow]) -> None:
        """All at once: one by one the first rows of a tenant took twice the rest of reading them."""
        first, rest = len(self.docs), rows
        self.docs.extend([row.doc for row in rows])
        self.seqs.extend([row.seq for row in rows])
        self.ats.extend([row.at for row in rows])
        self.lengths.extend([row.length for row in rows])
        self.live += b"\x01" * len(rows)
        self.places.update(zip(self.docs[first:], range(first, len(self.docs)), strict=True))
        if self._texts is not None:
            few, rest = rows[: TEXT_ROWS + 1 - first], rows[TEXT_ROWS + 1 - first :]
            self._texts.add(few)
            if len(self.docs) > TEXT_ROWS:
                self._texts.post(self._postings)
                self._texts = None
        for place, row in enumerate(rest, len(self.docs) - len(rest)):
            post(self._postings, 4, place, row.listed, row.weights)

    def size(self) -> int:
        """What it takes in memory, about, in bytes."""
        return len(self.docs) * (POSTED_BYTES if self._texts is None else TEXT_BYTES) + len(self._texts or ())

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
        found = {term: self._posting(term) for term in terms}
        return Part(
            np.array(self.docs, np.int64),
            np.array(self.seqs, np.int64),
            np.array(self.ats, np.int64),
            np.array(self.lengths, np.float64),
            np.frombuffer(bytes(self.live), np.bool_),
            dead=True,
            postings={term: posting for term, posting in found.items() if posting is not None},
        )

    def _posting(self, term: str) -> Posting | None:
        if self._texts is not None:
            return self._texts.posting(term)
        packed = self._postings.get(term)
        if packed is None:
            return None
        places, weights = map(bytes, packed)  # a copy: the next row is written behind them
        return Posting(np.frombuffer(places, "<u4"), np.frombuffer(weights, "<u2"))
