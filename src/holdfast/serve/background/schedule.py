"""Snapshots on a schedule: one thread that checks periodically whether one is due, for every tenant."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from holdfast.core.background import BackgroundThread
from holdfast.core.errors import Fault
from holdfast.core.model import Caller
from holdfast.engine import Engine
from holdfast.serve.background.journal_length import JournalLength
from holdfast.snapshot.create import CreateOptions
from holdfast.snapshot.remote.layout import StagedMemory
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.repo.jobs import EXCHANGES, done_works
from holdfast.snapshot.scrub import check_next
from holdfast.snapshot.status import age_of_newest
from holdfast.snapshot.sync.queue import NOTHING, send_waiting
from holdfast.snapshot.sync.send_backlog import waiting
from holdfast.snapshot.triggers import making_if_changed
from holdfast.store.fleet.fleet_port import claimed
from holdfast.store.port import Store

JOB = "snapshot"
LOOK_SECONDS = 60.0

log = logging.getLogger("holdfast")


class SnapshotSchedule(BackgroundThread):
    """Makes a snapshot whenever the last one is old enough and something changed, and once another memory was made the
    live one; sends what waits for the vault; reads snapshots again that were not checked yet."""

    def __init__(self, engine: Engine):
        super().__init__("snapshots")
        self._engine = engine
        self._every = engine.settings.snapshot_every
        self._made: dict[str, float] = {}  # by tenant, by the steady clock: the other one may jump
        self._followed: dict[str, int | None] = {}  # by tenant: the last exchange that a snapshot followed
        self._unsent: set[str] = set()  # tenants whose newest snapshot the vault may not have yet
        self._passed: set[str] = set()  # snapshots that were read, and for which no note could be written
        self._looked_at: Store | None = None  # the last store whose pages were checked
        self._journal_length = JournalLength(engine)

    def _loop(self) -> None:
        while not self._stop.wait(min(LOOK_SECONDS, self._every or LOOK_SECONDS)):
            try:
                self.run_once()
            except Fault as fault:  # the next look tries again; health shows how old the newest one is
                log.warning("snapshots: %s (%s)", fault.message, fault.code)
            except Exception as error:  # noqa: BLE001 - a bug in one look must not end all later ones
                log.error("snapshots: unexpected %s", type(error).__name__)

    def run_once(self) -> None:
        """Make what is due. What fails for one tenant is raised once the others had their turn."""
        faults: list[Fault] = []
        if self._engine.store.failure() is not None:  # nothing that could be sealed
            return
        if self._looked_at is not (store := self._engine.store):  # once for each: damage is met here, not by a user
            self._looked_at = store
            if not store.check_pages():
                return
        try:
            self._engine.look_at_vault()
        except Fault as fault:
            faults.append(fault)
        for tenant in self._engine.store.read().tenants():
            if self._stop.is_set():
                return
            if self._engine.store.failure(tenant) is not None:
                continue
            try:
                self._look(snapshot_context(self._engine.context(Caller(tenant=tenant, name="schedule"))))
            except Fault as fault:
                faults.append(fault)
        if faults:
            raise faults[0]

    def _look(self, context: SnapshotContext) -> None:
        exchanged = _last_exchange(context)
        if self._every and exchanged not in (None, self._followed.get(context.tenant)):
            self._make(context, exchanged, 0.0)
        elif self._is_due(context):
            # Not the whole pause: the clocks of two servers, and the time that a snapshot takes, lie between.
            self._make(context, exchanged, self._every / 2)
        elif self._every and self._journal_length.is_due(context):
            began = self._engine.clock.steady()
            self._make(context, exchanged, 0.0)
            self._journal_length.made(context, began)
        check_next(context, self._passed)
        self._send(context)

    def _make(self, context: SnapshotContext, exchanged: int | None, every: float) -> None:
        """Make a snapshot, unless another server does it now or did it less than `every` seconds ago."""
        with claimed(self._engine.fleet, JOB, context.tenant, every) as granted:
            if not granted:
                return
            with making_if_changed(context, CreateOptions(label="scheduled", made_by="schedule")) as fresh:
                self._made[context.tenant] = self._engine.clock.steady()
                self._followed[context.tenant] = exchanged
                self._unsent.add(context.tenant)
                self._send(context, fresh)

    def _send(self, context: SnapshotContext, fresh: Mapping[str, StagedMemory] = NOTHING) -> None:
        if context.tenant in self._unsent or waiting(context):
            send_waiting(context, fresh)
            self._unsent.discard(context.tenant)

    def _is_due(self, context: SnapshotContext) -> bool:
        if not self._every:
            return False
        steady = self._engine.clock.steady()
        if context.tenant in self._made:
            return steady - self._made[context.tenant] >= self._every
        age_ms = age_of_newest(context)
        # A time in the future does not show how old it is.
        due = age_ms is None or age_ms < 0 or age_ms >= self._every * 1000
        if not due and age_ms is not None:
            self._made[context.tenant] = steady - age_ms / 1000
        return due


def _last_exchange(context: SnapshotContext) -> int | None:
    """When a restore, an undo or a merge made another memory the live one, if no snapshot was made since. Until then
    the newest is of what was replaced, and a restore of the newest gets that."""
    for work in done_works(context.home, context.tenant, context.agent):
        if work.operation == "create":
            return None
        if work.operation in EXCHANGES:
            return work.began
    return None
