"""The words of each record as one row, written in the record's own transaction.

A row is known by its doc number, which only grows: a record that is stored again under its old seq gets a new
doc. So a reader that has seen everything up to some doc finds what came since by querying larger ones, and
what was dropped since in the list of gone docs.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from holdfast.store.fulltext.word_database import Database
from holdfast.store.port import IndexText
from holdfast.store.tokenizer import stems

# A hit in the title or the tags is worth more than one in a long body. Counted in halves: integers pack small.
TITLE_HALVES, BODY_HALVES, TAG_HALVES = 4, 2, 3
ALL = 2**62  # rows
MOST = 65_535  # what two bytes hold; a higher count of a word has no use

SELECT = "SELECT doc, seq, at, length, terms, weights FROM word_rows"


@dataclass(frozen=True, slots=True)
class TermCounts:
    """A record as the index sees it: how many words, and the weight of each in halves; scopes weigh nothing."""

    length: int
    weights: dict[str, int]


@dataclass(frozen=True, slots=True)
class WordRow:
    doc: int
    seq: int
    at: int
    length: int
    terms: str  # as they are stored: in order, each on a line of its own
    weights: bytes

    @property
    def listed(self) -> list[str]:
        return self.terms.split("\n") if self.terms else []


# For each term the places where it stands and how heavily, as little-endian numbers. No arrays: there are tens of
# thousands of terms, and the garbage collector walks through arrays, 40 ms in the midst of a query.
Postings: TypeAlias = dict[str, tuple[bytearray, bytearray]]
WEIGHT_BYTES = 2


def post(postings: Postings, place_bytes: Literal[2, 4], place: int, terms: Sequence[str], weights: bytes) -> None:
    """Put a row under each of its terms."""
    at = place.to_bytes(place_bytes, "little")
    for first, term in zip(range(0, len(weights), WEIGHT_BYTES), terms, strict=True):
        entry = postings.get(term)
        if entry is None:
            entry = postings[term] = (bytearray(), bytearray())
        entry[0].extend(at)
        entry[1].extend(weights[first : first + WEIGHT_BYTES])


def count(text: IndexText) -> TermCounts:
    """Weigh the words of a record."""
    weights: dict[str, int] = {}
    length = 0
    for part, halves in ((text.title, TITLE_HALVES), (text.body, BODY_HALVES), (text.tags, TAG_HALVES)):
        if not part:
            continue
        cut = stems(part)
        length += len(cut)
        for token in cut:
            weights[token] = weights.get(token, 0) + halves
    if text.codes:
        for token in stems(text.codes):
            weights.setdefault(token, BODY_HALVES)
    weights.update(dict.fromkeys(text.scopes, 0))
    return TermCounts(length, weights)


def pack(text: IndexText) -> tuple[int, int, str, bytes]:
    """Time, length, terms and weights as they are stored; in order, so that equal words are equal bytes."""
    counted = count(text)
    terms = sorted(counted.weights)
    weights = array("H", [min(counted.weights[term], MOST) for term in terms])
    return text.at, counted.length, "\n".join(terms), weights.tobytes()


def packings(text: IndexText) -> list[tuple[int, int, str, bytes]]:
    """What `pack` gives, and what it gave before names in code were found by their parts: such rows stay right until
    they are written anew."""
    return [pack(text), pack(replace(text, codes=""))] if text.codes else [pack(text)]


def rows_after(db: Database, tenant: str, doc: int, limit: int = ALL) -> Iterator[WordRow]:
    """The rows of a tenant past a doc, in order."""
    rows = db.execute(f"{SELECT} WHERE tenant = ? AND doc > ? ORDER BY doc LIMIT ?", (tenant, doc, limit))
    return (WordRow(*row) for row in rows)


def gone_after(db: Database, tenant: str, place: int) -> list[tuple[int, int]]:
    """What was dropped past a place: place and doc, in order."""
    sql = "SELECT place, doc FROM word_gone WHERE tenant = ? AND place > ? ORDER BY place"
    return db.execute(sql, (tenant, place)).fetchall()
