"""The thread of a copy that follows another host: about every half second it looks for the next piece of the journal.

It ends when the copy takes over.
"""

from __future__ import annotations

import logging

from holdfast.core.background import BackgroundThread, FollowProgress
from holdfast.core.errors import Fault
from holdfast.core.model import Caller
from holdfast.engine import Engine
from holdfast.snapshot.follow.follower import Follower
from holdfast.snapshot.repo.context import snapshot_context

# A piece comes every 0.8 seconds while the other host is written to. After a minute without one it is asked for less.
LOOK_SECONDS, IDLE_LOOK_SECONDS, IDLE_AFTER_SECONDS = 0.4, 1.0, 60.0
PAUSES = (1.0, 2.0, 5.0, 10.0, 30.0)  # after one, two … failures in a row

log = logging.getLogger("holdfast")


class FollowThread(BackgroundThread):
    """Follows until it is stopped, or the copy took over; nothing where the folder follows nobody."""

    def __init__(self, engine: Engine):
        super().__init__("follow")
        self._engine = engine
        self._follower: Follower | None = None
        self._failures = 0

    def start(self) -> None:
        if self._engine.follow is not None:
            super().start()

    def _loop(self) -> None:
        while (progress := self._engine.follow) is not None:
            self._look(progress)
            if self._stop.wait(self._pause(progress)):
                return

    def _pause(self, progress: FollowProgress) -> float:
        if self._failures:
            return PAUSES[min(self._failures, len(PAUSES)) - 1]
        arrived = progress.state.arrived
        busy = arrived is not None and self._engine.clock.steady() - arrived < IDLE_AFTER_SECONDS
        return LOOK_SECONDS if busy else IDLE_LOOK_SECONDS

    def _look(self, progress: FollowProgress) -> None:
        engine = self._engine
        with progress.turn:
            if engine.following is None or engine.fault is not None:  # it took over, or waits for its first copy
                return
            try:
                self._one(progress).look()
                self._failures = 0
            except Fault as fault:
                self._failed(progress, fault)
            except Exception as error:  # noqa: BLE001 - a bug in one look must not end all later ones
                log.error("follow: unexpected %s", type(error).__name__)
                self._failed(progress, Fault(f"follow: unexpected {type(error).__name__}"))

    def _one(self, progress: FollowProgress) -> Follower:
        note = self._engine.following
        if self._follower is None and note is not None:
            context = snapshot_context(self._engine.context(Caller(name="follow")))
            self._follower = Follower(context, note, progress)
        if self._follower is None:
            raise Fault("follow: this folder follows nobody")
        return self._follower

    def _failed(self, progress: FollowProgress, fault: Fault) -> None:
        if fault.message != progress.state.fault:
            log.warning("follow: it waits, as %s (%s)", fault.message, fault.code)
        progress.report(fault=fault.message, hint=fault.hint)
        self._follower = None  # with a connection of its own the next time
        self._failures += 1
