"""Reading: rows as records, and the word index over the rows of a space."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from psycopg.pq import TransactionStatus

from holdfast.core.errors import DataDamaged
from holdfast.core.model import Dispatch, Token
from holdfast.store.fulltext.bounds import bounds_of, is_of_few
from holdfast.store.fulltext.parts import ScopeBounds
from holdfast.store.fulltext.word_reads import T, WordReads
from holdfast.store.fulltext.word_search import WordIndex
from holdfast.store.port import Condition, R, Table
from holdfast.store.postgres.conditions import clause, columns_of, order_by
from holdfast.store.postgres.damage.damaged_spaces import LIVE, DamagedSpaces, damage_in
from holdfast.store.postgres.pool import ANY_SPACE, EVERY_SPACE, Connect, WordDatabase, faults
from holdfast.store.postgres.vectors.code_cache import CodeCache
from holdfast.store.postgres.vectors.vector_rows import VectorReads
from holdfast.store.rows import RowCodec, shape_of
from holdfast.store.tables import TABLES, TOKENS

FEW = 5_000  # records that are fetched by their numbers rather than looked for among all
STREAMED = 500  # rows that `each` holds at once
NOWHERE = -1  # a space that does not exist: queries of a tenant without a memory find nothing


class PostgresReader(VectorReads, WordReads):
    """Reads through the connections it is given; fulfils `port.Reader`."""

    def __init__(
        self,
        connect: Connect,
        index: WordIndex,
        *,
        alone: bool = False,
        codes: CodeCache | None = None,
        damaged: DamagedSpaces | None = None,
    ):
        """`alone`: the connections are one that has a transaction open, in which nothing cached of the index is
        true. `damaged` records damage; a list goes on without a damaged row then."""
        super().__init__(connect, alone=alone)
        self._word_index = index
        self._codes = codes
        self._damaged = damaged

    def space_of(self, tenant: str) -> int | None:
        if self._damaged is None:
            return super().space_of(tenant)
        if tenant not in self._spaces:
            found = self.rows(LIVE, (tenant,), ANY_SPACE)
            if not found:
                return None
            space, extent, why = found[0]
            if not self._alone:  # a transaction may be of an earlier moment
                self._damaged.saw(tenant, space, damage_in(extent, why))
            self._spaces[tenant] = space
        return self._spaces[tenant]

    def _space(self, tenant: str) -> int:
        found = self.space_of(tenant)
        return NOWHERE if found is None else found

    def _words(self, tenant: str, ask: Callable[[WordDatabase, Any], T]) -> T:
        """What the word index answers; the tenant's space is what it calls the tenant."""
        space = self._space(tenant)

        def read() -> T:
            with faults(), self._connect(space) as db:
                return ask(WordDatabase(db), space)

        return self._twice(read)

    def _records(self, table: Table[R], sql: str, values: Sequence[Any], tenant: str) -> list[R]:
        """The records of a list, which goes on without a damaged row: the tenant's memory takes no writes from then
        on, and every answer reports that. Inside a write it is a fault."""
        shape = shape_of(table)
        return [
            shape.decode(row)
            for row in self.rows(sql, values, self._space(tenant))
            if shape.is_sound(row) or self._passes_over(shape, tenant)
        ]

    def _passes_over(self, shape: RowCodec, tenant: str) -> Literal[False]:
        fault = self._met(shape, tenant)
        if self._damaged is None:
            raise fault
        return False

    def _met(self, shape: RowCodec, tenant: str) -> DataDamaged:
        """The fault of a row that is not as it was written."""
        why = f"{shape.table}: a row does not match its checksum"
        if self._damaged is None:
            return DataDamaged(f"store: {why}")
        self._damaged.met(tenant, self._space(tenant), why)
        return DataDamaged(f"store: {why}", hint=self._damaged.hint(tenant))

    def get(self, table: Table[R], tenant: str, id: str) -> R | None:
        sql = f"SELECT {columns_of(table)} FROM {table.name} WHERE space = %s AND id = %s"
        space = self._space(tenant)
        rows = self.rows(sql, (space, id), space)
        if not rows:
            return None
        shape = shape_of(table)
        if not shape.is_sound(rows[0]):  # a list may go on without it; "not found" would be untrue
            raise self._met(shape, tenant)
        return shape.decode(rows[0])  # type: ignore[no-any-return]

    def find(
        self,
        table: Table[R],
        tenant: str,
        *conditions: Condition,
        order: str = "-seq",
        limit: int | None = None,
        offset: int = 0,
    ) -> list[R]:
        if any(one.op in ("in", "any") and not len(one.value) for one in conditions):
            return []  # without a round trip
        ordered = order_by(shape_of(table), order)
        if order == "-seq" and limit is not None and conditions and self._indexed(table, conditions) is not None:
            listed = self.newest(table, tenant, offset + limit, *conditions)
            page = listed[max(0, len(listed) - offset - limit) : max(0, len(listed) - offset)]
            conditions, limit, offset = (Condition("seq", "in", page.tolist()),), None, 0
        where, values = self._narrow(table, tenant, conditions)
        sql = f"SELECT {columns_of(table)} FROM {table.name} WHERE {where} ORDER BY {ordered}"
        return self._records(table, f"{sql} LIMIT %s OFFSET %s", [*values, limit, offset], tenant)

    def each(self, table: Table[R], tenant: str, *conditions: Condition, order: str = "seq") -> Iterator[R]:
        shape = shape_of(table)
        space = self._space(tenant)
        where, values = clause(table, space, conditions)
        sql = f"SELECT {columns_of(table)} FROM {table.name} WHERE {where} ORDER BY {order_by(shape, order)}"
        with faults(), self._connect(space) as db:
            began = db.info.transaction_status == TransactionStatus.IDLE
            if began:
                db.execute("BEGIN READ ONLY")
            try:
                with db.cursor("holdfast_each", binary=True) as cursor:
                    cursor.itersize = STREAMED
                    for row in cursor.execute(sql.encode(), values):
                        if not shape.is_sound(row):  # what is read whole, as an export, must not lack one unnoticed
                            raise self._met(shape, tenant)
                        yield shape.decode(row)
            finally:
                if began and not db.closed:
                    db.execute("ROLLBACK")

    def count(self, table: Table[Any], tenant: str, *conditions: Condition) -> int:
        if conditions and (bounds := self._indexed(table, conditions)) is not None:
            return self._words(tenant, lambda db, space: self._word_index.count(db, space, bounds))
        where, values = self._narrow(table, tenant, conditions)
        return int(self.rows(f"SELECT count(*) FROM {table.name} WHERE {where}", values, self._space(tenant))[0][0])

    def _indexed(self, table: Table[Any], conditions: Sequence[Condition]) -> ScopeBounds | None:
        """The conditions as bounds in the index of words, if it knows all of them and this is no write."""
        if table.index is None or self._alone:
            return None
        bounds, rest = bounds_of(table, conditions)
        return None if rest else bounds

    def spread(self, table: Table[Any], tenant: str, width: int, *conditions: Condition) -> dict[int, int]:
        if (bounds := self._indexed(table, conditions)) is not None:
            ats = self._words(tenant, lambda db, space: self._word_index.times(db, space, bounds))
            spans, counts = np.unique(ats // width, return_counts=True)
            return dict(zip(spans.tolist(), counts.tolist(), strict=True))
        where, values = self._narrow(table, tenant, conditions)
        sql = f"SELECT {table.timed} / %s AS span, count(*) FROM {table.name} WHERE {where} GROUP BY span"
        return {span: count for span, count in self.rows(sql, [width, *values], self._space(tenant))}

    def _narrow(self, table: Table[Any], tenant: str, conditions: Sequence[Condition]) -> tuple[str, list[Any]]:
        """The clause of the conditions. Where few records hold one of several values, the index of words knows which.
        Not inside a write, where what is cached of the index is not yet true."""
        some = [one for one in conditions if one.column in table.scoped and is_of_few(one)]
        found = self.within(table, tenant, some, FEW) if some and not self._alone else None
        more = [] if found is None else [Condition("seq", "in", found.tolist())]
        return clause(table, self._space(tenant), [*more, *conditions])

    def _passing(self, table: Table[Any], tenant: str, conditions: Sequence[Condition], seqs: list[int]) -> set[int]:
        space = self._space(tenant)
        where, values = clause(table, space, [Condition("seq", "in", seqs), *conditions])
        return {seq for (seq,) in self.rows(f"SELECT seq FROM {table.name} WHERE {where}", values, space)}

    def values(
        self, table: Table[Any], tenant: str, columns: Sequence[str], seqs: Sequence[int], *conditions: Condition
    ) -> list[tuple[Any, ...]]:
        where, values = clause(table, self._space(tenant), conditions, "r.")
        names = ", ".join(f"r.{column}" for column in columns if column in shape_of(table).columns)
        asked = f"unnest(%s::bigint[]) WITH ORDINALITY AS asked(seq, place) JOIN {table.name} AS r ON r.seq = asked.seq"
        sql = f"SELECT {names} FROM {asked} WHERE {where} ORDER BY asked.place"
        return self.rows(sql, [list(seqs), *values], self._space(tenant))

    def recalls(self, tenant: str, seqs: Sequence[int]) -> dict[int, int]:
        return {seq: count for seq, (count, _) in self.last_recalls(tenant, seqs).items()}

    def last_recalls(self, tenant: str, seqs: Sequence[int]) -> dict[int, tuple[int, int]]:
        sql = "SELECT seq, count, at FROM recalls WHERE space = %s AND seq = ANY(%s::bigint[])"
        space = self._space(tenant)
        return {seq: (count, at) for seq, count, at in self.rows(sql, (space, list(seqs)), space)}

    def tokens_by_id(self, id: str) -> list[Token]:
        columns = columns_of(TOKENS, "r.")
        sql = f"SELECT {columns} FROM tokens AS r JOIN tenants AS t ON t.live = r.space WHERE r.id = %s"
        shape, found = shape_of(TOKENS), []
        for row in self.rows(sql, (id,), EVERY_SPACE):
            if shape.is_sound(row) or self._passes_over(shape, str(row[shape.columns.index("tenant")])):
                found.append(shape.decode(row))
        return found

    def sizes(self) -> dict[str, int]:
        sql = "SELECT source, sum(rows)::bigint FROM tallies WHERE space IN (SELECT live FROM tenants) GROUP BY source"
        return {name: rows for name, rows in self.rows(sql, (), EVERY_SPACE) if rows}

    def dispatches(self, limit: int, after: int = 0) -> list[Dispatch]:
        sql = "SELECT place, tenant, agent, kind, body FROM events WHERE place > %s ORDER BY place LIMIT %s"
        return [Dispatch(*row) for row in self.rows(sql, (after, limit), EVERY_SPACE)]

    def undispatched(self, tenant: str | None = None) -> int:
        sql = "SELECT count(*) FROM events WHERE %s::text IS NULL OR tenant = %s"
        return int(self.rows(sql, (tenant, tenant), EVERY_SPACE)[0][0])

    def tenants(self) -> list[str]:
        parts = " OR ".join(f"EXISTS (SELECT 1 FROM {table.name} AS r WHERE r.space = t.live)" for table in TABLES)
        sql = f"SELECT tenant FROM tenants AS t WHERE {parts} ORDER BY 1"
        return [tenant for (tenant,) in self.rows(sql, (), EVERY_SPACE)]
