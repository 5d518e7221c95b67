"""Drills and checks of recall: one thread that works when nothing else does, for every tenant."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from holdfast.context import CallContext
from holdfast.core.background import BackgroundThread
from holdfast.core.errors import Fault, NotFound
from holdfast.core.model import Caller
from holdfast.core.system import LOWEST, lower_priority
from holdfast.core.times import DAY_MS
from holdfast.engine import Engine
from holdfast.index import LOCAL_MODELS
from holdfast.ops.snapshots.drill import drill_now, note_snapshot, summary_of
from holdfast.recall.check.check_report import begin_checks, due_reason, mark_of, renew_answers, run_check
from holdfast.recall.check.kept_questions import read_questions
from holdfast.recall.check.question_intake import drop_unwanted, keep_questions
from holdfast.recall.check.snapshot_answers import has_answers
from holdfast.snapshot.drill.drill_run import DrillOptions
from holdfast.snapshot.drill.drill_status import drill_status
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.repo.entries import ids_on, newest_first
from holdfast.snapshot.repo.jobs import EXCHANGES, done_works
from holdfast.store.fleet.fleet_port import claimed
from holdfast.store.queries.vector_counts import vectors_of

JOB = "drill"
LOOK_SECONDS = 60.0
IDLE_SECONDS = 60.0  # without a request
LATE = 1.5  # a drill that is this many times its interval late does not wait for idle time any more
AGAIN_SECONDS = 3_600.0  # after a drill that the vault or the disk prevented
FAILED_AGAIN_SECONDS = DAY_MS / 1000
CLAIMED = 0.9
NOTED = 10  # of the newest snapshots, whose answers are noted

log = logging.getLogger("holdfast")


def _always() -> float:
    return IDLE_SECONDS


class DrillSchedule(BackgroundThread):
    """Keeps questions, checks their answers after a change, notes how new snapshots answer, and restores one now and
    then to see that it can be."""

    def __init__(self, engine: Engine, idle_seconds: Callable[[], float] = _always):
        super().__init__("drills")
        self._engine = engine
        self.idle_seconds = idle_seconds
        self._next: dict[str, float] = {}  # by tenant, by the steady clock: no drill before then
        self._passed: set[str] = set()  # snapshots that cannot be read here
        self._cleaned: set[str] = set()  # tenants whose questions are what the setting says

    def stop(self) -> None:
        super().stop()
        try:
            self._keep_questions()
        except Fault as fault:  # the disk; a server that stops has more to close
            log.warning("drills: %s (%s)", fault.message, fault.code)

    def _loop(self) -> None:
        lower_priority(LOWEST)
        while not self._stop.wait(LOOK_SECONDS):
            try:
                self.run_once()
            except Fault as fault:  # the next look tries again; health says how long ago a restore was proven
                log.warning("drills: %s (%s)", fault.message, fault.code)
            except Exception as error:  # noqa: BLE001 - a bug in one look must not end all later ones
                log.error("drills: unexpected %s", type(error).__name__)

    def run_once(self) -> None:
        """Do what is due. What fails for one tenant is raised once the others had their turn."""
        if self._engine.store.failure() is not None:
            return
        self._keep_questions()
        faults: list[Fault] = []
        for tenant in self._engine.store.read().tenants():
            if self._stop.is_set():
                return
            if self._engine.store.failure(tenant) is not None:
                continue
            try:
                self._look(self._engine.context(Caller(tenant=tenant, name=JOB)))
            except Fault as fault:
                faults.append(fault)
        if faults:
            raise faults[0]

    def _keep_questions(self) -> None:
        asked = self._engine.questions.take()
        for tenant in {one.tenant for one in asked}:
            ctx = self._engine.context(Caller(tenant=tenant, name=JOB))
            keep_questions(ctx, [one for one in asked if one.tenant == tenant])

    def _look(self, ctx: CallContext) -> None:
        if ctx.tenant not in self._cleaned:
            drop_unwanted(ctx)
            self._cleaned.add(ctx.tenant)
        context, idle = snapshot_context(ctx), self.idle_seconds() >= IDLE_SECONDS
        if idle:
            self._check(ctx, context)
            self._note(ctx, context)
        wait = _wait(context)
        if self._is_due(context, wait, idle=idle):
            self._drill(ctx, wait)

    # Recall

    def _check(self, ctx: CallContext, context: SnapshotContext) -> None:
        """Ask again after a change, once all vectors of a new embedder are there."""
        if not read_questions(context.home, ctx.tenant):
            return
        mark = mark_of(ctx, _last_exchange(context))
        begin_checks(ctx, mark)
        reason = due_reason(ctx, mark)
        if reason is None and self._is_free():
            renew_answers(ctx, self._stop.is_set)
        elif reason is not None and _has_vectors(ctx):
            done = run_check(ctx, reason, mark, stop=self._stop.is_set)
            if done and done[1].changed:
                said = "recall: %d of %d questions are answered differently after: %s"
                log.warning(said, done[1].changed, done[1].asked, reason)

    def _is_free(self) -> bool:
        """Whether asking costs nothing but time: a remote embedder is not asked for what no user asked."""
        return self._engine.embedder is None or self._engine.settings.embedder in LOCAL_MODELS

    def _note(self, ctx: CallContext, context: SnapshotContext) -> None:
        """Note how the newest snapshot answers that was not noted yet."""
        if not self._is_free() or not read_questions(context.home, ctx.tenant):
            return
        for id in newest_first(ids_on(context.repo.root))[:NOTED]:
            if id in self._passed or has_answers(context.home, ctx.tenant, id):
                continue
            if note_snapshot(ctx, id, self._stop.is_set) is None:
                self._passed.add(id)
            return

    # Drills

    def _is_due(self, context: SnapshotContext, wait: float, *, idle: bool) -> bool:
        steady = self._engine.clock.steady()
        if not wait or steady < self._next.get(context.tenant, 0.0):
            return False
        if not context.settings.vault and not context.repo.count():
            return False
        since = drill_status(context).last_ms
        if since is None or since < 0:  # a time in the future does not show how long ago it was
            return idle
        return since >= wait * 1000 * (1.0 if idle else LATE)

    def _drill(self, ctx: CallContext, wait: float) -> None:
        # Not the whole pause: the clocks of two servers, and the time that a drill takes, lie between.
        with suppress(NotFound), claimed(self._engine.fleet, JOB, ctx.tenant, wait * CLAIMED) as granted:
            if not granted:
                return
            self._next[ctx.tenant] = self._engine.clock.steady() + min(wait, AGAIN_SECONDS)
            made = drill_now(ctx, DrillOptions(stop=self._stop.is_set))
            if made.outcome == "failed":
                log.error("drill: %s. %s", summary_of(made), made.hint)


def _has_vectors(ctx: CallContext) -> bool:
    if ctx.embedder is None:
        return True
    done, total = vectors_of(ctx.store.read(), ctx.tenant, ctx.embedder.name)
    return done == total


def _wait(context: SnapshotContext) -> float:
    """Seconds between two drills; 0 if none is to be made. One that failed is repeated the next day."""
    every = context.settings.drill_every
    return min(every, FAILED_AGAIN_SECONDS) if drill_status(context).failed else every


def _last_exchange(context: SnapshotContext) -> str:
    """The operation and the time of the last one that made another memory the live one; "" if none is remembered."""
    done = done_works(context.home, context.tenant, context.agent)
    return next((f"{work.operation} {work.began}" for work in done if work.operation in EXCHANGES), "")
