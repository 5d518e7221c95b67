"""One writer with group commit: the caller whose turn it is runs every job that waits, in one transaction.

Each job has a savepoint of its own: one that raises is rolled back alone. Results are given back once the transaction
is committed. A job that could not be run because the connection was lost, or because two servers waited for each
other, is run once more if its caller allows that.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from holdfast.core.errors import Fault, Restoring, StoreUnreachable
from holdfast.core.model import Event
from holdfast.core.ports import Clock
from holdfast.store.fulltext.word_search import WordIndex
from holdfast.store.port import Tx
from holdfast.store.postgres.batch import Batch
from holdfast.store.postgres.pool import Connection, Pool, fault_of
from holdfast.store.postgres.shared.event_log import note_events
from holdfast.store.postgres.tx import PostgresTx

T = TypeVar("T")

# A batch holds its locks while it runs: enough to share a commit, not so many that the first waits long.
BATCH = 64


class _Job:
    __slots__ = ("again", "done", "error", "result", "run")

    def __init__(self, run: Callable[[Tx], Any], again: bool):
        self.run = run
        self.again = again
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class GroupCommit:
    """Runs jobs against the database; results are given back only once they are durable."""

    def __init__(
        self,
        pool: Pool,
        publish: Callable[[Event], None],
        index: WordIndex,
        telling: Clock | None = None,
        server: str = "",
    ):
        """`server` names this one in what is logged for others."""
        self._server = server
        self._pool = pool
        self._publish = publish
        self._index = index
        self._telling = telling
        self._turn = threading.Lock()
        self._queue: deque[_Job] = deque()
        self._running = threading.local()  # the batch that this thread runs, while it does

    def write(self, run: Callable[[Tx], T], again: bool = False) -> T:
        running: _Running | None = getattr(self._running, "now", None)
        if running is not None:  # a write inside another is part of it
            return running.nested(run)
        job = _Job(run, again)
        self._queue.append(job)
        with self._turn:
            while not job.done:
                self._lead([self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))])
        if job.error is not None:
            error, job.error = job.error, None
            raise error
        return job.result  # type: ignore[no-any-return]

    def _lead(self, jobs: list[_Job]) -> None:
        """Run the jobs. If what failed is none of theirs, those that may be run again are, each alone."""
        fault = self._try(jobs)
        if fault is None:
            return
        for job in jobs:
            job.error = None
            if not job.again or (fault := self._try([job])) is not None:
                job.error, job.done = fault, True

    def _try(self, jobs: list[_Job]) -> Fault | None:
        """Run the jobs in one transaction; the fault if nothing of it is stored."""
        try:
            with self._pool.connection() as db:
                running = self._committed(db, jobs)
        except (psycopg.Error, PoolTimeout) as error:
            return _fault_of_batch(error)
        for tx in running.finished:
            for event in tx.events:
                self._publish(event)
        for job in jobs:
            job.done = True
        return None

    def _committed(self, db: Connection, jobs: list[_Job]) -> _Running:
        running = _Running(Batch(db), self._index, self._telling)
        db.execute("BEGIN")
        try:
            self._running.now = running
            for job in jobs:
                running.run(job)
            note_events(running.batch, self._server, (event for tx in running.finished for event in tx.events))
            running.batch.record(tx.tallies for tx in running.finished)
            db.execute("COMMIT")
        except BaseException:
            with suppress(psycopg.Error):  # a lost connection has nothing to roll back
                db.execute("ROLLBACK")
            raise
        finally:
            self._running.now = None
        return running


class _Running:
    """The jobs of one transaction, and what those that succeeded did."""

    def __init__(self, batch: Batch, index: WordIndex, telling: Clock | None):
        self.batch = batch
        self._index = index
        self._telling = telling
        self.finished: list[PostgresTx] = []
        self._depth = 0

    def run(self, job: _Job) -> None:
        try:
            job.result = self.nested(job.run)
        except (psycopg.OperationalError, psycopg.InterfaceError, StoreUnreachable) as error:
            raise _cause(error) from error
        except BaseException as error:  # noqa: BLE001 - handed to the waiting thread, which raises it
            job.error = error

    def nested(self, run: Callable[[Tx], T]) -> T:
        tx = PostgresTx(self.batch, self._index, self._telling)
        before = len(self.finished)
        self._depth += 1
        try:
            with self.batch.savepoint(f"job{self._depth}"):
                result = run(tx)
        except BaseException:
            del self.finished[before:]  # writes made inside this one go with it
            raise
        finally:
            self._depth -= 1
        self.finished.append(tx)
        return result


def _cause(error: BaseException) -> psycopg.Error:
    """The error of the database that a fault was made of."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, psycopg.Error):
        found = found.__cause__
    return found or psycopg.OperationalError()


def _fault_of_batch(error: psycopg.Error | PoolTimeout) -> Fault:
    if isinstance(error, errors.LockNotAvailable):
        return Restoring("write: another server holds this memory, perhaps to restore it")
    return fault_of(error)
