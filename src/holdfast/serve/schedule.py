"""Snapshots on a schedule: one thread that looks now and then whether one is due, for every tenant."""

from __future__ import annotations

import logging
import threading

from holdfast.engine import Engine
from holdfast.errors import Fault
from holdfast.model import Caller
from holdfast.snapshot.archive import Archive, archive_of
from holdfast.snapshot.automatic import catch_up, making_if_changed
from holdfast.snapshot.flow import Wish, put_in_vault

LOOK_SECONDS = 60.0

log = logging.getLogger("holdfast")


class Schedule:
    """Makes a snapshot whenever the last one is old enough and something changed."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._every = engine.settings.snapshot_every
        self._made: dict[str, float] = {}  # by tenant, by the steady clock: the other one may jump
        self._unsent: set[str] = set()  # tenants whose newest snapshot the vault may not have yet
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="snapshots", daemon=True)

    def start(self) -> None:
        if self._every:
            self._thread.start()

    def stop(self) -> None:
        """Ask it to end and wait until it has."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _loop(self) -> None:
        while not self._stop.wait(min(LOOK_SECONDS, self._every)):
            try:
                self.run_once()
            except Fault as fault:  # the next look tries again; health shows how old the newest one is
                log.warning("snapshots: %s (%s)", fault.message, fault.code)
            except Exception as error:  # noqa: BLE001 - a bug in one look must not end all later ones
                log.error("snapshots: unexpected %s", type(error).__name__)

    def run_once(self) -> None:
        """Make what is due. What fails for one tenant is raised once the others had their turn."""
        faults: list[Fault] = []
        for tenant in self._engine.store.read().tenants():
            if self._stop.is_set():
                return
            try:
                self._look(archive_of(self._engine.desk(Caller(tenant=tenant, name="schedule"))))
            except Fault as fault:
                faults.append(fault)
        if faults:
            raise faults[0]

    def _look(self, archive: Archive) -> None:
        tenant = archive.tenant
        if self._is_due(archive):
            with making_if_changed(archive, Wish(label="scheduled", made_by="schedule")) as made:
                self._made[tenant] = self._engine.clock.steady()
                self._unsent.add(tenant)  # until it is known to be there, whatever happens to this try
                if made is not None:
                    put_in_vault(archive, made, None)
        if tenant in self._unsent:
            catch_up(archive)
            self._unsent.discard(tenant)

    def _is_due(self, archive: Archive) -> bool:
        steady = self._engine.clock.steady()
        if archive.tenant in self._made:
            return steady - self._made[archive.tenant] >= self._every
        newest = next((one.manifest for one in archive.shelf.each() if one.manifest and not one.damaged), None)
        age_ms = self._engine.clock.now_ms() - newest.identity.created_at if newest else None
        # A time in the future says nothing about how old it is.
        due = age_ms is None or age_ms < 0 or age_ms >= self._every * 1000
        if not due and age_ms is not None:
            self._made[archive.tenant] = steady - age_ms / 1000
        return due
