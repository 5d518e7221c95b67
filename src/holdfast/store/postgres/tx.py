"""Writing: rows, checksums, words, sketches and outbox move together or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from holdfast.core.errors import Conflict, DataDamaged
from holdfast.core.model import Dispatch, Event, Json
from holdfast.core.ports import Clock
from holdfast.store.envelope import envelope, mutation
from holdfast.store.fulltext.postings import pack
from holdfast.store.fulltext.word_search import WordIndex
from holdfast.store.minhash import NEWEST, most_alike
from holdfast.store.port import IndexText, R, Table, Usage
from holdfast.store.postgres.batch import Batch
from holdfast.store.postgres.conditions import columns_of
from holdfast.store.postgres.pool import EVERY_SPACE, Connection, faults
from holdfast.store.postgres.reader import PostgresReader
from holdfast.store.postgres.session import Session
from holdfast.store.postgres.shared.notices import Notice, notify
from holdfast.store.postgres.shared.rate_limits import RateLimits
from holdfast.store.postgres.usage import usage_inside
from holdfast.store.postgres.vectors.vector_rows import VectorWrites
from holdfast.store.rows import RowCodec, shape_of
from holdfast.store.tables import TABLES, TOKENS

MOST_RECALLS = 1_000_000  # a larger count has no use

_SEARCHED = tuple(table.name for table in TABLES if table.index)
_HELD = " OR ".join(f"EXISTS (SELECT 1 FROM {name} WHERE space = g.space AND seq = g.seq)" for name in _SEARCHED)
_RECALLS = (
    f"INSERT INTO recalls SELECT g.space, g.seq, least(g.count, {MOST_RECALLS}), g.at "
    f"FROM (VALUES (%s::bigint, %s::bigint, %s::bigint, %s::bigint)) AS g(space, seq, count, at) WHERE {_HELD} "
    f"ON CONFLICT (space, seq) DO UPDATE SET count = least(recalls.count + excluded.count, {MOST_RECALLS}), "
    "at = greatest(recalls.at, excluded.at)"
)
_NEAR = (
    "SELECT h.hash, s.seq FROM unnest(%s::bigint[]) AS h(hash) CROSS JOIN LATERAL "
    "(SELECT seq FROM sketches WHERE space = %s AND hash = h.hash ORDER BY seq DESC LIMIT %s) AS s"
)


@cache
def _insert_sql(table: Table[Any]) -> str:
    marks = ", ".join(["%s"] * (len(shape_of(table).columns) + 2))
    return f"INSERT INTO {table.name} (space, {columns_of(table)}) VALUES ({marks}) ON CONFLICT DO NOTHING"


class PostgresTx(VectorWrites, PostgresReader):
    """One job's writes inside the current transaction; fulfils `port.Tx`."""

    def __init__(self, batch: Batch, index: WordIndex, telling: Clock | None = None):
        """With a clock, events are kept for the broker."""
        PostgresReader.__init__(self, batch.view.connect, index, alone=True)
        self._batch = batch
        self._telling = telling
        self.events: list[Event] = []
        self.tallies: dict[tuple[int, str], tuple[int, int]] = {}

    def _met(self, shape: RowCodec, tenant: str) -> DataDamaged:
        self._batch.met.append((tenant, self._space(tenant), f"{shape.table}: a row does not match its checksum"))
        return super()._met(shape, tenant)

    def sound(self, table: Table[R], tenant: str) -> list[R]:
        """All records of a table whose rows are as they were written, for what is rebuilt from them."""
        shape, space = shape_of(table), self.locked(tenant)
        sql = f"SELECT {columns_of(table)} FROM {table.name} WHERE space = %s ORDER BY seq"
        return [shape.decode(row) for row in self.rows(sql, (space,), space) if shape.is_sound(row)]

    def see(self, space: int) -> Connection:
        """The transaction's connection, which sees that space until another statement runs."""
        return self._batch.view.see(space)

    def space_of(self, tenant: str) -> int | None:
        """Locked before anything is read: what a job reads, no other server changes before the job's writes."""
        return self._batch.existing(tenant)

    def locked(self, tenant: str) -> int:
        return self._batch.locked(tenant)

    def next_seq(self, tenant: str) -> int:
        return self._batch.next_seq(tenant)

    def near(self, tenant: str, sketch: Sequence[int], limit: int) -> list[int]:
        holders: dict[int, set[int]] = {one: set() for one in sketch}
        space = self._space(tenant)
        for hash, seq in self.rows(_NEAR, (list(holders), space, NEWEST), space):
            holders[hash].add(seq)
        return most_alike(list(holders.values()), limit)

    def publish(self, event: Event) -> None:
        self.events.append(event)

    def dispatch(self, kind: str, tenant: str, agent: str | None, body: Json) -> None:
        if self._telling is not None:
            self._keep_event(kind, tenant, agent, envelope(kind, tenant, agent, self._telling.now_ms(), body))

    def _keep_event(self, kind: str, tenant: str, agent: str | None, body: str) -> None:
        sql = "INSERT INTO events (space, tenant, agent, kind, body) VALUES (%s, %s, %s, %s, %s)"
        space = self.locked(tenant)
        self.run(sql, (space, tenant, agent, kind, body), space)

    def dispatched(self, sent: Sequence[Dispatch]) -> None:
        # These and no others: an event of another space may have a smaller place and be committed later.
        places = [one.place for one in sent]
        self.run("DELETE FROM events WHERE place = ANY(%s::bigint[])", (places,), EVERY_SPACE)

    def take_over(self, waiting: Sequence[Dispatch]) -> None:
        for one in waiting:
            self._keep_event(one.kind, one.tenant, one.agent, one.body)

    def usage(self, tenant: str) -> Usage:
        return usage_inside(self._batch, tenant)

    def take_allowance(self, tenant: str, name: str, rate: float, burst: float, now: float) -> float:
        return RateLimits(self._batch.view.connect).take(name, tenant, rate, burst)

    def _tell_mutation(self, table: Table[R], old: R | None, new: R | None) -> None:
        record: Any = old if new is None else new
        self.dispatch("mutated", record.tenant, record.agent, mutation(table, old, new, self.next_seq(record.tenant)))

    def add(self, table: Table[R], record: R) -> None:
        self._add(table, record, None)

    def _add(self, table: Table[R], record: R, old: R | None) -> None:
        """Store a record in place of an old one, whose words and vector are still there."""
        shape, space = shape_of(table), self.locked(record.tenant)  # type: ignore[attr-defined]
        values = shape.encode(record)
        checksum = shape.checksum(values)
        if not self.run(_insert_sql(table), (space, *values, checksum), space):
            raise Conflict(f"{table.name}: a record of that id exists already")
        self._tally(space, table, 1, checksum)
        if table.counted:
            self._batch.growth.add(record.tenant, 1, shape.text_bytes(values))  # type: ignore[attr-defined]
        with faults(), self._batch.db.pipeline():  # no answer of these is waited for
            self._index_words(table, space, record, None if old is None else old.seq)  # type: ignore[attr-defined]
            self.follow_vector(table, old, record)
        if self._telling is not None and table.told:
            self._tell_mutation(table, old, record)

    def replace(self, table: Table[R], record: R) -> None:
        tenant, id = record.tenant, record.id  # type: ignore[attr-defined]
        self.locked(tenant)  # before the savepoint, which would let the lock go
        tallies = dict(self.tallies)
        try:
            with self._batch.savepoint("swap"):
                self._add(table, record, self._drop(table, tenant, id))
        except Conflict:  # the old record stays
            self.tallies = tallies
            raise

    def index_again(self, table: Table[R], record: R) -> None:
        if table.index is not None:
            seq, tenant = record.seq, record.tenant  # type: ignore[attr-defined]
            self._change_words(self.locked(tenant), tenant, seq, table.index(record))

    def delete(self, table: Table[Any], tenant: str, id: str) -> bool:
        dropped = self._drop(table, tenant, id)
        if dropped is None:
            return False
        if table.index:
            space = self.locked(tenant)
            self._drop_words(space, tenant, dropped.seq)
            self.run("DELETE FROM recalls WHERE space = %s AND seq = %s", (space, dropped.seq), space)
        self.follow_vector(table, dropped, None)
        if self._telling is not None and table.told:
            self._tell_mutation(table, dropped, None)
        return True

    def add_recalls(self, counts: Mapping[tuple[str, int], int], at: int = 0) -> None:
        # Without their locks: counts are added up in place, and many tenants may be concerned.
        spaces = {tenant: Session.space_of(self, tenant) for tenant, _ in counts}
        self._batch.take_no_turn()
        rows = [(spaces[tenant], seq, count, at) for (tenant, seq), count in sorted(counts.items())]
        self.run_many(_RECALLS, [row for row in rows if row[0] is not None], EVERY_SPACE)

    def _drop(self, table: Table[R], tenant: str, id: str) -> R | None:
        old: Any = self.get(table, tenant, id)
        if old is None:
            return None
        space, shape = self.locked(tenant), shape_of(table)
        self.run(f"DELETE FROM {table.name} WHERE space = %s AND seq = %s", (space, old.seq), space)
        values = shape.encode(old)
        self._tally(space, table, -1, -shape.checksum(values))
        if table.counted:
            self._batch.growth.add(tenant, -1, -shape.text_bytes(values))
        if table is TOKENS:
            notify(self._batch.db, Notice("token", token=id))
        if table.index:
            self.run("DELETE FROM sketches WHERE space = %s AND seq = %s", (space, old.seq), space)
        return old  # type: ignore[no-any-return]

    def _index_words(self, table: Table[R], space: int, record: R, had: int | None) -> None:
        if table.index is None:
            return
        seq, tenant = record.seq, record.tenant  # type: ignore[attr-defined]
        text = table.index(record)
        if had == seq:
            self._change_words(space, tenant, seq, text)
        else:
            if had is not None:
                self._drop_words(space, tenant, had)
                self.run("DELETE FROM recalls WHERE space = %s AND seq = %s", (space, seq), space)
                self.run("UPDATE recalls SET seq = %s WHERE space = %s AND seq = %s", (seq, space, had), space)
            self._add_words(space, seq, seq, text)
        if text.sketch:
            sql = "INSERT INTO sketches SELECT %s, hash, %s FROM unnest(%s::bigint[]) AS hash"
            self.run(sql, (space, seq, list(dict.fromkeys(text.sketch))), space)

    def _add_words(self, space: int, doc: int, seq: int, text: IndexText) -> None:
        values = (space, doc, seq, *pack(text))
        self.run("INSERT INTO word_rows VALUES (%s, %s, %s, %s, %s, %s, %s)", values, space)

    def _drop_words(self, space: int, tenant: str, seq: int) -> None:
        """Remove a record's words, and list them as gone for readers that hold them."""
        sql = (
            "WITH went AS (DELETE FROM word_rows WHERE space = %s AND seq = %s RETURNING doc) "
            "INSERT INTO word_gone SELECT %s, %s, doc FROM went"
        )
        self.run(sql, (space, seq, space, self.next_seq(tenant)), space)

    def _change_words(self, space: int, tenant: str, seq: int, text: IndexText) -> None:
        """Store the words of a record over those it had; nothing moves if they are the same."""
        sql = "SELECT at, length, terms, weights FROM word_rows WHERE space = %s AND seq = %s"
        had = self.rows(sql, (space, seq), space)
        if had and had[0] == pack(text):
            return
        self._drop_words(space, tenant, seq)
        self._add_words(space, self.next_seq(tenant), seq, text)

    def _tally(self, space: int, table: Table[Any], rows: int, checksum: int) -> None:
        have_rows, have_sum = self.tallies.get((space, table.name), (0, 0))
        self.tallies[space, table.name] = (have_rows + rows, have_sum + checksum)
