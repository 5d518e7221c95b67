"""A small world for tests: time that stands still until it is moved, chance that counts, an engine in a folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from engines import store_of
from patience import WAIT_SECONDS

from holdfast.context import CallContext
from holdfast.core.model import Caller
from holdfast.core.ports import Embedder
from holdfast.core.system import SystemClock
from holdfast.engine import Engine
from holdfast.intake.embed_queue import EmbedQueue
from holdfast.ops.registry import BY_NAME
from holdfast.serve.run import RunningServer
from holdfast.settings import Settings, load

NOON = 1_790_000_000_000  # 2026-09-21T13:33:20Z
DAY = 86_400_000


class StillClock:
    def __init__(self, now: int = NOON):
        self.now = now

    def now_ms(self) -> int:
        return self.now

    def steady(self) -> float:
        return self.now / 1000


class CountingEntropy:
    def __init__(self, start: int = 0) -> None:
        self._next = start

    def hex(self, chars: int) -> str:
        self._next += 1
        return f"{self._next:0{chars}x}"[-chars:]


def settings(home: Path, **overrides: Any) -> Settings:
    """Settings of a test; without an embedder unless it asks for one: loading a model takes a second."""
    given = {"home": str(home), "port": 0, "embedder": "none", "daemon": False, **overrides}
    if "store" not in given:
        given["store"] = store_of(home)
    return load(given, {})


class World:
    """An engine and the ways to call it."""

    def __init__(self, home: Path, chance: int = 0, model: Embedder | None = None, **overrides: Any):
        self.clock = StillClock()
        self.engine = Engine(settings(home, **overrides), self.clock, CountingEntropy(chance), model)

    def follow(self) -> None:
        """Make all vectors that wait."""
        follower = EmbedQueue(self.engine.store, self.engine.embedder, SystemClock())
        while follower.step():
            pass

    def context(self, caller: Caller | None = None) -> CallContext:
        return self.engine.context(caller or Caller())

    def call(self, operation: str, /, caller: Caller | None = None, **arguments: Any) -> Any:
        return BY_NAME[operation].call(self.context(caller), arguments)

    def found(self, query: str, caller: Caller | None = None, **bounds: Any) -> list[str]:
        """Ids of what a search finds, best first."""
        return [one["id"] for one in self.call("search", caller, query=query, **bounds)["results"]]

    def observe(self, session: str = "s1", hook: str = "post_tool_use", at: int | None = None, **data: Any) -> Any:
        when = self.clock.now if at is None else at
        return self.call(
            "observe", sessionId=session, hookType=hook, timestamp=when, data=data, project="proj", cwd="/w"
        )

    def close(self) -> None:
        self.engine.close()


@contextmanager
def running_server(home: Path, **overrides: Any) -> Iterator[tuple[RunningServer, str]]:
    """A real server on loopback, in this process, and its address."""
    ready = threading.Event()
    urls: list[str] = []

    def on_ready(url: str) -> None:
        urls.append(url)
        ready.set()

    server = RunningServer(settings(home, **overrides), on_ready)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(WAIT_SECONDS), "the server did not come up"
        yield server, urls[0]
    finally:
        server.stop()
        thread.join(WAIT_SECONDS)


@contextmanager
def running(home: Path, **overrides: Any) -> Iterator[httpx.Client]:
    """The same, and a client for it."""
    with (
        running_server(home, **overrides) as (_, url),
        httpx.Client(base_url=url, timeout=WAIT_SECONDS, trust_env=False) as client,
    ):
        yield client
