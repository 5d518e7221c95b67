"""When a server that was started in the background is no longer needed: no request, no open socket, no work left; or
its folder is gone."""

from __future__ import annotations

import os
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.core.background import BackgroundThread
from holdfast.core.errors import Fault
from holdfast.core.model import Caller
from holdfast.core.ports import Clock
from holdfast.engine import Engine
from holdfast.snapshot.guard.guard_status import is_guarding
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.sync.send_backlog import waiting

LOOK_SECONDS = 20.0
# Work that never gets done, as for a vault that is gone, keeps a server no longer than this many times the idle time.
MOST_TIMES = 3
# A monitor that checks whether the server is alive does not use it.
_UNCOUNTED = frozenset({"/livez", "/agentmemory/livez", "/metrics"})


class ServerUsage:
    """An app, and how long it had no request."""

    def __init__(self, app: ASGIApp, clock: Clock):
        self._app = app
        self._clock = clock
        self._open = 0
        self._last = clock.steady()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope["path"] in _UNCOUNTED:
            return await self._app(scope, receive, send)
        self._open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open -= 1
            self._last = self._clock.steady()

    def idle_seconds(self) -> float:
        """0 while a request or a socket is open."""
        return 0.0 if self._open else self._clock.steady() - self._last


class IdleStop(BackgroundThread):
    """A thread that stops the server once it has been idle for long enough."""

    def __init__(self, usage: ServerUsage, engine: Engine, stop: Callable[[], None]):
        super().__init__("idle")
        self._usage = usage
        self._engine = engine
        self._stop_server = stop
        self._seconds = engine.settings.idle

    def start(self) -> None:
        if self._seconds:
            super().start()

    def _loop(self) -> None:
        while not self._stop.wait(min(LOOK_SECONDS, self._seconds)):
            if not self._is_wanted():
                self._stop_server()
                return
            if self._is_guarding():
                continue
            idle = self._usage.idle_seconds()
            if idle >= self._seconds and (idle >= MOST_TIMES * self._seconds or not self._has_work()):
                self._stop_server()
                return

    def _is_wanted(self) -> bool:
        """A folder that was removed, or put in another one's place, has no card that leads here."""
        card = self._engine.folder.card()
        return card is not None and card.get("pid") == os.getpid()

    def _is_guarding(self) -> bool:
        """Whether files of other programs are watched: they change also while this memory is not used."""
        try:
            return is_guarding(self._engine.path)
        except Fault:
            return False

    def _has_work(self) -> bool:
        try:
            return has_work(self._engine)
        except Fault:  # a store that cannot be read now, as during a restore, is checked again
            return True


def has_work(engine: Engine) -> bool:
    """Whether vectors are to be made, events to be sent, or snapshots to be brought to the vault."""
    reader = engine.store.read()
    if engine.embedder is not None and reader.index_work(1):
        return True
    if engine.settings.nats_url and reader.dispatches(1):
        return True
    return any(waiting(snapshot_context(engine.context(Caller(tenant=tenant)))) for tenant in reader.tenants())
