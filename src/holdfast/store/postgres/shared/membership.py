"""One server among those on a database: the leases it holds, renewed by a thread while the server runs."""

from __future__ import annotations

import logging
import threading

from holdfast.core.errors import Fault
from holdfast.core.system import SystemEntropy
from holdfast.store.postgres.pool import Connect
from holdfast.store.postgres.shared.job_leases import RENEW_SECONDS, JobLeases

SERVER_CHARS = 16

log = logging.getLogger("holdfast")


class FleetMember:
    """This server; fulfils `fleet_port.Fleet`."""

    def __init__(self, connect: Connect):
        self.server = SystemEntropy().hex(SERVER_CHARS)
        self._leases = JobLeases(connect, self.server)
        self.claim = self._leases.claim
        self.release = self._leases.release
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="fleet", daemon=True)

    def start(self) -> None:
        if not self._thread.is_alive() and not self._stop.is_set():
            self._thread.start()

    def stop(self) -> None:
        """Stop it and wait until it has ended."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _loop(self) -> None:
        while not self._stop.wait(RENEW_SECONDS):
            try:
                self._leases.renew()
            except Fault as fault:  # the leases may be lost; who holds one asks again before each step
                log.warning("fleet: %s (%s)", fault.message, fault.code)
