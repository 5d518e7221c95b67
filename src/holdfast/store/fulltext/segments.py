"""Compaction: words that stand in rows are gathered into segments, by term, where a search can add them up fast: 3 ms
at a million rows, where FTS5, which ranks every match, takes 71 (bench/scale.py).

A segment is written in pieces that no reader sees, then published in one small write. A kill in between
leaves pieces without a segment; the next compaction sweeps them. Readers notice by the version.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from holdfast.store.fulltext.postings import Postings, WordRow, post, rows_after
from holdfast.store.fulltext.word_database import Database
from holdfast.store.port import SCOPE

T = TypeVar("T")

FOLD_ROWS = 8_192
SEGMENT_ROWS = 65_536  # places have two bytes
MERGE = SEGMENT_ROWS // FOLD_ROWS
PIECE = 1_000  # postings a write: others wait no longer than some milliseconds
DEAD_SHARE = 8  # a segment is written anew when one doc in so many is gone

_BY_TENANT = ("word_rows", "word_gone", "word_segments", "word_postings")  # of one without rows much may be left

# Runs a job in a write to the tenant's memory; the job is given a source of new numbers.
Write = Callable[[Any, Callable[[Database, Callable[[], int]], T]], T]


@dataclass(slots=True)
class SegmentDraft:
    """A segment in the making."""

    docs: array[int]
    seqs: array[int]
    ats: array[int]
    lengths: array[int]
    postings: Postings


def draft(rows: Iterable[WordRow]) -> SegmentDraft:
    """The rows by term."""
    made = SegmentDraft(array("q"), array("q"), array("q"), array("I"), {})
    for place, row in enumerate(rows):
        made.docs.append(row.doc)
        made.seqs.append(row.seq)
        made.ats.append(row.at)
        made.lengths.append(row.length)
        post(made.postings, 2, place, row.listed, row.weights)
    return made


class Compactor:
    """Compacts and merges one store's words; used by one thread."""

    def __init__(self, read: Callable[[], Database], write: Write[Any], rows: int = FOLD_ROWS, merge: int = MERGE):
        self._read = read
        self._write = write
        self.rows = rows  # in a new segment
        self.merge = merge  # so many small segments become one
        self._looked: int | None = None  # how many writes there had been at the last full check

    def compact_all(
        self, least: int | None = None, stop: Callable[[], bool] = lambda: False, thorough: bool = False
    ) -> int:
        """Compact every tenant that has at least so many rows waiting; how many segments were written.

        A thorough compaction writes every segment anew that holds words of what is gone, however few.
        """
        written = 0
        counted: Any = self._read().execute("SELECT rows FROM tallies WHERE source = 'seq'").get
        if least is None and not thorough and counted == self._looked:
            return 0
        for tenant in self._tenants():
            written += self.compact(tenant, least, stop, thorough)
        self._looked = None if stop() else counted
        return written

    def compact(self, tenant: Any, least: int | None, stop: Callable[[], bool], thorough: bool) -> int:
        """Compact the rows of one tenant; how many segments were written. No other thread may do so meanwhile."""
        written = 0
        self._sweep(tenant)
        while not stop() and (self._compact(tenant, least or self.rows) or self._merge(tenant, thorough)):
            written += 1
        self._forget(tenant)
        self._sweep(tenant)
        return written

    def _tenants(self) -> list[str]:
        """By steps through the key: reading every row for its tenant would take long."""
        db, found = self._read(), set[str]()
        for table in _BY_TENANT:
            tenant: Any = db.execute(f"SELECT min(tenant) FROM {table}").get
            while tenant is not None:
                found.add(tenant)
                tenant = db.execute(f"SELECT min(tenant) FROM {table} WHERE tenant > ?", (tenant,)).get
        return sorted(found)

    def _compact(self, tenant: str, least: int) -> bool:
        db = self._read()
        compacted: Any = db.execute("SELECT folded FROM word_states WHERE tenant = ?", (tenant,)).get or 0
        some = "SELECT 1 FROM word_rows WHERE tenant = ? AND doc > ? LIMIT ?"
        waiting: Any = db.execute(f"SELECT count(*) FROM ({some}) AS waiting", (tenant, compacted, self.rows)).get
        if waiting < max(least, 1):
            return False
        rows = list(rows_after(db, tenant, compacted, self.rows))
        if not rows:  # dropped meanwhile
            return False
        self._put(tenant, draft(rows), (), rows[-1].doc)
        return True

    def _merge(self, tenant: str, thorough: bool) -> bool:
        """Join small segments into a large one, or rewrite one that holds too much of what is gone."""
        db = self._read()
        gone = {doc for (doc,) in db.execute("SELECT doc FROM word_gone WHERE tenant = ?", (tenant,))}
        rows: Any = db.execute("SELECT segment, docs FROM word_segments WHERE tenant = ?", (tenant,))
        sizes: list[tuple[int, int, int, int]] = []
        for segment, packed in rows:
            docs = np.frombuffer(packed, "<i8")
            dead = int(np.isin(docs, list(gone)).sum()) if gone else 0
            sizes.append((int(docs[0]), segment, len(docs), dead))
        chosen = self._choice(sorted(sizes), thorough)
        if not chosen:
            return False
        self._put(tenant, draft(self._live_rows(db, tenant, chosen)), chosen, None)
        return True

    def _choice(self, sizes: Sequence[tuple[int, int, int, int]], thorough: bool) -> list[int]:
        """Of segments in the order of their docs, those to write anew together."""
        small = [segment for _, segment, docs, _ in sizes if docs <= self.rows]
        if len(small) >= self.merge:
            return small[: self.merge]
        return [one for _, one, docs, dead in sizes if dead * DEAD_SHARE > docs or (thorough and dead)][:1]

    def _live_rows(self, db: Database, tenant: str, segments: Sequence[int]) -> Iterator[WordRow]:
        """The rows that segments were made of, in order: small ones on both sides of a large one may lie within
        each other's range once that is small too."""
        return heapq.merge(*(_rows_of(db, tenant, one) for one in segments), key=lambda row: row.doc)

    def _put(self, tenant: str, made: SegmentDraft, instead_of: Sequence[int], compacted: int | None) -> None:
        segment = self._write(tenant, lambda db, next_seq: next_seq())
        entries = packed_postings(made)
        while piece := [(tenant, segment, *entry) for entry in islice(entries, PIECE)]:
            self._write(tenant, partial(_insert, piece))
        self._write(tenant, lambda db, next_seq: _publish(db, tenant, segment, made, instead_of, compacted, next_seq()))

    def _forget(self, tenant: str) -> None:
        """Let readers reload when they hold as many gone rows as a segment: rows that come and go are never enough
        for a compaction."""
        db = self._read()
        compacted: Any = db.execute("SELECT folded FROM word_states WHERE tenant = ?", (tenant,)).get or 0
        gone: Any = db.execute("SELECT count(*) FROM word_gone WHERE tenant = ? AND doc > ?", (tenant, compacted)).get
        if gone >= self.rows:
            self._write(tenant, lambda db, next_seq: _renew(db, tenant, None, next_seq()))

    def _sweep(self, tenant: str) -> None:
        """Remove postings of segments that were replaced, or never published."""
        db = self._read()
        while (stray := _stray(db, tenant)) is not None:
            self._write(tenant, partial(_remove, tenant, stray))


