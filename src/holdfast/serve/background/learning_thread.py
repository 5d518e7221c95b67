"""The thread that learns: statements of new turns, then summaries of sessions that are over, in short bounded steps.

No user's request depends on it. A step that fails is logged and tried again.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping

from holdfast.context import CallContext
from holdfast.core.background import BackgroundThread
from holdfast.core.errors import Fault, Restoring
from holdfast.core.model import Caller
from holdfast.core.session_keys import session_name
from holdfast.engine import Engine
from holdfast.learn.sessions.backlog import IDLE_MS, unsummarized
from holdfast.learn.sessions.summarize import summarize
from holdfast.learn.statements.learner import learn_step
from holdfast.learn.statements.text_vectors import TextVectors
from holdfast.settings import Settings
from holdfast.store.fleet.fleet_port import claimed

JOB = "learning"
LOOK_SECONDS, LONGEST_LOOK_SECONDS, PAUSES = 0.5, 2.0, 4
PAUSE_SECONDS, LONGEST_PAUSE = 5.0, 300.0
SUMMARIZED_PER_STEP = 5
IDLE_LOOK_SECONDS = 60.0  # how often sessions are looked for that had no event for long
FIRST_LOOKS = 50  # tenants at each of these looks that this server never looked at: there may be thousands
# All sessions are looked through at the start and then as often as this, the recent ones at each look.
WHOLE_LOOK_SECONDS = 3_600.0

log = logging.getLogger("holdfast")


class LearningThread(BackgroundThread):
    """Learns from what is stored until it is stopped."""

    def __init__(self, engine: Engine):
        super().__init__("learning")
        self._engine = engine
        self._learnt: dict[str, int] = {}  # by tenant, the last write up to which everything was learnt
        self._noticed: dict[str, int] = {}  # by tenant, the last write that was seen
        self._rests: dict[str, float] = {}  # when a session would have rested for long that had an event just then
        self._idle_due = 0.0
        self._whole_due: dict[str, float] = {}  # by tenant
        self._vectors = TextVectors()

    def start(self) -> None:
        self._engine.learning.set_working(True)
        super().start()

    def stop(self) -> None:
        """Stop it and wait until it has ended."""
        self._stop.set()
        self._engine.learning.set_working(False)
        self._engine.learning.wake()
        super().stop()

    def _loop(self) -> None:
        pause = LOOK_SECONDS
        while not self._stop.is_set():
            self._engine.learning.pause(pause)
            works, began = False, self._engine.clock.steady()
            try:
                works = self.learn()
                # Under load more is learnt at a time, and less often; a context that waits for it wakes this thread.
                pause = min(max(LOOK_SECONDS, PAUSES * (self._engine.clock.steady() - began)), LONGEST_LOOK_SECONDS)
            except Restoring:  # another store takes this one's place
                continue
            except Fault as fault:
                pause = _longer(pause)
                log.warning("learning: %s (%s)", fault.message, fault.code)
            except Exception as error:  # noqa: BLE001 - a bug in one step must not end all later ones
                pause = _longer(pause)
                log.error("learning: unexpected %s", type(error).__name__)
            self._engine.learning.set_working(works and not self._stop.is_set())

    def learn(self) -> bool:
        """Learn all that is new, of every tenant; False while the memory takes no writes."""
        if self._engine.store.failure() is not None:
            return False
        now = self._engine.clock.steady()
        idle = now >= self._idle_due
        if idle:
            self._idle_due = now + IDLE_LOOK_SECONDS
        # What this server wrote is learnt at once. What others did and left, as they were killed, is met once a minute:
        # were all at it at once, each would look for what is new of every tenant that any of them wrote to.
        places = self._engine.store.last_seqs(own=not idle)
        for tenant in self._due(places, now, idle):
            self._learn_claimed(tenant, places[tenant], now)
        return True

    def _due(self, places: Mapping[str, int], now: float, idle: bool) -> list[str]:
        """The tenants that may have something new. Of those that were never looked at, as all at the start, some."""
        for tenant, last in places.items():
            if last > self._noticed.get(tenant, -1):
                self._noticed[tenant] = last
                self._rests[tenant] = now + IDLE_MS / 1000
        due = [
            tenant
            for tenant, last in places.items()
            if (self._learnt.get(tenant, -1) < last or (idle and now >= self._rests.get(tenant, now + 1)))
            and self._engine.store.failure(tenant) is None
        ]
        first = [tenant for tenant in due if tenant not in self._learnt]
        return [tenant for tenant in due if tenant in self._learnt] + first[:FIRST_LOOKS]

    def _learn_claimed(self, tenant: str, last: int, now: float) -> None:
        """Learn what is new of a tenant, unless another server is at it."""
        with claimed(self._engine.fleet, JOB, tenant) as granted:
            if granted:
                self._learn_of(tenant)
                self._learnt[tenant] = last
                # What was learnt is no event of a session. One that came meanwhile has rested a little later.
                self._noticed[tenant] = self._engine.store.last_seq(tenant)
                if now >= self._rests.get(tenant, now) + 2 * IDLE_LOOK_SECONDS:
                    self._rests.pop(tenant, None)

    def _learn_of(self, tenant: str) -> None:
        ctx = dataclasses.replace(self._engine.context(Caller(tenant=tenant, name=JOB)), whole=True)
        while not self._stop.is_set() and learn_step(ctx, self._vectors).more:
            self._engine.learning.advance()
        self._engine.learning.advance()
        self._summarize(ctx, self._engine.settings)

    def _summarize(self, ctx: CallContext, settings: Settings) -> None:
        if settings.isolated or not settings.auto_compress:  # records of isolated agents must not be combined
            return
        now = ctx.clock.steady()
        whole = now >= self._whole_due.get(ctx.tenant, 0.0)
        since = 0 if whole else ctx.clock.now_ms() - 2 * IDLE_MS
        found = unsummarized(ctx, None, SUMMARIZED_PER_STEP, since=since)
        for session in found:
            if self._stop.is_set():
                return
            summarize(ctx, session_name(session.id))
        if whole and len(found) < SUMMARIZED_PER_STEP:
            self._whole_due[ctx.tenant] = now + WHOLE_LOOK_SECONDS


def _longer(pause: float) -> float:
    return min(max(PAUSE_SECONDS, 2 * pause), LONGEST_PAUSE)
