"""Verification: is every row as it was written, is none missing, and do words and vectors match the records?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from holdfast.store.fulltext.postings import packings
from holdfast.store.port import Finding, Table
from holdfast.store.postgres.conditions import columns_of
from holdfast.store.postgres.pool import Connection, View
from holdfast.store.postgres.vectors.vector_rows import le, numbers_of, part_checksum
from holdfast.store.rows import RowCodec, shape_of
from holdfast.store.tables import TABLES

MOST_FINDINGS = 1_000
BATCH = 500
_MEND = "mend it with --repair-index"


def verify(view: View) -> Iterator[tuple[str, int, list[Finding]]]:
    """Findings over one moment of all live spaces, each with its tenant; those of a sound one are none."""
    left = MOST_FINDINGS
    for tenant, space in view.db.execute("SELECT tenant, live FROM tenants ORDER BY live").fetchall():
        found = list(islice(_space(view.see(space), space), left))
        yield tenant, space, found
        left -= len(found)
        if not left:
            return


def _space(db: Connection, space: int) -> Iterator[Finding]:
    yield from _counter(db, space)
    indexed = 0
    for table in TABLES:
        walk = _Walk(db, space, table)
        yield from walk.findings()
        indexed += walk.rows if table.index else 0
        yield from _tally(db, space, table, walk)
    held = db.execute("SELECT count(*) FROM word_rows WHERE space = %s", (space,)).fetchone()
    if held is not None and held[0] != indexed:
        yield Finding("index_out_of_step", "words", "0", f"the word index does not say what the rows say; {_MEND}")
    yield from _vectors(db, space)


class _Walk:
    """One walk over a table of a space. `rows` and `total` are what its tally should hold, once it is at its end."""

    def __init__(self, db: Connection, space: int, table: Table[Any]):
        self._db, self._space, self._table = db, space, table
        self.rows = 0
        self.total = 0

    def findings(self) -> Iterator[Finding]:
        shape, last = shape_of(self._table), -(2**63)
        sql = (
            f"SELECT {columns_of(self._table)} FROM {self._table.name} WHERE space = %s AND seq > %s "
            f"ORDER BY seq LIMIT {BATCH}"
        )
        while rows := self._db.execute(sql.encode(), (self._space, last), binary=True).fetchall():
            for row in rows:
                last = row[shape.columns.index("seq")]
                yield from self._row(shape, row)

    def _row(self, shape: RowCodec, row: tuple[Any, ...]) -> Iterator[Finding]:
        self.rows += 1
        self.total += row[-1]
        if not shape.is_sound(row):
            id = str(row[shape.columns.index("id")])
            yield Finding("row_changed", self._table.name, id[:100], "the row does not match its checksum")
        elif self._table.index is not None:
            yield from self._words(shape.decode(row))

    def _words(self, record: Any) -> Iterator[Finding]:
        text = self._table.index(record) if self._table.index else None
        sql = "SELECT at, length, terms, weights FROM word_rows WHERE space = %s AND seq = %s"
        found = self._db.execute(sql, (self._space, record.seq), binary=True).fetchone()
        if text is not None and found not in packings(text):
            message = f"the word index does not say what the rows say; {_MEND}"
            yield Finding("index_out_of_step", "words", str(record.seq), message)


def _counter(db: Connection, space: int) -> Iterator[Finding]:
    """A counter set back would give new records the numbers of old ones."""
    highest = ", ".join(f"(SELECT max(seq) FROM {table.name} WHERE space = s.space)" for table in TABLES)
    sql = f"SELECT last_seq < greatest({highest}) FROM spaces AS s WHERE space = %s"
    row = db.execute(sql.encode(), (space,)).fetchone()
    if row is None or row[0]:
        yield Finding("counter_behind", "spaces", "seq", "the counter of writes lies behind the records")


def _tally(db: Connection, space: int, table: Table[Any], walk: _Walk) -> Iterator[Finding]:
    sql = "SELECT rows, sum FROM tallies WHERE space = %s AND source = %s"
    known = db.execute(sql, (space, table.name)).fetchone() or (0, 0)
    if walk.rows < known[0]:
        yield Finding("row_missing", table.name, "", f"{known[0] - walk.rows} rows were removed behind its back")
    elif walk.rows > known[0]:
        yield Finding("row_added", table.name, "", f"{walk.rows - known[0]} rows were added behind its back")
    elif walk.total != int(known[1]):
        yield Finding("row_changed", table.name, "", "rows were exchanged behind its back")


def _vectors(db: Connection, space: int) -> Iterator[Finding]:
    for seq in wrong_vectors(db, space):
        yield Finding("index_out_of_step", "vectors", str(seq), f"the vector is not what was written; {_MEND}")


def wrong_vectors(db: Connection, space: int) -> Iterator[int]:
    """Records of which a part's vector is not as it was written."""
    sql = (
        "SELECT seq, part, model, hash, numbers, checksum FROM vectors WHERE space = %s AND (seq, part) > (%s, %s) "
        f"ORDER BY seq, part LIMIT {BATCH}"
    )
    at = (-(2**63), 0)
    while rows := db.execute(sql.encode(), (space, *at), binary=True).fetchall():
        for seq, part, model, hash, numbers, checksum in rows:
            at = (seq, part)
            if part_checksum(seq, part, model, hash, le(numbers_of(numbers))) != checksum:
                yield seq
