"""Takes in what hooks left in the spool while no server answered: at the start and every few seconds, in order.

Each request is what the hook would have sent, and is taken once: repeated events are recognised. A request that can
never be taken is put aside and counted; one with a transient failure waits, and all behind it with it.
"""

from __future__ import annotations

import logging
import os

from holdfast.core.background import BackgroundThread
from holdfast.core.errors import Fault
from holdfast.core.model import DEFAULT_TENANT, Caller, Json
from holdfast.engine import Engine
from holdfast.local import spool
from holdfast.ops.registry import BY_NAME

LOOK_SECONDS = 2.0
TIDY_SECONDS = 60.0
AT_ONCE = 500
CALLER = "spool"
# How long the position that a hook reached in a transcript is kept.
MARK_DAYS = 90
DAY_SECONDS = 86_400

# What hooks send; any other request in the folder is refused.
TAKEN = {
    "/agentmemory/observe": "observe",
    "/agentmemory/session/start": "session_start",
    "/agentmemory/session/transcript": "session_transcript",
    "/agentmemory/session/end": "session_end",
    "/agentmemory/session/commit": "session_commit",
}

log = logging.getLogger("holdfast")


class SpoolIntake(BackgroundThread):
    """A thread that empties the spool of the engine's folder until it is stopped."""

    def __init__(self, engine: Engine):
        super().__init__("spool")
        self._engine = engine
        self._folder = str(engine.folder.home)
        self._said = ""  # what was logged last

    def _loop(self) -> None:
        self._drop_old_marks()
        tidied = -TIDY_SECONDS
        while True:
            try:
                if (now := self._engine.clock.steady()) - tidied >= TIDY_SECONDS:
                    tidied = now
                    self._tidy()
                taken = self.take_in()
            except Exception as error:  # noqa: BLE001 - a bug in one look must not end all later ones
                log.error("spool: unexpected %s", type(error).__name__)
                taken = 0
            if self._stop.wait(0 if taken == AT_ONCE else LOOK_SECONDS):
                return

    def _tidy(self) -> None:
        try:
            spool.tidy(self._folder, self._engine.clock.now_ms())
        except OSError as error:
            self._complain(str(error.strerror))

    def take_in(self) -> int:
        """Take in what waits, in order, some hundred at most; how many left the spool.

        It waits on while the memory takes no writes, as one that was not restored from its vault yet.
        """
        if self._engine.store.failure(DEFAULT_TENANT) is not None:
            return 0
        done = 0
        for name in spool.waiting(self._folder)[:AT_ONCE]:
            if self._stop.is_set() or not self._take(name):
                break
            done += 1
        return done

    def _take(self, name: str) -> bool:
        """Whether the request left the spool."""
        try:
            entry = spool.read(self._folder, name)
            operation = BY_NAME.get(TAKEN.get(entry.path, "")) if entry else None
            if entry is None or operation is None:
                self._refuse(name, "not a request that a hook sends")
                return True
            operation.call(self._engine.context(Caller(name=CALLER)), _arguments(operation.name, entry.body))
            spool.remove(self._folder, name)
            self._said = ""
        except FileNotFoundError:
            return True
        except OSError as error:
            self._complain(str(error.strerror))
            return False
        except Fault as fault:
            if fault.retryable or fault.http_status >= 500:
                self._complain(f"{fault.message} ({fault.code})")
                return False
            self._refuse(name, fault.message)
        return True

    def _complain(self, why: str) -> None:
        """Once, not at every look."""
        if why != self._said:
            log.warning("spool: %s", why)
        self._said = why

    def _refuse(self, name: str, why: str) -> None:
        spool.refuse(self._folder, name)
        log.warning("spool: a request was rejected and kept aside: %s", why)

    def _drop_old_marks(self) -> None:
        """Delete the positions of transcripts that no hook has read for months."""
        oldest = self._engine.clock.now_ms() / 1000 - MARK_DAYS * DAY_SECONDS
        folder = os.path.join(self._folder, "hooks")
        try:
            for entry in os.scandir(folder):
                if entry.is_file(follow_symlinks=False) and entry.stat().st_mtime < oldest:
                    os.unlink(entry.path)
        except OSError:
            return  # no hook has run yet, or another one is at work


def _arguments(operation: str, body: Json) -> Json:
    """The request's own, without requesting a context that no agent waits for."""
    return {**body, "context": False} if operation == "session_start" else body