def _rows_of(db: Database, tenant: str, segment: int) -> Iterator[WordRow]:
    """The rows that a segment was made of, without those that are gone: from the rows themselves."""
    sql = "SELECT docs FROM word_segments WHERE tenant = ? AND segment = ?"
    packed: Any = db.execute(sql, (tenant, segment)).get
    docs = np.frombuffer(packed, "<i8")
    wanted = set(docs.tolist())
    for row in rows_after(db, tenant, int(docs[0]) - 1):
        if row.doc > docs[-1]:
            break
        if row.doc in wanted:
            yield row


def packed_postings(made: SegmentDraft) -> Iterator[tuple[str, bytes, bytes]]:
    """Term, places and weights in the key's order: pages fill one after the other. A scope has no weights."""
    for term in sorted(made.postings, key=str.encode):
        places, weights = made.postings[term]
        yield term, bytes(places), b"" if term.startswith(SCOPE) else bytes(weights)


def _insert(piece: list[Any], db: Database, _: object) -> None:
    db.executemany("INSERT INTO word_postings VALUES (?, ?, ?, ?, ?)", piece)


def _publish(
    db: Database,
    tenant: str,
    segment: int,
    made: SegmentDraft,
    instead_of: Sequence[int],
    compacted: int | None,
    version: int,
) -> None:
    """Make the segment live. What was dropped since it was drafted is still listed as gone."""
    for old in instead_of:
        db.execute("DELETE FROM word_segments WHERE tenant = ? AND segment = ?", (tenant, old))
    if made.docs:
        arrays = (made.docs.tobytes(), made.seqs.tobytes(), made.ats.tobytes(), made.lengths.tobytes())
        db.execute("INSERT INTO word_segments VALUES (?, ?, ?, ?, ?, ?)", (tenant, segment, *arrays))
    _renew(db, tenant, compacted, version)


