"""A server in the background ends when nothing is asked of it, nothing is open and nothing waits."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hashing_embedder import HashingEmbedder
from patience import WAIT_SECONDS
from rows import each
from starlette.types import Receive, Scope, Send
from world import StillClock, World

from holdfast.serve.background import idle_shutdown
from holdfast.serve.background.idle_shutdown import IdleStop, ServerUsage, has_work


async def _nothing() -> Any:
    raise AssertionError("nothing is read")


async def _sent(message: Any) -> None:
    raise AssertionError("nothing is sent")


def _usage(clock: StillClock, seconds: int = 0) -> ServerUsage:
    """An app whose requests take so long."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        clock.now += seconds * 1000
        scope["idle"] = usage.idle_seconds()

    usage = ServerUsage(app, clock)
    return usage


def _ask(usage: ServerUsage, path: str, kind: str = "http") -> float:
    """Ask; how idle the server was in the middle of it."""
    scope: dict[str, Any] = {"type": kind, "path": path}
    asyncio.run(usage(scope, _nothing, _sent))
    return float(scope["idle"])


def test_time_without_a_request_is_idle_time() -> None:
    clock = StillClock()
    usage = _usage(clock)
    _ask(usage, "/agentmemory/search")

    clock.now += 90_000

    assert usage.idle_seconds() == 90


@each("kind", ["http", "websocket"])
def test_a_server_is_not_idle_while_a_request_or_a_socket_is_open(kind: str) -> None:
    clock = StillClock()
    usage = _usage(clock, seconds=3_600)

    assert _ask(usage, "/stream/mem-live/viewer", kind) == 0
    assert usage.idle_seconds() == 0  # it counts from the end of the request on


def test_a_monitor_does_not_keep_a_server_alive() -> None:
    clock = StillClock()
    usage = _usage(clock, seconds=10)

    _ask(usage, "/agentmemory/livez")

    assert usage.idle_seconds() == 10


@pytest.fixture
def stopped() -> threading.Event:
    return threading.Event()


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "memory", model=HashingEmbedder(), idle="1s")
    made.engine.folder.announce({"pid": os.getpid()})
    yield made
    made.close()


def _watch(world: World, stopped: threading.Event, idle_seconds: int) -> IdleStop:
    usage = _usage(world.clock)
    world.clock.now += idle_seconds * 1000
    watch = IdleStop(usage, world.engine, stopped.set)
    watch.start()
    return watch


def test_a_server_with_vectors_to_make_stays(
    waiting: World, stopped: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_shutdown, "LOOK_SECONDS", 0.001)
    waiting.call("remember", content="The lighthouse stands on the cliff.")
    assert has_work(waiting.engine)
    watch = _watch(waiting, stopped, 2)
    try:
        assert not stopped.wait(0.2)
        waiting.follow()
        assert not has_work(waiting.engine)
        assert stopped.wait(WAIT_SECONDS)
    finally:
        watch.stop()


def test_work_that_never_gets_done_keeps_a_server_for_a_bounded_time(
    waiting: World, stopped: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_shutdown, "LOOK_SECONDS", 0.001)
    waiting.call("remember", content="The lighthouse stands on the cliff.")
    watch = _watch(waiting, stopped, 10)
    try:
        assert stopped.wait(WAIT_SECONDS)
    finally:
        watch.stop()


def test_a_server_whose_card_is_gone_ends_though_it_was_just_used(
    waiting: World, stopped: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle_shutdown, "LOOK_SECONDS", 0.001)
    watch = _watch(waiting, stopped, 0)
    try:
        assert not stopped.is_set()
        waiting.engine.folder.withdraw()
        assert stopped.wait(WAIT_SECONDS)
    finally:
        watch.stop()
