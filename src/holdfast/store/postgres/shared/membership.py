"""One server among those on a database. A thread of it listens for notices, renews what the server holds, and reads
what other servers logged for live readers.

A notice may be lost with the connection that listens. So a new connection begins with all that could have been missed,
and the log is also read every few seconds.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from typing import Any

import psycopg

from holdfast.core.errors import Fault
from holdfast.core.system import SystemClock, SystemEntropy
from holdfast.store.fleet.fleet_port import News
from holdfast.store.postgres.pool import Connect, Connection, conninfo, fault_of
from holdfast.store.postgres.shared.event_log import WATCH_SECONDS
from holdfast.store.postgres.shared.job_leases import RENEW_SECONDS, JobLeases
from holdfast.store.postgres.shared.notices import Notice, listen, read_notice
from holdfast.store.postgres.shared.number_series import NumberSeries
from holdfast.store.postgres.shared.rate_limits import RateLimits
from holdfast.store.postgres.shared.watched_spaces import WatchedSpaces

SERVER_CHARS = 16
TICK_SECONDS = 0.5  # how soon it notices that it is to stop
AGAIN_SECONDS = 0.5  # between two tries to connect
WATCH_RENEW_SECONDS = 60.0
# After so long without a connection events may not have been logged for this server.
AWAY_SECONDS = WATCH_SECONDS - 2 * WATCH_RENEW_SECONDS
# A connection that only listens would never notice that the other end is gone.
_KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}

log = logging.getLogger("holdfast")


class FleetMember:
    """This server; fulfils `fleet_port.Fleet`."""

    is_shared = True

    def __init__(self, url: str, connect: Connect):
        # Machine and process are for people who look into the table of leases.
        self.server = f"{socket.gethostname()}/{os.getpid()}/{SystemEntropy().hex(SERVER_CHARS)}"
        self._url = url
        self._leases = JobLeases(connect, self.server)
        self._watched = WatchedSpaces(connect, self.server)
        self.claim = self._leases.claim
        self.release = self._leases.release
        self.take_request = RateLimits(connect).take
        self.take_number = NumberSeries(connect).take
        self.watch = self._watched.add
        self.unwatch = self._watched.remove
        self._news: News | None = None
        self._clock = SystemClock()
        self._heard = self._renewed = self._watch_renewed = self._clock.steady()
        self._said = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="fleet", daemon=True)

    def start(self, news: News) -> None:
        if self._news is None:
            self._news = news
            self._thread.start()

    def stop(self) -> None:
        """Stop it and wait until it has ended."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _loop(self) -> None:
        assert self._news is not None
        while not self._stop.is_set():
            try:
                with Connection.connect(
                    conninfo(self._url), autocommit=True, application_name="holdfast", **_KEEPALIVE
                ) as db:
                    self._take_part(db, self._news)
            except psycopg.Error as error:
                self._say(fault_of(error))
            except Fault as fault:
                self._say(fault)
            except Exception as error:  # noqa: BLE001 - a bug at one notice must not end all later ones
                log.error("fleet: unexpected %s", type(error).__name__)
            self._stop.wait(AGAIN_SECONDS)

    def _say(self, fault: Fault) -> None:
        """Once, not at every try."""
        if fault.message != self._said:
            log.warning("fleet: %s (%s)", fault.message, fault.code)
        self._said = fault.message

    def _take_part(self, db: Connection, news: News) -> None:
        """Hear of what others do until the connection is lost."""
        listen(db)
        self._catch_up(news)
        self._said = ""
        while not self._stop.is_set():
            for notice in db.notifies(timeout=TICK_SECONDS, stop_after=1):
                self._take(read_notice(notice.payload), news)
            self._renew(news)

    def _catch_up(self, news: News) -> None:
        """All that may have happened before this connection could hear of it."""
        news.token_changed(None)
        news.switched(None)
        if self._clock.steady() - self._heard > AWAY_SECONDS:
            self._watched.skip()
            for tenant in self._watched.tenants():
                news.missed(tenant)
        self._watched.catch_up(news.happened)
        self._heard = self._clock.steady()

    def _take(self, notice: Notice | None, news: News) -> None:
        if notice is None:
            return
        if notice.kind == "events":
            self._watched.catch_up(news.happened, notice.space)
        elif notice.kind == "token":
            news.token_changed(notice.token)
        else:
            news.switched(notice.tenant)
            self._watched.catch_up(news.happened)

    def _renew(self, news: News) -> None:
        """What is to be done every few seconds."""
        now = self._clock.steady()
        if now - self._renewed >= RENEW_SECONDS:
            self._renewed = now
            self._leases.renew()
            self._watched.catch_up(news.happened)
            self._heard = now
        if now - self._watch_renewed >= WATCH_RENEW_SECONDS:
            self._watch_renewed = now
            self._watched.renew()