def _renew(db: Database, tenant: str, compacted: int | None, version: int) -> None:
    """Make readers reload, with what is compacted up to a doc, or up to where it was."""
    held: Any = db.execute("SELECT folded FROM word_states WHERE tenant = ?", (tenant,)).get or 0
    held = held if compacted is None else compacted
    sql = (
        "INSERT INTO word_states VALUES (?, ?, ?) "
        "ON CONFLICT (tenant) DO UPDATE SET version = excluded.version, folded = excluded.folded"
    )
    db.execute(sql, (tenant, version, held))
    _forget_gone(db, tenant)


def _forget_gone(db: Database, tenant: str) -> None:
    """Keep in the list of gone docs only those of a segment: readers of a new version reload uncompacted rows."""
    gone: Any = db.execute("SELECT place, doc FROM word_gone WHERE tenant = ?", (tenant,)).fetchall()
    if not gone:
        return
    rows: Any = db.execute("SELECT docs FROM word_segments WHERE tenant = ?", (tenant,)).fetchall()
    docs = np.array([doc for _, doc in gone])
    held = np.zeros(len(docs), np.bool_)
    for (packed,) in rows:
        held |= np.isin(docs, np.frombuffer(packed, "<i8"))
    useless = [(tenant, place) for (place, _), keep in zip(gone, held.tolist(), strict=True) if not keep]
    db.executemany("DELETE FROM word_gone WHERE tenant = ? AND place = ?", useless)


def _stray(db: Database, tenant: str) -> int | None:
    """A segment that has postings but is not listed. By steps through the key."""
    listed = {segment for (segment,) in db.execute("SELECT segment FROM word_segments WHERE tenant = ?", (tenant,))}
    at = 0
    while True:
        sql = "SELECT min(segment) FROM word_postings WHERE tenant = ? AND segment > ?"
        found: Any = db.execute(sql, (tenant, at)).get
        if found is None or found not in listed:
            return None if found is None else int(found)
        at = found


def _remove(tenant: str, segment: int, db: Database, _: object) -> None:
    sql = (
        "DELETE FROM word_postings WHERE tenant = ? AND segment = ? AND term IN "
        "(SELECT term FROM word_postings WHERE tenant = ? AND segment = ? ORDER BY term LIMIT ?)"
    )
    db.execute(sql, (tenant, segment, tenant, segment, PIECE))
