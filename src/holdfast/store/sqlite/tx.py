"""Writing: rows, checksums, words, sketches and outbox move together or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import apsw

from holdfast.errors import Conflict
from holdfast.model import Event
from holdfast.store.port import R, Table
from holdfast.store.sqlite.alike import Alike, pack
from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.reader import SqliteReader
from holdfast.store.sqlite.rows import shape_of
from holdfast.store.sqlite.wordtables import add_words, drop_words, make_words

_WRAP = 1 << 64


def signed64(value: int) -> int:
    """The value modulo 2^64, as SQLite's signed integer."""
    value %= _WRAP
    return value - _WRAP if value >= _WRAP >> 1 else value


@cache
def _insert_sql(table: Table[Any]) -> str:
    columns = (*shape_of(table).columns, "checksum")
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


class SqliteTx(SqliteReader):
    """One job's writes inside the current transaction; fulfils `port.Tx`."""

    def __init__(self, db: apsw.Connection, next_seq: Callable[[], int], alike: Callable[[], Alike]):
        super().__init__(db)
        self._alike = alike
        self._next_seq = next_seq
        self.events: list[Event] = []
        self.tallies: dict[str, tuple[int, int]] = {}
        self.sketches: list[tuple[str, int, tuple[int, ...]]] = []  # for the look-up, once the job is done

    def near(self, tenant: str, sketch: Sequence[int], limit: int) -> list[int]:
        return self._alike().near(tenant, sketch, limit)

    def next_seq(self) -> int:
        return self._next_seq()

    def publish(self, event: Event) -> None:
        self.events.append(event)

    def add(self, table: Table[R], record: R) -> None:
        shape = shape_of(table)
        values = shape.encode(record)
        checksum = shape.checksum(values)
        try:
            self._db.execute(_insert_sql(table), (*values, checksum))
        except apsw.ConstraintError as error:
            raise Conflict(f"{table.name}: a record of that id exists already") from error
        self._tally(table, 1, checksum)
        self._index(table, record, "add")

    def replace(self, table: Table[R], record: R) -> None:
        tenant, id = record.tenant, record.id  # type: ignore[attr-defined]
        tallies = dict(self.tallies)
        self._db.execute("SAVEPOINT swap")
        try:
            self._drop(table, tenant, id)
            self.add(table, record)
        except Conflict:  # the old record stays
            self._db.execute("ROLLBACK TO swap")
            self.tallies = tallies
            raise
        finally:
            self._db.execute("RELEASE swap")

    def delete(self, table: Table[Any], tenant: str, id: str) -> bool:
        dropped = self._drop(table, tenant, id)
        if dropped is not None and table.index:
            self._outbox(table, tenant, dropped, "delete")
        return dropped is not None

    def _drop(self, table: Table[Any], tenant: str, id: str) -> int | None:
        shape = shape_of(table)
        columns = ", ".join((*shape.columns, "checksum"))
        sql = f"SELECT {columns} FROM {table.name} WHERE tenant = ? AND id = ?"
        rows = self._rows(sql, (tenant, id))
        if not rows:
            return None
        with as_faults():
            old = shape.decode(rows[0])
        self._db.execute(f"DELETE FROM {table.name} WHERE seq = ?", (old.seq,))
        self._tally(table, -1, -rows[0][-1])
        if table.index:
            drop_words(self._db, make_words(self._db, tenant), old.seq)
            self._db.execute("DELETE FROM sketches WHERE seq = ?", (old.seq,))
        return int(old.seq)

    def _index(self, table: Table[R], record: R, change: str) -> None:
        if table.index is None:
            return
        seq, tenant = record.seq, record.tenant  # type: ignore[attr-defined]
        text = table.index(record)
        add_words(self._db, make_words(self._db, tenant), seq, text)
        if text.sketch:
            self._db.execute("INSERT INTO sketches VALUES (?, ?, ?)", (seq, tenant, pack(text.sketch)))
            self.sketches.append((tenant, seq, text.sketch))
        self._outbox(table, tenant, seq, change)

    def _outbox(self, table: Table[Any], tenant: str, seq: int, change: str) -> None:
        self._db.execute(
            "INSERT INTO outbox (tenant, source, seq, change) VALUES (?, ?, ?, ?)",
            (tenant, table.name, seq, change),
        )

    def _tally(self, table: Table[Any], rows: int, checksum: int) -> None:
        have_rows, have_sum = self.tallies.get(table.name, (0, 0))
        self.tallies[table.name] = (have_rows + rows, have_sum + checksum)

    def drop_outbox(self, limit: int) -> int:
        """Remove the oldest index entries; how many there were."""
        sql = "DELETE FROM outbox WHERE place IN (SELECT place FROM outbox ORDER BY place LIMIT ?)"
        self._db.execute(sql, (limit,))
        return int(self._db.changes())
