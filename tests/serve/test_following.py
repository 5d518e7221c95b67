"""A running server makes vectors in the background, and ends well while it does."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hashing_embedder import HashingEmbedder
from world import World, settings

from holdfast.engine import Engine
from holdfast.model import Caller
from holdfast.ops.registry import BY_NAME
from holdfast.serve.maintenance import LULLS, Maintenance
from holdfast.store.tables import MEMORIES

WAIT = 30


@contextmanager
def background(home: Path, embedder: HashingEmbedder | None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr("holdfast.serve.maintenance.INDEX_SECONDS", 0.01)
    engine = Engine(settings(home), embedder=embedder)
    work = Maintenance(engine)
    work.start()
    try:
        yield engine
    finally:
        work.stop()
        engine.close()


def call(engine: Engine, operation: str, **arguments: Any) -> Any:
    return BY_NAME[operation].call(engine.desk(Caller()), arguments)


def until(met: Callable[[], bool]) -> None:
    never = threading.Event()
    for _ in range(WAIT * 100):
        if met():
            return
        never.wait(0.01)
    raise AssertionError("it did not come about")


def test_what_is_remembered_is_embedded_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with background(tmp_path / "memory", HashingEmbedder(), monkeypatch) as engine:
        for number in range(5):
            call(engine, "remember", content=f"lantern {number} of the harbour")
        until(lambda: call(engine, "health")["index"].get("done") == 5)
        assert call(engine, "health")["index"]["pending"] == 0


def test_what_searches_return_is_kept_while_the_server_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.serve.maintenance.RECALLS_SECONDS", 0.01)
    with background(tmp_path / "memory", None, monkeypatch) as engine:
        call(engine, "remember", content="a lantern")
        for times in (1, 2):
            call(engine, "search", query="lantern")
            (memory,) = engine.store.read().find(MEMORIES, Caller().tenant)
            kept = {memory.seq: times}
            until(lambda kept=kept: engine.store.read().recalls(Caller().tenant, list(kept)) == kept)


def test_without_an_embedder_nothing_waits_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with background(tmp_path / "memory", None, monkeypatch) as engine:
        call(engine, "remember", content="a lantern")
        until(lambda: call(engine, "health")["index"] == {"pending": 0, "model": "none"})


def test_a_model_that_breaks_is_named_once_and_the_server_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    embedder, tried = HashingEmbedder(), threading.Semaphore(0)

    def breaks() -> None:
        tried.release()
        raise RuntimeError("the text of a lantern")

    embedder.before = breaks
    monkeypatch.setattr("holdfast.intake.follow.PAUSE", 0.0)
    monkeypatch.setattr("holdfast.intake.follow.LONGEST_PAUSE", 0.0)
    with (
        caplog.at_level(logging.WARNING, logger="holdfast"),
        background(tmp_path / "memory", embedder, monkeypatch) as engine,
    ):
        call(engine, "remember", content="a lantern")
        for _ in range(5):
            assert tried.acquire(timeout=WAIT)
        assert call(engine, "search", query="lantern")["results"] != []
    assert [record.getMessage() for record in caplog.records] == [
        "vectors: unexpected RuntimeError; search goes by words until this works again"
    ]


def test_it_stops_after_the_batch_that_is_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder, inside, go_on = HashingEmbedder(), threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        go_on.wait(WAIT)

    embedder.before = wait
    monkeypatch.setattr("holdfast.intake.follow.BATCH", 2)
    with background(tmp_path / "memory", embedder, monkeypatch) as engine:
        for number in range(9):
            call(engine, "remember", content=f"lantern {number} of harbour {number * 3}")
        assert inside.wait(WAIT)
        threading.Timer(0.05, go_on.set).start()
    assert 0 < len(embedder.given) < 9


def test_vectors_wait_for_a_lull_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path / "memory")
    maintenance = Maintenance(world.engine)
    waited: list[float] = []
    monkeypatch.setattr(maintenance._stop, "wait", lambda seconds: waited.append(seconds))
    maintenance._lull()
    assert waited == []
    places = iter(range(1, 10_000))
    monkeypatch.setattr(world.engine.store, "last_seq", lambda: next(places))
    maintenance._lull()
    assert len(waited) == LULLS
    world.close()


def test_no_vector_is_made_amid_a_burst_of_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = HashingEmbedder()
    world = World(tmp_path / "memory", model=embedder)
    maintenance = Maintenance(world.engine)
    pending = ["a lantern", "a harbour", "a ferry", "a gull"]

    def meanwhile(seconds: float) -> None:
        if pending:
            assert embedder.given == []
            world.call("remember", content=pending.pop())

    monkeypatch.setattr(maintenance._stop, "wait", meanwhile)
    meanwhile(0)
    maintenance.follow_index()
    assert pending == []
    assert len(embedder.given) == 4
    world.close()
