"""Running the server: engine, app and listener together, announced in the data folder while it lives."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Callable
from urllib.parse import urlsplit

from holdfast.engine import Engine
from holdfast.serve.app import App
from holdfast.serve.listen import Listener
from holdfast.settings import Settings

RUN_TOKEN_CHARS = 64

log = logging.getLogger("holdfast")


class RunningServer:
    """A server for one data folder. `run` blocks until it is stopped."""

    def __init__(self, settings: Settings, on_ready: Callable[[str], None] = lambda url: None):
        """Open the folder.

        Raises:
            DataLocked: another process has it open. One that cannot be opened is served all the same: every answer
                says why, and it can be restored.
            InvalidSettings: the address may not be listened on.
        """
        self._on_ready = on_ready
        self.engine = Engine(settings, rescue=True)
        self._run_token = self.engine.entropy.hex(RUN_TOKEN_CHARS)
        self.app = App(self.engine, self._run_token)
        self._listener = Listener(self.app.asgi, settings.host, settings.port, settings, self._ready)

    def _ready(self, url: str) -> None:
        port = urlsplit(url).port or self.engine.settings.port
        self.engine.settings = dataclasses.replace(self.engine.settings, port=port)  # of port 0, the one it became
        card = {"url": url, "pid": os.getpid(), "token": self._run_token}
        self.engine.folder.announce(card)
        self._on_ready(url)
        if (fault := self.engine.trouble()) is not None:
            log.error("%s. %s", fault.message, fault.hint)

    def run(self) -> None:
        """Serve until stop, SIGTERM or SIGINT; then close everything in order."""
        try:
            self._listener.run()
        finally:
            self.engine.folder.withdraw()
            self.engine.close()

    def stop(self) -> None:
        self._listener.stop()
