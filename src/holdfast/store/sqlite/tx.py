"""Writing: rows, checksums, words, sketches and outbox move together or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import apsw

from holdfast.core.errors import Conflict
from holdfast.core.model import Dispatch, Event, Json
from holdfast.core.ports import Clock
from holdfast.store.envelope import envelope, mutation
from holdfast.store.port import R, Table, Usage
from holdfast.store.quota.running_usage import RunningUsage
from holdfast.store.rows import shape_of
from holdfast.store.sqlite.event_queue import add_dispatch, drop_dispatches
from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.minhash_index import MinhashIndex, pack
from holdfast.store.sqlite.reader import SqliteReader
from holdfast.store.sqlite.recall_counts import add_recalls, drop_recalls, move_recalls
from holdfast.store.sqlite.vectors.codes import VectorCodes
from holdfast.store.sqlite.vectors.nearest import VectorWrites
from holdfast.store.sqlite.word_rows import add_words, change_words, drop_words


@cache
def _insert_sql(table: Table[Any]) -> str:
    columns = (*shape_of(table).columns, "checksum")
    return f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


class SqliteTx(VectorWrites, SqliteReader):
    """One job's writes inside the current transaction; fulfils `port.Tx`."""

    def __init__(
        self,
        db: apsw.Connection,
        next_seq: Callable[[], int],
        alike: Callable[[], MinhashIndex],
        codes: VectorCodes,
        usage: RunningUsage,
        telling: Clock | None = None,
    ):
        """With a clock, events are kept for the broker."""
        super().__init__(db, codes)
        self._usage = usage
        self._telling = telling
        self._alike = alike
        self._next_seq = next_seq
        self.events: list[Event] = []
        self.tallies: dict[str, tuple[int, int]] = {}
        self.sketches: list[tuple[str, int, tuple[int, ...]]] = []  # for the look-up, once the job is done
        self.code_changes = []
        self._floor = 0  # numbers of records up to here may be behind what readers of the words have seen
        self.changed: list[tuple[str, str, int]] = []  # tenant, table and number of each row, for the journal

    def follow(self, floor: int) -> None:
        """What is written here was numbered by another host, and up to `floor` numbers were given here as well. Its
        events were that host's."""
        self._floor, self._telling = floor, None

    def near(self, tenant: str, sketch: Sequence[int], limit: int) -> list[int]:
        return self._alike().near(tenant, sketch, limit)

    def next_seq(self, tenant: str) -> int:
        return self._next_seq()

    def publish(self, event: Event) -> None:
        self.events.append(event)

    def dispatch(self, kind: str, tenant: str, agent: str | None, body: Json) -> None:
        if self._telling is not None:
            add_dispatch(self._db, kind, tenant, agent, envelope(kind, tenant, agent, self._telling.now_ms(), body))

    def dispatched(self, sent: Sequence[Dispatch]) -> None:
        if sent:
            drop_dispatches(self._db, sent[-1].place)

    def take_over(self, waiting: Sequence[Dispatch]) -> None:
        for one in waiting:
            add_dispatch(self._db, one.kind, one.tenant, one.agent, one.body)

    def usage(self, tenant: str) -> Usage:
        return self._usage.of(tenant, super().usage)

    def take_allowance(self, tenant: str, name: str, rate: float, burst: float, now: float) -> float:
        return self._usage.take(f"{name} {tenant}", rate, burst, now)

    def _tell_mutation(self, table: Table[R], old: R | None, new: R | None) -> None:
        record: Any = old if new is None else new
        self.dispatch("mutated", record.tenant, record.agent, mutation(table, old, new, self._next_seq()))

    def add(self, table: Table[R], record: R) -> None:
        self._add(table, record, None)

    def _add(self, table: Table[R], record: R, old: R | None) -> None:
        """Store a record in place of an old one, whose words and vector are still there."""
        shape = shape_of(table)
        values = shape.encode(record)
        checksum = shape.checksum(values)
        try:
            self._db.execute(_insert_sql(table), (*values, checksum))
        except apsw.ConstraintError as error:
            raise Conflict(f"{table.name}: a record with that id already exists") from error
        self._tally(table, 1, checksum)
        self.changed.append((record.tenant, table.name, record.seq))  # type: ignore[attr-defined]
        if table.counted:
            self._usage.growth.add(record.tenant, 1, shape.text_bytes(values))  # type: ignore[attr-defined]
        had = None if old is None else old.seq  # type: ignore[attr-defined]
        self._index(table, record, had)
        self.follow_vector(table, old, record)
        if self._telling is not None and table.told:
            self._tell_mutation(table, old, record)

    def replace(self, table: Table[R], record: R) -> None:
        tenant, id = record.tenant, record.id  # type: ignore[attr-defined]
        tallies, grown = dict(self.tallies), self._usage.growth.mark()
        self._db.execute("SAVEPOINT swap")
        try:
            self._add(table, record, self._drop(table, tenant, id))
        except Conflict:  # the old record stays
            self._db.execute("ROLLBACK TO swap")
            self.tallies = tallies
            self._usage.growth.go_back(grown)
            raise
        finally:
            self._db.execute("RELEASE swap")

    def index_again(self, table: Table[R], record: R) -> None:
        if table.index is not None:
            seq, tenant = record.seq, record.tenant  # type: ignore[attr-defined]
            change_words(self._db, tenant, seq, table.index(record), self._next_seq)

    def delete(self, table: Table[Any], tenant: str, id: str) -> bool:
        dropped = self._drop(table, tenant, id)
        if dropped is not None and table.index:
            drop_words(self._db, tenant, dropped.seq, self._next_seq)
            drop_recalls(self._db, dropped.seq)
        self.follow_vector(table, dropped, None)
        if self._telling is not None and table.told and dropped is not None:
            self._tell_mutation(table, dropped, None)
        return dropped is not None

    def add_recalls(self, counts: Mapping[tuple[str, int], int], at: int = 0) -> None:
        add_recalls(self._db, counts, at)

    def _drop(self, table: Table[R], tenant: str, id: str) -> R | None:
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
        self.changed.append((tenant, table.name, old.seq))
        if table.counted:
            self._usage.growth.add(tenant, -1, -shape.text_bytes(rows[0]))
        if table.index:
            self._db.execute("DELETE FROM sketches WHERE seq = ?", (old.seq,))
        return old  # type: ignore[no-any-return]

    def _index(self, table: Table[R], record: R, had: int | None) -> None:
        if table.index is None:
            return
        seq, tenant = record.seq, record.tenant  # type: ignore[attr-defined]
        text = table.index(record)
        if had == seq:
            change_words(self._db, tenant, seq, text, self._next_seq)
        else:
            if had is not None:
                drop_words(self._db, tenant, had, self._next_seq)
                move_recalls(self._db, had, seq)
            add_words(self._db, tenant, seq, text, seq if seq > self._floor else self._next_seq())
        if text.sketch:
            self._db.execute("INSERT INTO sketches VALUES (?, ?, ?)", (seq, tenant, pack(text.sketch)))
            self.sketches.append((tenant, seq, text.sketch))

    def _tally(self, table: Table[Any], rows: int, checksum: int) -> None:
        have_rows, have_sum = self.tallies.get(table.name, (0, 0))
        self.tallies[table.name] = (have_rows + rows, have_sum + checksum)
