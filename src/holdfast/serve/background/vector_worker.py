"""A thread that gives what is stored its vector: a few records at once, many when the server is idle.

A write wakes it. Making vectors keeps all processors busy, so a long backlog yields to callers who write, but no
record waits for ever: once the oldest has waited too long, it yields no more.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from holdfast.core.background import BackgroundThread
from holdfast.core.model import Event
from holdfast.engine import Engine
from holdfast.intake.embed_queue import EmbedQueue

IDLE_SECONDS = 1.0  # between polls where no event reports a write, as in imports
SETTLE_SECONDS = 0.2  # what one step of an agent writes is embedded together
FEW = 16  # so many are embedded at once: 50 ms
FIRST_SECONDS = 2.0  # the first questions after a start are answered before a backlog keeps all processors busy
LULL_SECONDS, LULLS = 0.2, 20
LONGEST_WAIT = 15.0


@dataclass(frozen=True, slots=True)
class _WriteMark:
    """A place in the order of all writes, and when it was the last one."""

    seq: int
    at: float


class VectorWorker(BackgroundThread):
    """Makes vectors until it is stopped."""

    def __init__(self, engine: Engine):
        super().__init__("vectors")
        self._engine = engine
        self._written = threading.Event()
        self._follower = self._new_follower()
        self._began = engine.clock.steady()
        self._mark = _WriteMark(0, self._began)
        self._seen = 0  # the last write that was noticed

    def start(self) -> None:
        self._engine.publishers.append(self)
        super().start()

    def stop(self) -> None:
        """Stop it and wait until it has ended."""
        self._stop.set()
        self._written.set()
        super().stop()
        if self in self._engine.publishers:
            self._engine.publishers.remove(self)

    def publish(self, event: Event) -> None:
        """Something was written."""
        self._written.set()

    def _loop(self) -> None:
        while not self._stop.is_set():
            if self._written.wait(IDLE_SECONDS):
                self._stop.wait(SETTLE_SECONDS)
            self._written.clear()
            try:
                if self._engine.own_store.failure() is None:
                    self.follow()
            except Exception as error:  # noqa: BLE001 - a broken model must not end all later runs
                self._follower.failed(error)
            finally:
                self._follower.release()  # also what was claimed by a run that was stopped

    def follow(self) -> None:
        """Make the vectors that wait, until none does or the embedder needs a pause."""
        if self._follower.store is not self._engine.own_store:  # another generation is live now
            self._follower = self._new_follower()
        more = True
        while more and not self._stop.is_set():
            self._give_way()
            more = not self._stop.is_set() and self._follower.step()

    def _new_follower(self) -> EmbedQueue:
        engine = self._engine
        return EmbedQueue(engine.own_store, engine.embedder, engine.clock, self._stop.is_set, engine.fleet)

    def _give_way(self) -> None:
        """Let callers who write go first if much waits, and nothing has waited too long."""
        waiting = self._follower.waiting(FEW + 1)
        if len(waiting) <= FEW or self._is_overdue(waiting[0].seq):
            return
        start = FIRST_SECONDS - (self._engine.clock.steady() - self._began)
        if start > 0:
            self._stop.wait(start)
        self._lull()

    def _is_overdue(self, oldest: int) -> bool:
        """Whether it has waited too long. No time is kept for each: it has waited since the mark, or longer."""
        now = self._engine.clock.steady()
        if oldest > self._mark.seq:
            self._mark = _WriteMark(self._engine.own_store.last_seq(), now)
        return now - self._mark.at >= LONGEST_WAIT

    def _lull(self) -> None:
        """Wait until nothing was stored for a moment, for some seconds at most."""
        for _ in range(LULLS):
            seen, self._seen = self._seen, self._engine.own_store.last_seq()
            if seen == self._seen or self._stop.wait(LULL_SECONDS):
                return
