"""One writer with group commit: the first caller commits for all that wait.

There is no writer thread. A caller queues its job and waits its turn; the one whose turn it is runs every
queued job in one transaction, each in its own savepoint, and commits once. A lone caller therefore pays no
hand-over between threads, and sixteen callers share one fsync.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from itertools import chain
from typing import Any, TypeVar

import apsw

from holdfast.core.errors import DataDamaged, Fault, Restoring, StorageFailed, StorageFull
from holdfast.core.model import Event
from holdfast.core.ports import Clock
from holdfast.store.damage import DamageWatch
from holdfast.store.port import Tx
from holdfast.store.quota.running_usage import RunningUsage
from holdfast.store.rows import signed64
from holdfast.store.sqlite.changes.change_rows import is_recording, record_changes
from holdfast.store.sqlite.faults import damage_in, storage_fault
from holdfast.store.sqlite.minhash_index import MinhashIndex
from holdfast.store.sqlite.tx import SqliteTx
from holdfast.store.sqlite.vectors.codes import VectorCodes

T = TypeVar("T")

# A batch holds the lock while it runs: enough to share the fsync, not so many that the first waits long.
BATCH = 64

_SEQ = "seq"
_NOBODY_YET = -1  # a leader was named but has not woken; no thread has this id


class _Job:
    """A caller's work and the gate it waits at until it is done, or until it must lead."""

    __slots__ = ("done", "error", "gate", "mends", "result", "run")

    def __init__(self, run: Callable[[Tx], Any], mends: bool):
        self.run = run
        self.mends = mends
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.gate = threading.Lock()
        self.gate.acquire()


def _outcome(job: _Job) -> Any:
    """Return the job's result, or raise what it raised.

    An error refers to the frames that it passes, and they to the caller's variables. So none of them may refer to the
    error: that cycle would keep a store that was replaced, with its files, until a full collection.
    """
    error, job.error = job.error, None
    if error is None:
        return job.result
    try:
        raise error
    finally:
        del error


