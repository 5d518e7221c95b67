"""Background work of a running server: recalls, retention, decay, old answers, consolidation; vectors separately.

Each run is short and bounded; what is left waits for the next. A run that fails is logged and tried again:
no user's request depends on it.
"""

from __future__ import annotations

import dataclasses
import logging
from collections import deque
from math import ceil, inf

from holdfast.context import CallContext
from holdfast.coordination.coordination_repair import AWAITED, ended, repair
from holdfast.coordination.gates import check_sentinels
from holdfast.core.background import BackgroundThread
from holdfast.core.errors import Fault
from holdfast.core.model import Caller
from holdfast.engine import Engine
from holdfast.intake.expiry import age, plan_aging, rules_of
from holdfast.intake.forget import plan_sweep, sweep
from holdfast.learn.consolidation import draw_insights
from holdfast.learn.lessons import decay_lessons
from holdfast.serve.background.vector_worker import VectorWorker
from holdfast.serve.http.idempotency import drop_old_answers
from holdfast.snapshot.triggers import BULK, before
from holdfast.store.fleet.fleet_port import claimed
from holdfast.store.port import Condition
from holdfast.store.queries.word_update import update_words
from holdfast.store.tables import COORDINATION

INDEX_SECONDS = 1.0
RECALLS_SECONDS = 5.0
SWEEP_SECONDS = 0.1  # of each second at most, while tenants are swept
JOB = "maintenance"
COORDINATION_JOB, COORDINATION_SECONDS = "coordination", 5.0

log = logging.getLogger("holdfast")


class Maintenance(BackgroundThread):
    """Runs the background work until it is stopped; vectors, which may take long, on a thread of their own."""

    def __init__(self, engine: Engine):
        super().__init__("maintenance")
        self._engine = engine
        self._vectors = VectorWorker(engine)
        self._drawn: dict[str, int] = {}  # by tenant, the last write from which insights were drawn
        self._words = set[str]()  # tenants whose words are those of this version

    def start(self) -> None:
        super().start()
        self._vectors.start()

    def stop(self) -> None:
        """Stop it and wait until it has ended."""
        self._stop.set()  # both at once
        self._vectors.stop()
        super().stop()
        try:
            self.keep_recalls()
        except Fault as fault:  # the disk; a server that stops has more to close
            log.warning("maintenance: %s (%s)", fault.message, fault.code)

    def _loop(self) -> None:
        clock, due, count_due, look_due = self._engine.clock, 0.0, 0.0, 0.0
        unswept, at_once = deque[str](), 1
        while not self._stop.wait(INDEX_SECONDS):
            try:
                if not self._is_well():
                    continue
                self._engine.own_store.compact_words(stop=self._stop.is_set)
                if self._engine.follow is not None:  # everything else is done where it is written
                    continue
                if clock.steady() >= count_due:
                    count_due = clock.steady() + RECALLS_SECONDS
                    self.keep_recalls()
                if clock.steady() >= look_due:
                    look_due = clock.steady() + COORDINATION_SECONDS
                    self.coordinate()
                if clock.steady() >= due:
                    due = clock.steady() + self._engine.settings.maintenance_seconds
                    unswept = deque(self._engine.store.read().tenants())
                    at_once = ceil(len(unswept) * INDEX_SECONDS / self._pause())
                if unswept:
                    self._sweep_some(unswept, at_once, clock.steady() + SWEEP_SECONDS)
                    if not unswept:
                        # What was forgotten leaves the disk as well, also where no search could find it any more.
                        self._engine.store.compact_words(stop=self._stop.is_set, thorough=True)
            except Fault as fault:
                log.warning("maintenance: %s (%s)", fault.message, fault.code)
            except Exception as error:  # noqa: BLE001 - a bug in one run must not end all later ones
                log.error("maintenance: unexpected %s", type(error).__name__)

    def _is_well(self) -> bool:
        """Whether there is a store to work on. One that is still in the vault is looked for; one that takes no writes
        is reported to every caller, not logged again each second."""
        self._engine.try_again()
        return self._engine.own_store.failure() is None

    def keep_recalls(self) -> None:
        """Write what searches returned since the last time, in one transaction."""
        counts = self._engine.recalls.take()
        if counts and self._engine.follow is None:
            now = self._engine.clock.now_ms()
            self._engine.store.write(lambda tx: tx.add_recalls(counts, now))

    def coordinate(self) -> None:
        """End what agents' leases, checkpoints and sketches left behind, and look whether sentinels are met."""
        reader = self._engine.store.read()
        if COORDINATION.name not in reader.sizes():
            return
        for tenant in reader.tenants():
            if self._stop.is_set() or self._engine.store.failure(tenant) is not None:
                continue
            if not reader.find(COORDINATION, tenant, Condition("status", "in", AWAITED), limit=1):
                continue
            with claimed(self._engine.fleet, COORDINATION_JOB, tenant, COORDINATION_SECONDS / 2) as granted:
                if granted:
                    ctx = dataclasses.replace(self._engine.context(Caller(tenant=tenant, name=JOB)), whole=True)
                    repair(ctx, list(ended(ctx, ctx.store.read())))
                    check_sentinels(ctx)

    def sweep_all(self) -> None:
        """Retention, decay and old answers of every tenant; without those that another server swept lately."""
        unswept = deque(self._engine.store.read().tenants())
        self._sweep_some(unswept, len(unswept), inf)

    def _pause(self) -> float:
        """How long ago a tenant may have been swept, by whichever server. Not as long as from one sweep to the next:
        each server counts that from another moment, and would find the last one just too young."""
        return self._engine.settings.maintenance_seconds / 2

    def _sweep_some(self, unswept: deque[str], most: int, until: float) -> None:
        """Sweep the first tenants, at least one, and take them off the list. Of thousands some each second, and no more
        than are needed to be through with all in half the time: callers are answered meanwhile."""
        every = self._pause()
        for _ in range(min(most, len(unswept))):
            if self._stop.is_set():
                return
            tenant = unswept.popleft()
            if self._engine.store.failure(tenant) is not None:  # its memory takes no writes
                continue
            with claimed(self._engine.fleet, JOB, tenant, every) as granted:
                if granted:
                    self._sweep(dataclasses.replace(self._engine.context(Caller(tenant=tenant, name=JOB)), whole=True))
            if self._engine.clock.steady() >= until:
                return

    def _sweep(self, ctx: CallContext) -> None:
        plan = plan_sweep(ctx)
        if len(plan.memories) + len(plan.observations) >= BULK:
            before(ctx, "forget")
        if plan.memories or plan.observations:
            sweep(ctx, plan)
        if self._engine.settings.expire_days:
            rules = rules_of(self._engine.settings.expire_days)
            age(ctx, plan_aging(ctx, rules), rules)
        if ctx.tenant not in self._words:
            update_words(ctx.store, ctx.tenant, ctx.clock.now_ms(), self._stop.is_set)
            self._words.add(ctx.tenant)
        decay_lessons(ctx)
        drop_old_answers(ctx)
        self._learn(ctx)

    def _learn(self, ctx: CallContext) -> None:
        settings = self._engine.settings
        if settings.isolated:  # isolated agents must not be drawn together
            return
        # It adds what can be drawn again at any time and touches nothing else, so no snapshot is made before it.
        if settings.consolidation and self._drawn.get(ctx.tenant) != ctx.store.last_seq(ctx.tenant):
            draw_insights(ctx, None)
            self._drawn[ctx.tenant] = ctx.store.last_seq(ctx.tenant)
