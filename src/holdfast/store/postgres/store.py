"""The store on PostgreSQL, fulfilling `port.Store`: a pool of connections, and one writer at a time in this process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from holdfast.core.cleanup import OnFailure
from holdfast.core.errors import Fault
from holdfast.core.model import Event
from holdfast.core.ports import Clock
from holdfast.store.fulltext.postings import pack
from holdfast.store.fulltext.segments import Compactor
from holdfast.store.fulltext.word_database import Database
from holdfast.store.fulltext.word_search import WordIndex
from holdfast.store.port import Finding, Reader, Tx, Usage
from holdfast.store.postgres.damage.damaged_spaces import DamagedSpaces
from holdfast.store.postgres.group_commit import GroupCommit
from holdfast.store.postgres.integrity import verify, wrong_vectors
from holdfast.store.postgres.pool import EVERY_SPACE, Connection, Pool, WordDatabase, connected, faults, moment
from holdfast.store.postgres.reader import PostgresReader
from holdfast.store.postgres.schema import is_held_by_wall, migrate
from holdfast.store.postgres.shared.membership import FleetMember
from holdfast.store.postgres.tx import PostgresTx
from holdfast.store.postgres.usage import usage_of
from holdfast.store.postgres.vectors.code_cache import CodeCache
from holdfast.store.tables import MEMORIES, TABLES

T = TypeVar("T")
log = logging.getLogger("holdfast")

# Rows in a new segment, and how many of those become one: few rows are read for a question that a server never saw,
# and few segments for a large memory.
FOLD_ROWS, MERGE = 512, 32
LOOK_ROWS = FOLD_ROWS // 4  # so many writes of this process, and a tenant is looked at again
# Those with so many rows after the last compacted one, or with something gone. A thorough look is about all: what a
# kill left behind is swept then.
_UNCOMPACTED = (
    "SELECT t.tenant, t.live FROM tenants AS t LEFT JOIN word_states AS w ON w.space = t.live "
    "WHERE (%(all)s OR t.tenant = ANY(%(some)s::text[])) AND (%(any)s OR EXISTS (SELECT 1 FROM word_rows AS r "
    "WHERE r.space = t.live AND r.doc > coalesce(w.folded, 0) OFFSET %(rows)s - 1) "
    "OR EXISTS (SELECT 1 FROM word_gone AS g WHERE g.space = t.live)) ORDER BY t.live"
)
_FOLDS = 0x464F4C44  # "FOLD": with a space's number, the advisory lock of compacting it
_WORDS = ("word_rows", "word_gone", "word_segments", "word_postings")


class PostgresStore:
    """One database. Any number of processes may have it open."""

    def __init__(
        self,
        url: str,
        publish: Callable[[Event], None],
        telling: Clock | None = None,
    ):
        """Open it, and bring it to this version's schema. With a clock, events are kept for a broker.

        Raises:
            StoreUnreachable: the database does not answer.
            StoreTooNew, InvalidSettings: it is not one that can be used.
        """
        self.url = url
        with connected(url) as db:
            self.schema = migrate(db)
            if not is_held_by_wall(db):
                log.warning("store: row security does not hold for the database role; serve with a plain role")
        self.pool = Pool(url)
        with OnFailure(self.pool.close), faults():
            self.damaged = DamagedSpaces(self.pool.connection)
        self.fleet = FleetMember(url, self.pool.connection)
        self._index = WordIndex(_last_place)
        self._codes = CodeCache()
        self._looked: dict[str, int] | None = None  # by tenant, the last write when compaction was considered
        self._commits = GroupCommit(self.pool, publish, self._index, self.damaged, telling, self.fleet.server)

    def read(self) -> Reader:
        return PostgresReader(self.pool.connection, self._index, codes=self._codes, damaged=self.damaged)

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        with faults(), moment(self.pool) as view:
            yield PostgresReader(view.connect, self._index, alone=True, damaged=self.damaged)

    def write(self, job: Callable[[Tx], T], *, again: bool = False) -> T:
        return self._commits.write(job, again)

    def usage(self, tenant: str) -> Usage:
        with faults():
            with self.pool.connection() as db:
                row = db.execute("SELECT live FROM tenants WHERE tenant = %s", (tenant,)).fetchone()
            if row is None:
                return Usage(0, 0)
            with self.pool.connection(row[0]) as db:
                return usage_of(db, row[0])

    def last_seq(self, tenant: str | None = None) -> int:
        sql = (
            "SELECT coalesce(sum(s.last_seq), 0)::bigint FROM tenants AS t JOIN spaces AS s ON s.space = t.live "
            "WHERE %s::text IS NULL OR t.tenant = %s"
        )
        with faults(), self.pool.connection(EVERY_SPACE) as db:
            row = db.execute(sql, (tenant, tenant)).fetchone()
        return int(row[0]) if row else 0

    def compact_words(
        self, least: int | None = None, stop: Callable[[], bool] = lambda: False, thorough: bool = False
    ) -> int:
        written = 0
        with faults():
            for tenant, space in self._uncompacted(least, thorough):
                if stop():
                    break
                with self.pool.connection(space) as db:
                    written += self._fold(db, tenant, space, least, stop, thorough)
        return written

    def _uncompacted(self, least: int | None, thorough: bool) -> list[tuple[str, int]]:
        """Tenants and spaces in which there may be something to do. Maintenance asks each second, so this is about what
        this process wrote since; the first time, with `least` and where it is to be thorough, about all."""
        given = dict(self._commits.written)
        whole = self._looked is None or least is not None or thorough
        looked = self._looked or {}
        some = [tenant for tenant, last in given.items() if last - looked.get(tenant, 0) >= LOOK_ROWS]
        self._looked = given if whole else looked | {tenant: given[tenant] for tenant in some}
        if not (whole or some):
            return []
        with self.pool.connection(EVERY_SPACE) as db:
            rows = db.execute(_UNCOMPACTED, {"all": whole, "some": some, "rows": least or FOLD_ROWS, "any": thorough})
            return [(tenant, space) for tenant, space in rows if self.damaged.refusal(tenant) is None]

    def last_seqs(self, *, own: bool = False) -> Mapping[str, int]:
        if own:
            return dict(self._commits.written)
        sql = "SELECT t.tenant, s.last_seq FROM tenants AS t JOIN spaces AS s ON s.space = t.live"
        with faults(), self.pool.connection(EVERY_SPACE) as db:
            return dict(db.execute(sql).fetchall())

    def _fold(
        self, db: Connection, tenant: str, space: int, least: int | None, stop: Callable[[], bool], thorough: bool
    ) -> int:
        """Compact one space, unless another server does it now."""

        def write(_: Any, job: Callable[[Database, Callable[[], int]], T]) -> T:
            def run(tx: Tx) -> T:
                assert isinstance(tx, PostgresTx)
                inside = tx.see(tx.locked(tenant))
                return job(WordDatabase(inside), lambda: tx.next_seq(tenant))

            return self.write(run)

        claimed = db.execute("SELECT pg_try_advisory_lock(%s, %s)", (_FOLDS, space % 2**31)).fetchone()
        if claimed is None or not claimed[0]:
            return 0
        try:
            return Compactor(lambda: WordDatabase(db), write, FOLD_ROWS, MERGE).compact(space, least, stop, thorough)
        finally:
            db.execute("SELECT pg_advisory_unlock(%s, %s)", (_FOLDS, space % 2**31))

    def change_log(self) -> None:
        return None

    def failure(self, tenant: str | None = None) -> Fault | None:
        return self.pool.failure() or (None if tenant is None else self.damaged.refusal(tenant))

    def check_pages(self) -> bool:
        return True  # PostgreSQL keeps and checks its pages itself

    def verify(self) -> list[Finding]:
        findings: list[Finding] = []
        with faults():
            with moment(self.pool) as view:
                walked = list(verify(view))
            for tenant, space, found in walked:
                self.damaged.verified(tenant, space, found)
                findings += found
        return findings

    def mend(self, job: Callable[[Tx], T]) -> T:
        """A write to memories that may be damaged, which take no other."""
        return self._commits.write(job, mends=True)

    def repair_index(self) -> int:
        """Tenant by tenant: no write waits for more than one."""
        return sum(
            self.mend(lambda tx, name=tenant: _rebuild(tx, name))  # type: ignore[misc]
            for tenant in self.read().tenants()
        )

    def close(self) -> None:
        self.fleet.stop()
        self.pool.close()


def _last_place(db: Database, space: int) -> int:
    """Moved by each write to a space, with its commit."""
    return int(db.execute("SELECT last_seq FROM spaces WHERE space = ?", (space,)).get or 0)


def _rebuild(tx: Tx, tenant: str) -> int:
    """Rewrite words and sketches of every record, and drop vectors that are wrong; how many records there are."""
    assert isinstance(tx, PostgresTx)
    space, filled = tx.locked(tenant), 0
    for name in (*_WORDS, "sketches"):
        tx.run(f"DELETE FROM {name} WHERE space = %s", (space,), space)
    for table in TABLES:
        if table.index is not None:
            for record in tx.sound(table, tenant):
                text = table.index(record)
                words = (space, record.seq, record.seq, *pack(text))
                tx.run("INSERT INTO word_rows VALUES (%s, %s, %s, %s, %s, %s, %s)", words, space)
                if table is MEMORIES:
                    sketch = [(space, one, record.seq) for one in dict.fromkeys(text.sketch)]
                    tx.run_many("INSERT INTO sketches VALUES (%s, %s, %s)", sketch, space)
                filled += 1
    state = (
        "INSERT INTO word_states VALUES (%s, %s, 0) ON CONFLICT (space) DO UPDATE SET version = excluded.version, "
        "folded = 0"
    )
    tx.run(state, (space, tx.next_seq(tenant)), space)
    for seq in set(wrong_vectors(tx.see(space), space)):
        tx.run("DELETE FROM vectors WHERE space = %s AND seq = %s", (space, seq), space)
    tx.run("DELETE FROM followed WHERE space = %s", (space,), space)
    return filled