class GroupCommit:
    """Runs jobs against the writing connection; results are given back only once they are on disk."""

    def __init__(
        self,
        db: apsw.Connection,
        publish: Callable[[Event], None],
        codes: VectorCodes,
        telling: Clock | None = None,
        watch: DamageWatch | None = None,
    ):
        self._db = db
        self._watch = watch
        self._telling = telling
        self._codes = codes
        self._publish = publish
        self._mutex = threading.Lock()  # guards the two fields below
        self._queue: deque[_Job] = deque()
        self._leader: int | None = None
        self._failed: StorageFailed | None = None
        self._retired = False  # no write begins any more
        self._alike: MinhashIndex | None = None
        self._done: list[SqliteTx] = []  # finished jobs of the running batch
        self.recording = False  # which rows are changed, for the journal
        self.usage = RunningUsage()
        self._load()

    def _load(self) -> None:
        """Take the counter and the tallies as they are on disk."""
        rows: Any = self._db.execute("SELECT source, rows, sum FROM tallies").fetchall()
        self._tallies: dict[str, tuple[int, int]] = {source: (count, total) for source, count, total in rows}
        if _SEQ not in self._tallies:
            raise DataDamaged("store: the write counter is missing")
        self._seq = self._tallies.pop(_SEQ)[0]
        self.recording = is_recording(self._db)

    def next_seq(self) -> int:
        """Shared by all jobs of a batch, those inside another too: no number is given twice."""
        self._seq += 1
        return self._seq

    def _minhash_index(self) -> MinhashIndex:
        """Read on first use, by the thread that leads; a rolled-back entry in it is only one look more."""
        if self._alike is None:
            self._alike = MinhashIndex(self._db)
        return self._alike

    def forget_minhashes(self) -> None:
        """Reload the sketches at the next use."""
        self._alike = None

    @property
    def last_seq(self) -> int:
        return self._seq

    @property
    def failure(self) -> StorageFailed | None:
        return self._failed

    def retire(self) -> None:
        """Let no write begin any more, each raises `Restoring` instead, and wait until those that run are durable.

        Raises:
            Fault: called from inside a write, which would wait for itself.
        """
        if self._leader == threading.get_ident():
            raise Fault("store: a write cannot retire its own store")
        self._retired = True
        with suppress(Restoring, StorageFailed):  # a write of our own waits in the queue behind all that run
            self.write(lambda tx: None)

    def resume(self) -> None:
        """Take writes again."""
        self._retired = False

    def stop(self, why: str) -> None:
        """Take no write any more in this process: what is on the disk is not known."""
        self._failed = self._failed or StorageFailed(why)

    def skip_to(self, seq: int) -> None:
        """Give only larger numbers from now on."""

        def skip(_: Tx) -> None:
            self._seq = max(self._seq, seq)  # recorded with this write

        if seq > self._seq:
            self.write(skip)

    def write(self, run: Callable[[Tx], T], mends: bool = False) -> T:
        """See `port.Store.write`. A job that `mends` is run though the store is damaged."""
        me = threading.get_ident()
        job = _Job(run, mends)
        if self._leader == me:  # inside another write: part of its transaction
            self._run(job)
            return _outcome(job)  # type: ignore[no-any-return]
        with self._mutex:
            self._queue.append(job)
            leads = self._leader is None
            if leads:
                self._leader = me
        if not leads:
            job.gate.acquire()  # opened when the job is done, or when this thread must lead the next batch
        if not job.done:
            self._lead(me)
        return _outcome(job)  # type: ignore[no-any-return]

    def _lead(self, me: int) -> None:
        """Run one batch, which holds the leader's own job, then let the first who waits lead the next."""
        self._leader = me
        batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
        try:
            self._run_batch(batch)
        finally:
            for job in batch:
                job.done = True
                job.gate.release()
            with self._mutex:
                self._leader = _NOBODY_YET if self._queue else None
                if self._queue:
                    self._queue[0].gate.release()

    def _run_batch(self, batch: list[_Job]) -> None:
        if self._retired:  # the connection may be closed already
            _tell(batch, Restoring("write: a restore is replacing the memory"))
            return
        try:
            if self._failed:
                raise StorageFailed(self._failed.message)
            if not (batch := self._allowed(batch)):
                return
            self._db.execute("BEGIN IMMEDIATE")
            self._done = []
            self.usage.begin()
            for job in batch:
                self._run(job)
            self._record(self._done)
            self._db.execute("COMMIT" if self._done else "ROLLBACK")
        except apsw.Error as error:
            self._look_at(error)
            self._abandon(batch, storage_fault(error))
        except Fault as fault:
            self._abandon(batch, fault)
        except BaseException:  # a bug, or no memory: above all, no write may be acknowledged
            self._abandon(batch, Fault("write: an unexpected error stopped the transaction"))
            raise
        else:
            self.usage.committed()
            for tx in self._done:
                self._codes.follow(tx.code_changes)
                for event in tx.events:
                    self._publish(event)
        finally:
            self._done = []  # a transaction holds us, and would keep all of us once the store is replaced

    def _allowed(self, batch: list[_Job]) -> list[_Job]:
        """The jobs that may run: all of them, or of a damaged store those that repair it; the others are refused."""
        refusal = self._watch.refusal() if self._watch else None
        if refusal is None:
            return batch
        _tell([job for job in batch if not job.mends], refusal)
        return [job for job in batch if job.mends]

    def _run(self, job: _Job) -> None:
        """Run one job in a savepoint."""
        self._db.execute("SAVEPOINT job")
        if not self._attempt(job):
            self._db.execute("ROLLBACK TO job")
        self._db.execute("RELEASE job")

    def _attempt(self, job: _Job) -> bool:
        """Whether the job succeeded. Its own error fails it alone; an error of the disk ends the batch."""
        tx = SqliteTx(self._db, self.next_seq, self._minhash_index, self._codes, self.usage, self._telling)
        before, grown = len(self._done), self.usage.growth.mark()
        try:
            job.result = job.run(tx)
        except (apsw.FullError, apsw.IOError) as error:
            raise storage_fault(error) from error  # as a fault: a write around this one must know it for what it is
        except (StorageFull, StorageFailed):
            raise
        except BaseException as error:  # noqa: BLE001 - handed to the waiting thread, which raises it
            job.error = storage_fault(error) if isinstance(error, apsw.Error) else error
            self._look_at(error)
            del self._done[before:]  # writes made inside this one go with it
            self.usage.growth.go_back(grown)
            return False
        self._done.append(tx)
        if self._alike is not None:  # else its first use reads them from the table
            for entry in tx.sketches:
                self._alike.add(*entry)
        return True

    def _look_at(self, error: BaseException) -> None:
        """Damage that a write met ends all writing, as damage that a read met does."""
        if self._watch and (why := damage_in(error)):
            self._watch.met(why)

    def _record(self, done: list[SqliteTx]) -> None:
        """Write the counter and the tallies of all jobs, in the same transaction."""
        if not done:
            return
        if self.recording:
            record_changes(self._db, chain.from_iterable(tx.changed for tx in done), self.next_seq)
        self._db.execute("INSERT OR REPLACE INTO tallies VALUES (?, ?, 0)", (_SEQ, self._seq))
        changed = {table for tx in done for table in tx.tallies}
        for tx in done:
            for table, (rows, total) in tx.tallies.items():
                have = self._tallies.get(table, (0, 0))
                self._tallies[table] = (have[0] + rows, signed64(have[1] + total))
        for table in changed:
            self._db.execute("INSERT OR REPLACE INTO tallies VALUES (?, ?, ?)", (table, *self._tallies[table]))

    def _abandon(self, batch: list[_Job], fault: Fault) -> None:
        """No write is acknowledged: roll back, and after a failed sync never write again in this process.

        The kernel may drop dirty pages after a failed fsync and call the next one good, so a second try
        could acknowledge what the disk does not hold. A full disk is different: it heals by itself.
        """
        if isinstance(fault, StorageFailed) and self._failed is None:
            self._failed = StorageFailed(fault.message)
        try:
            if not self._db.get_autocommit():
                self._db.execute("ROLLBACK")
            self._load()
        except (apsw.Error, DataDamaged):
            self._failed = StorageFailed("write: the transaction could not be rolled back")
        _tell(batch, fault)


def _tell(batch: list[_Job], fault: Fault) -> None:
    for job in batch:
        job.result = None
        job.error = job.error or copy(fault)  # one for each: a shared one would gather the frames of all
