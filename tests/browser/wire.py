"""A wire between the browser and a server that a test can cut and mend: a TCP forwarder on loopback."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

# What a browser says of a wire that was cut.
BROKEN = ["ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "WebSocket connection to", "ERR_SOCKET"]


class Wire:
    def __init__(self, url: str):
        self.to(url)
        self._whole = True
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._listen, daemon=True).start()

    def to(self, url: str) -> None:
        """Lead to another server from now on."""
        parts = urlsplit(url)
        self._target = (parts.hostname or "", parts.port or 80)

    def cut(self) -> None:
        """Break every connection, and let no new one through."""
        self._whole = False
        with self._lock:
            for one in self._open:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            self._open.clear()

    def mend(self) -> None:
        self._whole = True

    def _listen(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self._whole:
                near.close()
                continue
            try:
                far = socket.create_connection(self._target)
            except OSError:
                near.close()
                continue
            with self._lock:
                self._open |= {near, far}
            for ends in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cut()
        self._listener.close()
