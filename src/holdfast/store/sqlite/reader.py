"""Reading: conditions as SQL, rows as records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import apsw
import numpy as np
import orjson

from holdfast.core.errors import DataDamaged
from holdfast.core.model import Dispatch, Token
from holdfast.store.damage import DamageWatch
from holdfast.store.fulltext.bounds import bounds_of, is_of_few
from holdfast.store.fulltext.parts import ScopeBounds
from holdfast.store.fulltext.word_reads import T, WordReads
from holdfast.store.fulltext.word_search import WordIndex
from holdfast.store.port import Condition, R, Table, Usage
from holdfast.store.rows import Row, RowCodec, shape_of
from holdfast.store.sqlite.event_queue import count_dispatches, read_dispatches
from holdfast.store.sqlite.faults import DamageReporting, as_faults
from holdfast.store.sqlite.recall_counts import count_recalls, last_recalls
from holdfast.store.sqlite.vectors.codes import VectorCodes
from holdfast.store.sqlite.vectors.nearest import VectorReads
from holdfast.store.tables import COUNTED, TABLES, TOKENS

FEW = 5_000  # records that are fetched one by one rather than looked for among all

_TABLES = frozenset(table.name for table in TABLES)
_VALUELESS = {"is null": "IS NULL", "not null": "IS NOT NULL"}


def _any_sql(name: str, arity: int) -> str:
    """A list that holds one of the values. Most lists have one member, which is compared without reading the list."""
    if not arity:
        return "0"
    marks = ", ".join("?" * arity)
    return f"({name} IN ({marks}) OR EXISTS (SELECT 1 FROM json_each({name}) WHERE value IN ({marks})))"


def _where(table: Table[Any], conditions: tuple[tuple[str, str, int], ...], prefix: str = "") -> str:
    """The WHERE clause; values are always bound, and names must be columns of the table."""
    shape = shape_of(table)
    # Rows named by seq are fetched by it; without the + SQLite scans an index of the tenant (84 against 7 µs).
    by_seq = any(column == "seq" and op == "in" for column, op, _ in conditions)
    parts = [f"{'+' if by_seq else ''}{prefix}tenant = ?"]
    for column, op, arity in conditions:
        if column not in shape.columns:
            raise KeyError(f"{table.name} has no column {column}")
        name = f"{prefix}{column}"
        if op == "in":
            parts.append(f"{name} IN ({', '.join('?' * arity)})" if arity else "0")
        elif op in _VALUELESS:
            parts.append(f"{name} {_VALUELESS[op]}")
        elif op == "has":
            parts.append(f"EXISTS (SELECT 1 FROM json_each({name}) WHERE value = ?)")
        elif op == "any":
            parts.append(_any_sql(name, arity))
        elif op == "until":
            parts.append(f"({name} IS NULL OR {name} > ?)")
        elif op == "!=":
            parts.append(f"{name} IS NOT ?")
        else:
            parts.append(f"{name} {op} ?")
    return " AND ".join(parts)


def _clause(table: Table[Any], tenant: str, conditions: Sequence[Condition], prefix: str = "") -> tuple[str, list[Any]]:
    shapes = tuple((one.column, one.op, len(one.value) if one.op in ("in", "any") else 1) for one in conditions)
    values: list[Any] = [tenant]
    for one in conditions:
        if one.op == "in":
            values.extend(one.value)
        elif one.op == "any":
            values += [*(orjson.dumps([value]).decode() for value in one.value), *one.value]
        elif one.op not in _VALUELESS:
            values.append(int(one.value) if isinstance(one.value, bool) else one.value)
    return _where(table, shapes, prefix), values


def _order(shape: RowCodec, order: str) -> str:
    column = order.removeprefix("-")
    if column not in shape.columns:
        raise KeyError(f"{shape.table} has no column {column}")
    direction = "DESC" if order.startswith("-") else "ASC"
    # seq settles ties, so that pages neither repeat nor skip a record.
    return f"{column} {direction}" if column == "seq" else f"{column} {direction}, seq {direction}"


def _columns(table: Table[Any], prefix: str = "") -> str:
    return ", ".join(f"{prefix}{column}" for column in (*shape_of(table).columns, "checksum"))


class SqliteReader(VectorReads, WordReads):
    """Reads through one connection; fulfils `port.Reader`."""

    def __init__(
        self,
        db: apsw.Connection,
        codes: VectorCodes,
        stream: Callable[[], apsw.Connection] | None = None,
        index: WordIndex | None = None,
        watch: DamageWatch | None = None,
    ):
        """`stream` opens a connection for `each`, whose open cursor would keep this one in an old transaction.
        `watch` records damage."""
        self._watch = watch
        self._faults = DamageReporting(watch) if watch is not None else as_faults()
        self._db = db
        self._codes = codes
        self._stream = stream
        self._word_index = index or WordIndex()

    def _words(self, tenant: str, ask: Callable[[Any, Any], T]) -> T:
        with self._faults:
            return ask(self._db, tenant)

    def _rows(self, sql: str, values: Sequence[Any]) -> list[Row]:
        with self._faults:
            return self._db.execute(sql, values).fetchall()

    def _records(self, table: Table[R], sql: str, values: Sequence[Any]) -> list[R]:
        shape = shape_of(table)
        rows = self._rows(sql, values)
        with self._faults:
            return [shape.decode(row) for row in rows if self._is_sound(shape, row)]

    def _is_sound(self, shape: RowCodec, row: Row) -> bool:
        """Whether a row is as it was written, which takes a twentieth of the time of reading it.

        A list goes on without a damaged one, if the store has a watch: it takes no writes from then on, and every
        answer reports that. Without a watch, and inside a write, it is a fault.
        """
        if shape.is_sound(row):
            return True
        if self._watch is None:
            raise DataDamaged(f"store: a row of {shape.table} does not match its checksum")
        self._watch.met(f"{shape.table}: a row does not match its checksum")
        return False

    def get(self, table: Table[R], tenant: str, id: str) -> R | None:
        sql = f"SELECT {_columns(table)} FROM {table.name} WHERE tenant = ? AND id = ?"
        rows = self._rows(sql, (tenant, id))
        if not rows:
            return None
        shape = shape_of(table)
        with self._faults:
            if not shape.is_sound(rows[0]):  # a list may go on without it; "not found" would be untrue
                raise DataDamaged(f"store: the row of {table.name} does not match its checksum")
            record: R = shape.decode(rows[0])
        return record

    def find(
        self,
        table: Table[R],
        tenant: str,
        *conditions: Condition,
        order: str = "-seq",
        limit: int | None = None,
        offset: int = 0,
    ) -> list[R]:
        shape = shape_of(table)
        if order == "-seq" and limit is not None and conditions and self._indexed(table, conditions) is not None:
            return self._newest_page(table, tenant, conditions, limit, offset)
        clause, values = self._narrow(table, tenant, conditions)
        sql = f"SELECT {_columns(table)} FROM {table.name} WHERE {clause} ORDER BY {_order(shape, order)}"
        if limit is not None or offset:
            sql += " LIMIT ? OFFSET ?"
            values += [-1 if limit is None else limit, offset]
        return self._records(table, sql, values)

    def _newest_page(
        self, table: Table[R], tenant: str, conditions: Sequence[Condition], limit: int, offset: int
    ) -> list[R]:
        """Records that the index of words lists. SQLite would look through all latest memories and sort them: 670 ms
        for a page of 100,000 where this takes 3."""
        listed = self.newest(table, tenant, offset + limit, *conditions)
        page = listed[: max(0, len(listed) - offset)]
        if not len(page):
            return []
        sql = f"SELECT {_columns(table)} FROM {table.name} WHERE seq IN carray(?) AND +tenant = ? ORDER BY seq DESC"
        return self._records(table, sql, [apsw.carray(page[-limit:]), tenant])

    def each(self, table: Table[R], tenant: str, *conditions: Condition, order: str = "seq") -> Iterator[R]:
        shape = shape_of(table)
        clause, values = _clause(table, tenant, conditions)
        sql = f"SELECT {_columns(table)} FROM {table.name} WHERE {clause} ORDER BY {_order(shape, order)}"
        db = self._stream() if self._stream else self._db
        try:
            with self._faults:
                for row in db.execute(sql, values):
                    if not shape.is_sound(row):  # what is read whole, as an export, must not lack one unnoticed
                        raise DataDamaged(f"store: a row of {table.name} does not match its checksum")
                    yield shape.decode(row)
        finally:
            if db is not self._db:
                db.close()

    def count(self, table: Table[Any], tenant: str, *conditions: Condition) -> int:
        if (bounds := self._indexed(table, conditions)) is not None and conditions:
            with self._faults:
                return self._word_index.count(self._db, tenant, bounds)
        clause, values = self._narrow(table, tenant, conditions)
        return int(self._rows(f"SELECT count(*) FROM {table.name} WHERE {clause}", values)[0][0])

    def _indexed(self, table: Table[Any], conditions: Sequence[Condition]) -> ScopeBounds | None:
        """The conditions as bounds in the index of words, if it knows all of them and this is no write."""
        if table.index is None or not self._db.get_autocommit():
            return None
        bounds, rest = bounds_of(table, conditions)
        return None if rest else bounds

    def spread(self, table: Table[Any], tenant: str, width: int, *conditions: Condition) -> dict[int, int]:
        if (bounds := self._indexed(table, conditions)) is not None:
            with self._faults:
                ats = self._word_index.times(self._db, tenant, bounds)
            spans, counts = np.unique(ats // width, return_counts=True)
            return dict(zip(spans.tolist(), counts.tolist(), strict=True))
        clause, values = self._narrow(table, tenant, conditions)
        sql = f"SELECT {table.timed} / ? AS span, count(*) FROM {table.name} WHERE {clause} GROUP BY span"
        return dict(self._rows(sql, [width, *values]))

    def _narrow(self, table: Table[Any], tenant: str, conditions: Sequence[Condition]) -> tuple[str, list[Any]]:
        """The clause of the conditions. Where few records hold one of several values, the index of words knows which:
        listing the 20 memories that a caller may see of 10,000 took 21 ms without it.

        Not inside a write, where what is cached of the index is not yet true.
        """
        some = [one for one in conditions if one.column in table.scoped and is_of_few(one)]
        found = self.within(table, tenant, some, FEW) if some and self._db.get_autocommit() else None
        if found is not None and not len(found):
            return "0", []
        clause, values = _clause(table, tenant, conditions)
        if found is None:
            return clause, values
        return f"seq IN carray(?) AND +{clause}", [apsw.carray(found), *values]

    def _passing(self, table: Table[Any], tenant: str, conditions: Sequence[Condition], seqs: list[int]) -> set[int]:
        clause, values = _clause(table, tenant, conditions, "r.")
        asked = f"json_each(?) AS asked CROSS JOIN {table.name} AS r ON r.seq = asked.value"
        sql = f"SELECT r.seq FROM {asked} WHERE {clause}"
        return {seq for (seq,) in self._rows(sql, [orjson.dumps(seqs).decode(), *values])}

    def values(
        self, table: Table[Any], tenant: str, columns: Sequence[str], seqs: Sequence[int], *conditions: Condition
    ) -> list[tuple[Any, ...]]:
        clause, values = _clause(table, tenant, conditions, "r.")
        names = ", ".join(f"r.{column}" for column in columns if column in shape_of(table).columns)
        asked = f"json_each(?) AS asked CROSS JOIN {table.name} AS r ON r.seq = asked.value"
        return self._rows(f"SELECT {names} FROM {asked} WHERE {clause}", [orjson.dumps(list(seqs)).decode(), *values])

    def recalls(self, tenant: str, seqs: Sequence[int]) -> dict[int, int]:
        with self._faults:
            return count_recalls(self._db, tenant, seqs)

    def last_recalls(self, tenant: str, seqs: Sequence[int]) -> dict[int, tuple[int, int]]:
        with self._faults:
            return last_recalls(self._db, tenant, seqs)

    def tokens_by_id(self, id: str) -> list[Token]:
        return self._records(TOKENS, f"SELECT {_columns(TOKENS)} FROM tokens WHERE id = ?", (id,))

    def usage(self, tenant: str) -> Usage:
        """What the tenant's memory holds, counted by reading every row: some 0.2 s for 100,000."""
        found: list[Any] = []
        for table in COUNTED:
            shape = shape_of(table)
            length = " + ".join(f"coalesce(octet_length({shape.columns[at]}), 0)" for at in shape.texts)
            sql = f"SELECT count(*), coalesce(sum({length}), 0) FROM {table.name} WHERE tenant = ?"
            found += self._rows(sql, (tenant,))
        return Usage(sum(rows for rows, _ in found), sum(size for _, size in found))

    def sizes(self) -> dict[str, int]:
        return {
            name: rows for name, rows in self._rows("SELECT source, rows FROM tallies", ()) if name in _TABLES and rows
        }

    def dispatches(self, limit: int, after: int = 0) -> list[Dispatch]:
        with self._faults:
            return read_dispatches(self._db, limit, after)

    def undispatched(self, tenant: str | None = None) -> int:
        with self._faults:
            return count_dispatches(self._db, tenant)

    def tenants(self) -> list[str]:
        parts = [f"SELECT tenant FROM {table.name}" for table in TABLES]
        return [tenant for (tenant,) in self._rows(" UNION ".join(parts) + " ORDER BY 1", ())]
