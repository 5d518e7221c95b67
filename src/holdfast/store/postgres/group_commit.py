"""One writer with group commit: the caller whose turn it is runs every job that waits, in one transaction.

Each job has a savepoint of its own: one that raises is rolled back alone. Results are given back once the
transaction is committed. A job that could not be run because the connection was lost, or because two servers waited for
each other, is run once more if its caller allows that, or if it had not begun.

A connection that is lost while it commits leaves open whether it did. The server is asked by the number of the
transaction, as long as it is the same server: one that was promoted may have given that number to another.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from holdfast.core.errors import OUTCOME, UNKNOWN, Fault, Restoring, StoreUnreachable
from holdfast.core.model import Event
from holdfast.core.ports import Clock
from holdfast.store.fulltext.word_search import WordIndex
from holdfast.store.port import Tx
from holdfast.store.postgres.batch import Batch
from holdfast.store.postgres.damage.damaged_spaces import DamagedSpaces
from holdfast.store.postgres.pool import Pool, fault_of
from holdfast.store.postgres.shared.event_log import note_events
from holdfast.store.postgres.tx import PostgresTx
from holdfast.store.postgres.usage import keep_usage

T = TypeVar("T")

# A batch holds its locks while it runs: enough to share a commit, not so many that the first waits long.
BATCH = 64
_UNKNOWN = "Send the request again with the same idempotency key, or check whether it was stored."
LATE = 3  # so often a job is run again that came out of turn
_TRIES, _PAUSE_SECONDS = 50, 0.1


class _Job:
    __slots__ = ("again", "done", "error", "late", "mends", "result", "run")

    def __init__(self, run: Callable[[Tx], Any], again: bool, mends: bool):
        self.run = run
        self.again = again
        self.mends = mends
        self.done = False
        self.late = 0  # how often it came out of turn
        self.result: Any = None
        self.error: BaseException | None = None


class _Failure:
    """Why the jobs of a transaction have no results."""

    __slots__ = ("begun", "fault", "final")

    def __init__(self, fault: Fault, *, begun: bool, final: bool = False):
        self.fault = fault
        self.begun = begun  # whether a job was run
        self.final = final  # to run them again is of no use, or might do twice what is stored already


class GroupCommit:
    """Runs jobs against the database; results are given back only once they are durable."""

    def __init__(
        self,
        pool: Pool,
        publish: Callable[[Event], None],
        index: WordIndex,
        damaged: DamagedSpaces,
        telling: Clock | None = None,
        server: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ):
        """`server` names this one in what is logged for others."""
        self._server = server
        self._damaged = damaged
        self._sleep = sleep
        self._pool = pool
        self._publish = publish
        self._index = index
        self._telling = telling
        self._turn = threading.Lock()
        self._queue: deque[_Job] = deque()
        self._running = threading.local()  # the batch that this thread runs, while it does
        self.written: dict[str, int] = {}  # by tenant, the last number that was given out here and committed

    def write(self, run: Callable[[Tx], T], again: bool = False, mends: bool = False) -> T:
        """See `port.Store.write`. A job that `mends` is run though the tenant's memory is damaged."""
        running: _Running | None = getattr(self._running, "now", None)
        if running is not None:  # a write inside another is part of it
            return running.nested(run)
        job = _Job(run, again, mends)
        self._queue.append(job)
        with self._turn:
            while not job.done:
                self._lead(self._next())
        if job.error is not None:
            error, job.error = job.error, None
            raise error
        return job.result  # type: ignore[no-any-return]

    def _next(self) -> list[_Job]:
        """The jobs of the next transaction. One that came out of turn is alone in its own, and waits for what it needs:
        should another wait for this one, the database ends one of them after a second."""
        jobs = [self._queue.popleft()]
        while self._queue and len(jobs) < BATCH and not (jobs[0].late or self._queue[0].late):
            jobs.append(self._queue.popleft())
        return jobs

    def _lead(self, jobs: list[_Job]) -> None:
        """Run the jobs. If what failed is none of theirs, those that may be run again are, each alone."""
        failure = self._try(jobs)
        if failure is not None and not (failure.begun or failure.final):  # a connection that was lost before
            failure = self._try(jobs)
        if failure is None:
            return
        for job in jobs:
            job.error = None
            again = failure if failure.final or not job.again else self._try([job])
            if again is not None:
                job.error, job.done = again.fault, True
                failure = again if again.final else failure

    def _try(self, jobs: list[_Job]) -> _Failure | None:
        """Run the jobs in one transaction; the failure if nothing of it is known to be stored."""
        running: _Running | None = None
        try:
            with self._pool.connection() as db:
                running = _Running(Batch(db, self._damaged, patient=bool(jobs[0].late)), self._index, self._telling)
                self._commit(running, jobs)
        except PoolTimeout as error:  # it was waited for as long as a request waits
            return _Failure(fault_of(error), begun=False, final=True)
        except psycopg.Error as error:
            failure = self._failure(error, running)
            if running is None or failure is not None:
                return failure
        finally:
            for tenant, space, why in running.batch.met if running is not None else ():
                self._damaged.met(tenant, space, why)
        if running.finished:
            self.written.update(running.batch.given())
        for tx in running.finished:
            for event in tx.events:
                self._publish(event)
        self._settle(jobs)
        return None

    def _settle(self, jobs: list[_Job]) -> None:
        """Hand back the results. A job that came out of turn stored nothing: it is run again, in the next
        transaction."""
        for job in reversed(jobs):
            out_of_turn = isinstance(job.error, Restoring) and job.error.out_of_turn
            job.done = not out_of_turn or job.late == LATE
            if not job.done:
                job.error = None
                job.late += 1
                self._queue.appendleft(job)

    def _failure(self, error: psycopg.Error, running: _Running | None) -> _Failure | None:
        """What became of a transaction whose connection failed; None if it was committed."""
        fault, begun = _fault_of_batch(error), running is not None and running.begun
        if running is None or running.number is None or not isinstance(fault, StoreUnreachable):
            return _Failure(fault, begun=begun)
        try:
            stored = self._was_committed(*running.number)
        except (psycopg.Error, PoolTimeout):
            stored = None
        if stored is None:
            unknown = "store: the database was lost during the commit, and it is not known whether this was stored"
            return _Failure(
                StoreUnreachable(unknown, hint=_UNKNOWN, details={OUTCOME: UNKNOWN}), begun=True, final=True
            )
        return None if stored else _Failure(fault, begun=True)

    def _was_committed(self, number: str, timeline: str) -> bool | None:
        """Whether a transaction was committed; None if that cannot be known."""
        for _ in range(_TRIES):
            with self._pool.connection() as db:
                if db.timeline != timeline:
                    return None
                row = db.execute("SELECT pg_xact_status(%s::xid8)", (number,)).fetchone()
            status = None if row is None else row[0]
            if status != "in progress":  # the old connection's end may not have been noticed yet
                return None if status is None else bool(status == "committed")
            self._sleep(_PAUSE_SECONDS)
        return None

    def _commit(self, running: _Running, jobs: list[_Job]) -> None:
        db = running.batch.db
        db.execute("BEGIN")
        running.begun = True
        try:
            self._running.now = running
            for job in jobs:
                running.run(job)
            if not running.finished:
                db.execute("ROLLBACK")
                return
            note_events(running.batch, self._server, (event for tx in running.finished for event in tx.events))
            running.batch.record(tx.tallies for tx in running.finished)
            keep_usage(running.batch)
            running.number = running.batch.number()
            db.execute("COMMIT")
        except BaseException:
            with suppress(psycopg.Error):  # a lost connection has nothing to roll back
                db.execute("ROLLBACK")
            raise
        finally:
            self._running.now = None


class _Running:
    """The jobs of one transaction, and what those that succeeded did."""

    def __init__(self, batch: Batch, index: WordIndex, telling: Clock | None):
        self.batch = batch
        self._index = index
        self._telling = telling
        self.finished: list[PostgresTx] = []
        self.begun = False
        self.number: tuple[str, str] | None = None  # of the transaction that is being committed, and its timeline
        self._depth = 0

    def run(self, job: _Job) -> None:
        self.batch.mends = job.mends
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
