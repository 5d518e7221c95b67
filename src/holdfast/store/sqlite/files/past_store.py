"""A store as it was: reads from a captured file that no process writes any more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import apsw

from holdfast.core.errors import DataDamaged, Fault, Forbidden
from holdfast.store.fulltext.word_search import WordIndex
from holdfast.store.port import Finding, Reader, Tx, Usage
from holdfast.store.sqlite.database import BUSY_MS, is_current, migrate, store_schema
from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.files.copy_rows import counter, open_private
from holdfast.store.sqlite.integrity import verify, verify_schema
from holdfast.store.sqlite.reader import SqliteReader
from holdfast.store.sqlite.vectors.codes import VectorCodes

T = TypeVar("T")


def open_past(path: Path) -> PastStore:
    """The store in an extracted file, which must be the caller's own: one of an older schema is migrated in place.

    Raises:
        DataTooNew: a newer Holdfast wrote it.
        DataDamaged: it is no store.
    """
    db = open_private(path)
    try:
        schema = migrate(db)
        if verify_schema(db):
            raise DataDamaged("store: the schema of the file was changed")
        with as_faults():
            last = counter(db)
    finally:
        db.close()
    return PastStore(path, schema, last)


def reopen_past(path: Path) -> PastStore:
    """The store in a file that `open_past` brought to this schema before; nothing is written to it any more.

    Raises:
        DataDamaged: it is no such store.
    """
    store = PastStore(path, store_schema(), 0)
    with closing(store._open()) as db, as_faults():
        if not is_current(db) or verify_schema(db):
            raise DataDamaged("store: the schema of the file was changed")
        return PastStore(path, store_schema(), counter(db))


class PastStore:
    """One database file that stays as it is; fulfils `port.Store` for readers."""

    def __init__(self, path: Path, schema: int, last_seq: int):
        self.path = path
        self.schema = schema
        self._last_seq = last_seq
        self._codes = VectorCodes(self._open)
        self._index = WordIndex()
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._lock = threading.Lock()

    def read(self) -> Reader:
        return SqliteReader(self._connection(), self._codes, self._open, self._index)

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        yield self.read()  # the file never changes

    def write(self, job: Callable[[Tx], T], *, again: bool = False) -> T:
        raise _unchangeable()

    def usage(self, tenant: str) -> Usage:
        return SqliteReader(self._connection(), self._codes).usage(tenant)

    def last_seq(self, tenant: str | None = None) -> int:
        return self._last_seq

    def last_seqs(self, *, own: bool = False) -> Mapping[str, int]:
        return dict.fromkeys(self.read().tenants(), self._last_seq)

    def compact_words(
        self, least: int | None = None, stop: Callable[[], bool] = lambda: False, thorough: bool = False
    ) -> int:
        return 0

    def change_log(self) -> None:
        return None

    def failure(self, tenant: str | None = None) -> Fault | None:
        return None

    def check_pages(self) -> bool:
        return True  # its bytes were those of a verified snapshot

    def verify(self) -> list[Finding]:
        db = self._open()
        try:
            return verify(db)
        finally:
            db.close()

    def repair_index(self) -> int:
        raise _unchangeable()

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            for db in self._connections:
                db.close()
            self._connections.clear()

    def _connection(self) -> apsw.Connection:
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = self._open()
            with self._lock:
                self._connections.append(db)
        return db

    def _open(self) -> apsw.Connection:
        """A connection that neither locks the file nor looks for a log beside it."""
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        with as_faults():
            db = apsw.Connection(
                f"file:{quote(str(self.path.absolute()))}?immutable=1", flags=flags, statementcachesize=200
            )
            db.set_busy_timeout(BUSY_MS)
            db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            for pragma in ("query_only = ON", "cell_size_check = ON", "cache_size = -4000", "mmap_size = 268435456"):
                db.execute(f"PRAGMA {pragma}").fetchall()
        return db


def _unchangeable() -> Forbidden:
    return Forbidden("snapshot: snapshots are read-only", hint="Restore the snapshot, or write to the live memory.")
