"""Whether the rows of a table are as they were written: every checksum is recomputed.

SQLite writes a row as JSON by itself, in the bytes that its checksum was made of, so that one value and not forty come
into the interpreter: half of the time. Where its bytes differ (some numbers, a damaged row), the row is checked value
by value, as its writer made it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw
from xxhash import xxh3_64_intdigest

from holdfast.store.port import Table
from holdfast.store.rows import WRAP, RowCodec, shape_of, signed64

Changed = tuple[int, str]  # seq and id of a row that is not what was written


class RowCheck:
    """One walk over a table. `rows` and `total` are what its tally should hold, once the walk is at its end."""

    def __init__(self, db: apsw.Connection, table: Table[Any]):
        self._db = db
        self._table = table
        self._shape = shape_of(table)
        self._sum = 0
        self.rows = 0

    @property
    def total(self) -> int:
        return signed64(self._sum)

    def changed(self) -> Iterator[Changed]:
        """The rows that do not match their checksums. NOT INDEXED: the rows themselves are read, not a copy of their
        columns in an index."""
        last = -(2**63) - 1
        try:
            for seq, text, checksum, exact in self._written_by_sqlite():
                if seq <= last:  # out of its order: not a table any more that can be walked
                    break
                last = seq
                self.rows += 1
                self._sum += checksum
                # As `row_checksum` does it, without the calls: they would be a tenth of all.
                if xxh3_64_intdigest(text) != checksum % WRAP or not exact:
                    yield from self._looked_at(seq, checksum)
            else:
                return
        except (apsw.SQLError, TypeError):  # a value of another type than was ever written
            pass
        yield from self._one_by_one()

    def _written_by_sqlite(self) -> Any:
        """seq, JSON, checksum, and whether every number with a fraction equals its JSON: SQLite may round it."""
        columns = self._shape.columns
        fractions = [f"CAST(json_quote({columns[at]}) AS REAL) IS {columns[at]}" for at in self._shape.floats]
        return self._db.execute(
            f"SELECT seq, CAST(json_array('{self._table.name}', {', '.join(columns)}) AS BLOB), checksum, "
            f"{' AND '.join(fractions) or '1'} FROM {self._table.name} NOT INDEXED ORDER BY seq"
        )

    def _one_by_one(self) -> Iterator[Changed]:
        seqs: Any = self._db.execute(
            f"SELECT seq FROM {self._table.name} NOT INDEXED ORDER BY seq LIMIT -1 OFFSET ?", (self.rows,)
        )
        for (seq,) in seqs:
            checksum = self._value("checksum", seq)
            self.rows += 1
            self._sum += checksum if isinstance(checksum, int) else 0
            yield from self._looked_at(seq, checksum)

    def _looked_at(self, seq: int, checksum: Any) -> Iterator[Changed]:
        columns = ", ".join(self._shape.columns)
        try:
            found: Any = self._db.execute(f"SELECT {columns} FROM {self._table.name} WHERE seq = ?", (seq,)).fetchall()
        except UnicodeDecodeError:  # bytes where text was
            found = None
        if not found or not _matches(self._shape, found[0], checksum):  # none: its own number does not lead to it
            yield seq, self._id_of(seq)

    def _id_of(self, seq: int) -> str:
        found = self._value("CAST(id AS BLOB)", seq)
        return found.decode("utf-8", "replace") if isinstance(found, bytes) else ""

    def _value(self, expression: str, seq: int) -> Any:
        return self._db.execute(f"SELECT {expression} FROM {self._table.name} WHERE seq = ?", (seq,)).get


def _matches(shape: RowCodec, row: tuple[Any, ...], checksum: Any) -> bool:
    try:
        return bool(shape.checksum(row) == checksum)
    except (TypeError, ValueError):  # bytes or bad UTF-8 where text was: changed for certain
        return False
