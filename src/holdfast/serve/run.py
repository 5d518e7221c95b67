"""Running the server: engine, app and listener together, announced in the data folder while it lives."""

from __future__ import annotations

import dataclasses
import errno
import logging
import os
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from holdfast.core.errors import DataLocked, InvalidSettings
from holdfast.core.model import DEFAULT_TENANT
from holdfast.daemon import running_server
from holdfast.engine import Engine
from holdfast.serve.app import App
from holdfast.serve.background.idle_shutdown import IdleStop, ServerUsage
from holdfast.serve.http.listener import Listener
from holdfast.serve.oauth.issuer import check_settings
from holdfast.settings import Settings
from holdfast.settings.fingerprint import marks_of

RUN_TOKEN_CHARS = 64
# A server that is just ending, or a command that has the folder open for one write, gives it free within this.
LOCK_TRIES = 50
LOCK_PAUSE_SECONDS = 0.1

# What is acknowledged is on the disk. Work that takes longer than this, as a copy to a vault, begins again later.
END_SECONDS = 15.0

log = logging.getLogger("holdfast")


class RunningServer:
    """A server for one data folder. `run` blocks until it is stopped."""

    def __init__(
        self,
        settings: Settings,
        on_ready: Callable[[str], None] = lambda url: None,
        *,
        on_demand: bool = False,
        own_process: bool = False,
    ):
        """Open the folder. A server `on_demand` takes another port if its own is in use, and ends when it is idle.
        With `own_process` the whole process ends at the latest some seconds after it was stopped.

        Raises:
            DataLocked: another process has it open. One that cannot be opened is still served: every answer
                names the reason, and it can be restored.
            InvalidSettings: the address may not be listened on.
        """
        check_settings(settings)
        self._on_ready = on_ready
        self._on_demand = on_demand
        self._own_process = own_process
        self.engine = Engine(settings, rescue=True)
        self._run_token = self.engine.entropy.hex(RUN_TOKEN_CHARS)
        self.app = App(self.engine, self._run_token)
        self._usage = ServerUsage(self.app.asgi, self.engine.clock)
        self.app.drills.idle_seconds = self._usage.idle_seconds
        self._idle = IdleStop(self._usage, self.engine, self.stop)
        self._listener = self._listen_on(settings.port)

    def _listen_on(self, port: int) -> Listener:
        settings = self.engine.settings
        return Listener(self._usage, settings.host, port, settings, self._ready, on_ending=self._ending)

    def _ready(self, url: str) -> None:
        port = urlsplit(url).port or self.engine.settings.port
        self.engine.settings = dataclasses.replace(self.engine.settings, port=port)  # of port 0, the one it became
        card = {
            "url": url,
            "pid": os.getpid(),
            "token": self._run_token,
            "onDemand": self._on_demand,
            "settings": marks_of(self.engine.given, self._run_token),
        }
        self.engine.folder.announce(card)
        if self._on_demand:
            self._idle.start()
        self._on_ready(url)
        if (fault := self.engine.trouble(DEFAULT_TENANT)) is not None:
            log.error("%s. %s", fault.message, fault.hint)

    def _ending(self) -> None:
        """It listens no more: no caller may be directed here, and no thread may keep the folder for ever."""
        self.engine.folder.withdraw()
        if self._own_process:
            timer = threading.Timer(END_SECONDS, _end_process)
            timer.daemon = True
            timer.start()

    def run(self) -> None:
        """Serve until stop, SIGTERM or SIGINT; then close everything in order."""
        try:
            self._serve()
        finally:
            self._idle.stop()
            self.engine.folder.withdraw()
            self.engine.close()

    def _serve(self) -> None:
        try:
            self._listener.run()
        except InvalidSettings as fault:
            taken = isinstance(fault.__cause__, OSError) and fault.__cause__.errno == errno.EADDRINUSE
            if not (self._on_demand and taken):
                raise
            self._listener = self._listen_on(0)
            self._listener.run()

    def stop(self) -> None:
        self._listener.stop()


def server_on_demand(settings: Settings, pause: Callable[[float], None] = time.sleep) -> RunningServer | None:
    """The server of the folder, once the process that has it open lets it go; None if that does not, or serves it."""
    for _ in range(LOCK_TRIES):
        try:
            return RunningServer(settings, on_demand=True, own_process=True)
        except DataLocked:
            if running_server(settings):
                return None
            pause(LOCK_PAUSE_SECONDS)
    return None


def _end_process() -> None:
    """End the process without waiting for its threads."""
    log.warning("the server did not stop within %g s; exiting now", END_SECONDS)
    logging.shutdown()
    os._exit(0)
