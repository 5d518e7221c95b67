"""The SQLite store: one writer, a reader per thread, fulfilling `port.Store`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import apsw

from holdfast.core.errors import DataDamaged, Fault
from holdfast.core.model import Event
from holdfast.core.ports import Clock
from holdfast.store.damage import DamageWatch
from holdfast.store.fulltext.segments import Compactor
from holdfast.store.fulltext.word_search import WordIndex
from holdfast.store.journal.journal_port import ChangeLog
from holdfast.store.port import Finding, Reader, Tx, Usage
from holdfast.store.sqlite.changes.change_log import SqliteChangeLog
from holdfast.store.sqlite.database import migrate, open_checker, open_reader, open_writer
from holdfast.store.sqlite.faults import PAGES, DamageReporting, as_faults
from holdfast.store.sqlite.group_commit import GroupCommit
from holdfast.store.sqlite.integrity import sketch_rows, verify
from holdfast.store.sqlite.reader import SqliteReader
from holdfast.store.sqlite.recall_counts import sweep_recalls
from holdfast.store.sqlite.vectors.check import mend_vectors
from holdfast.store.sqlite.vectors.codes import VectorCodes
from holdfast.store.sqlite.word_check import fill_words
from holdfast.store.tables import NOT_MEMORY

T = TypeVar("T")


class _Readers:
    """One connection for each thread that reads."""

    def __init__(self, path: Path):
        self._path = path
        self._local = threading.local()
        self._every: list[apsw.Connection] = []
        self._lock = threading.Lock()

    def mine(self) -> apsw.Connection:
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = open_reader(self._path)
            self._local.db = db
            with self._lock:
                self._every.append(db)
        return db

    def close(self) -> None:
        with self._lock:
            for db in self._every:
                db.close()
            self._every.clear()


def _write_words(
    commits: GroupCommit, writer: apsw.Connection, tenant: str, job: Callable[[apsw.Connection, Callable[[], int]], T]
) -> T:
    return commits.write(lambda tx: job(writer, commits.next_seq))


class SqliteStore:
    """One database file. Open it only while holding the data folder's lock."""

    def __init__(
        self,
        path: Path,
        publish: Callable[[Event], None],
        telling: Clock | None = None,
    ):
        """Open the file. With a clock, events of what is written are kept for a broker."""
        self.path = path
        self._watch = DamageWatch(path.parent)
        self._faults = DamageReporting(self._watch)
        self._writer = open_writer(path)
        self.schema = migrate(self._writer)
        with as_faults():
            self._codes = VectorCodes(lambda: open_reader(path))
            self._commits = GroupCommit(self._writer, publish, self._codes, telling, self._watch)
        self._index = WordIndex()
        self._places: tuple[int, dict[str, int]] = (-1, {})  # what `last_seqs` gave last
        self._readers = _Readers(path)
        # Its parts never hold the store itself: once replaced, it is freed with its last reader.
        self._write_words = partial(_write_words, self._commits, self._writer)
        self._compactor = Compactor(self._readers.mine, self._write_words)
        self._folding = threading.Lock()  # what is being compacted must not be repaired or compacted by another thread

    def read(self) -> Reader:
        stream = partial(open_reader, self.path)
        with self._faults:
            return SqliteReader(self._readers.mine(), self._codes, stream, self._index, self._watch)

    @contextmanager
    def snapshot(self) -> Iterator[Reader]:
        db = open_reader(self.path)
        try:
            with self._faults:
                db.execute("BEGIN")
                db.execute("SELECT 1 FROM tallies LIMIT 1").fetchall()  # the state is fixed from the first read on
            yield SqliteReader(db, self._codes, watch=self._watch)
        finally:
            db.close()

    def write(self, job: Callable[[Tx], T], *, again: bool = False) -> T:
        return self._commits.write(job)

    def usage(self, tenant: str) -> Usage:
        with self._faults:
            return self._commits.usage.known(tenant) or SqliteReader(self._readers.mine(), self._codes).usage(tenant)

    def last_seq(self, tenant: str | None = None) -> int:
        return self._commits.last_seq

    def last_seqs(self, *, own: bool = False) -> Mapping[str, int]:
        last, (known, places) = self._commits.last_seq, self._places
        if known != last:  # tenants are looked for in all tables
            places = dict.fromkeys(self.read().tenants(), last)
            self._places = last, places
        return places

    def compact_words(
        self, least: int | None = None, stop: Callable[[], bool] = lambda: False, thorough: bool = False
    ) -> int:
        with self._folding, self._faults:
            return self._compactor.compact_all(least, stop, thorough)

    def content_tag(self) -> str:
        """How many records of memory there are and the sum of their checksums, by table."""
        with self._faults:
            rows: Any = self._readers.mine().execute(
                "SELECT source, rows, sum FROM tallies WHERE source != 'seq' ORDER BY source"
            )
            return " ".join(f"{source} {count} {total}" for source, count, total in rows if source not in NOT_MEMORY)

    def change_log(self) -> ChangeLog | None:
        return SqliteChangeLog(self.path, self._writer, self._commits)

    def failure(self, tenant: str | None = None) -> Fault | None:
        # Damage first: a write that met it may have failed to roll back, and what helps is to restore.
        return self._watch.refusal() or self._commits.failure

    def check_pages(self) -> bool:
        """Whether the file's pages can be read, without comparing what is in them; damage is noted as if it was met."""
        db = open_checker(self.path)
        try:
            with self._faults:
                sound = bool(db.execute("PRAGMA quick_check(1)").get == "ok")
        except DataDamaged:
            return False
        finally:
            db.close()
        if not sound:
            self._watch.met(PAGES)
        return sound

    def verify(self) -> list[Finding]:
        db = open_checker(self.path)
        try:
            found = verify(db)
        finally:
            db.close()
        self._watch.verified(found)
        return found

    def repair_index(self) -> int:
        def rebuild(tx: Tx) -> int:
            db = self._writer
            db.execute("DELETE FROM sketches")
            db.executemany("INSERT INTO sketches VALUES (?, ?, ?)", list(sketch_rows(db)))
            self._commits.forget_minhashes()
            mend_vectors(db)
            sweep_recalls(db)
            return fill_words(db, self._commits.next_seq)

        with self._folding:
            filled = self._commits.write(rebuild, mends=True)
            self._codes.forget()
            if self._watch.refusal() is None:  # which is only about speed
                self._compactor.compact_all()
        return filled

    def retire(self) -> None:
        """Take no writes: they raise `Restoring` from now on, and what ran is durable. Reads go on."""
        self._commits.retire()

    def resume(self) -> None:
        """Take writes again."""
        self._commits.resume()

    def stop(self, why: str) -> None:
        """Take no write any more: it is not known what the disk holds. Reads go on."""
        self._commits.stop(why)

    def skip_to(self, seq: int) -> None:
        """Give only places past this one in the order of all writes."""
        self._commits.skip_to(seq)

    def leave(self) -> None:
        """End writing for good, once retired. Readers go on; the last one closes the file."""
        with as_faults():
            self._writer.close()

    def close(self) -> None:
        """Close every connection; the last one checkpoints the WAL into the database."""
        self._readers.close()
        with as_faults():
            self._writer.close()
