"""Watches one HTTP exchange from inside: which address it reached, and how long it takes altogether.

httpx limits each single read, so a server that sends a byte now and then would hold a call for hours; and it
connects to whatever a name resolves to. Both are settled here, on the connected socket.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from threading import Lock, Timer
from types import TracebackType
from typing import Any

import httpx


class AddressRefused(Exception):
    """The connection reached an address that nothing may be sent to."""


class AddressGuard:
    """A context around one request. Hand `trace` to httpx as the request's `trace` extension.

    Each request must open its own connection: one from a pool was not seen by this guard, and is refused.
    """

    def __init__(self, refusal: Callable[[str], str | None], seconds: float):
        self.expired = False
        self._refusal = refusal
        self._lock = Lock()
        self._socket: socket.socket | None = None
        self._timer = Timer(seconds, self._expire)
        self._timer.daemon = True

    def __enter__(self) -> AddressGuard:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            if self._socket is not None:
                self._socket.close()

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Called by httpx at each step of the request."""
        if event == "connection.connect_tcp.complete":
            stream = info["return_value"]
            try:
                self._admit(stream.get_extra_info("socket"))
            except BaseException:
                stream.close()
                raise
        elif event.endswith("send_request_headers.started") and self._socket is None:
            raise AddressRefused("the address could not be checked")

    def _admit(self, connected: socket.socket) -> None:
        try:
            address = connected.getpeername()[0]
            # A second handle on the same connection, because TLS takes the first one over.
            handle = connected.dup()
        except OSError:
            raise httpx.ConnectError("the connection was lost immediately") from None
        with self._lock:
            self._socket = handle
            if self.expired:
                raise httpx.ConnectTimeout("connected too late")
        if refusal := self._refusal(address):
            raise AddressRefused(refusal)

    def _expire(self) -> None:
        with self._lock:
            self.expired = True
            if self._socket is not None:
                with contextlib.suppress(OSError):  # the other side was faster
                    # Unlike close(), this wakes a thread that waits in a read.
                    self._socket.shutdown(socket.SHUT_RDWR)
