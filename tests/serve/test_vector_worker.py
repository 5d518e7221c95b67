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
from patience import WAIT_SECONDS, until
from world import World, settings

from holdfast.core.model import Caller
from holdfast.engine import Engine
from holdfast.ops.registry import BY_NAME
from holdfast.serve.background import vector_worker
from holdfast.serve.background.maintenance import Maintenance
from holdfast.serve.background.vector_worker import FEW, LONGEST_WAIT, LULLS, VectorWorker
from holdfast.store.tables import MEMORIES


@contextmanager
def background(home: Path, embedder: HashingEmbedder | None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr("holdfast.serve.background.maintenance.INDEX_SECONDS", 0.01)
    monkeypatch.setattr(vector_worker, "IDLE_SECONDS", 0.01)
    monkeypatch.setattr(vector_worker, "FIRST_SECONDS", 0.0)
    engine = Engine(settings(home), embedder=embedder)
    work = Maintenance(engine)
    work.start()
    try:
        yield engine
    finally:
        work.stop()
        engine.close()


def call(engine: Engine, operation: str, **arguments: Any) -> Any:
    return BY_NAME[operation].call(engine.context(Caller()), arguments)


def test_what_is_remembered_is_embedded_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with background(tmp_path / "memory", HashingEmbedder(), monkeypatch) as engine:
        for number in range(5):
            call(engine, "remember", content=f"lantern {number} of the harbour")
        until(lambda: call(engine, "health")["index"].get("done") == 5, "five vectors")
        assert call(engine, "health")["index"]["pending"] == 0


def test_what_searches_return_is_kept_while_the_server_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.serve.background.maintenance.RECALLS_SECONDS", 0.01)
    with background(tmp_path / "memory", None, monkeypatch) as engine:
        call(engine, "remember", content="a lantern")
        for times in (1, 2):
            call(engine, "search", query="lantern")
            (memory,) = engine.store.read().find(MEMORIES, Caller().tenant)
            kept = {memory.seq: times}
            until(
                lambda kept=kept: engine.store.read().recalls(Caller().tenant, list(kept)) == kept,
                "the recalls are counted",
            )


def test_without_an_embedder_nothing_waits_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with background(tmp_path / "memory", None, monkeypatch) as engine:
        call(engine, "remember", content="a lantern")
        until(lambda: call(engine, "health")["index"] == {"pending": 0, "model": "none"}, "nothing waits")


def test_a_model_that_breaks_is_named_once_and_the_server_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    embedder, tried = HashingEmbedder(), threading.Semaphore(0)

    def breaks() -> None:
        tried.release()
        raise RuntimeError("the text of a lantern")

    embedder.before = breaks
    monkeypatch.setattr("holdfast.intake.embed_queue.PAUSE", 0.0)
    monkeypatch.setattr("holdfast.intake.embed_queue.LONGEST_PAUSE", 0.0)
    with (
        caplog.at_level(logging.WARNING, logger="holdfast"),
        background(tmp_path / "memory", embedder, monkeypatch) as engine,
    ):
        call(engine, "remember", content="a lantern")
        for _ in range(5):
            assert tried.acquire(timeout=WAIT_SECONDS)
        assert call(engine, "search", query="lantern")["results"] != []
    assert [record.getMessage() for record in caplog.records] == [
        "vectors: unexpected RuntimeError; search uses keywords only until this works again"
    ]


def test_it_stops_after_the_batch_that_is_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder, inside, go_on = HashingEmbedder(), threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        go_on.wait(WAIT_SECONDS)

    embedder.before = wait
    monkeypatch.setattr("holdfast.intake.embed_queue.BATCH", 2)
    with background(tmp_path / "memory", embedder, monkeypatch) as engine:
        for number in range(9):
            call(engine, "remember", content=f"lantern {number} of harbour {number * 3}")
        assert inside.wait(WAIT_SECONDS)
        threading.Timer(0.05, go_on.set).start()
    assert 0 < len(embedder.given) < 9


def test_a_write_wakes_the_thread_that_makes_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with background(tmp_path / "memory", HashingEmbedder(), monkeypatch) as engine:
        monkeypatch.setattr(vector_worker, "IDLE_SECONDS", 3_600.0)
        call(engine, "remember", content="a first lantern")  # ends the short wait that may still be under way
        until(lambda: call(engine, "health")["index"]["pending"] == 0, "every vector")
        call(engine, "remember", content="a second lantern, much later")
        call(
            engine,
            "observe",
            sessionId="s",
            hookType="post_tool_use",
            timestamp="2026-11-15T20:41:34Z",
            project="p",
            cwd="/",
            data={"a": 1},
        )
        until(lambda: call(engine, "health")["index"]["pending"] == 0, "every vector")


class Worker:
    """A worker that never sleeps, and notes how long it would have."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch):
        self.world = world
        self.waited: list[float] = []
        self.meanwhile: Callable[[], None] = lambda: None
        self.worker = VectorWorker(world.engine)
        monkeypatch.setattr(self.worker._stop, "wait", self._wait)

    def _wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.meanwhile()

    def write(self, count: int) -> None:
        for _ in range(count):
            number = len(self.waited) * 1_000 + self.world.engine.store.last_seq()
            self.world.call("remember", content=f"lantern {number} of the harbour {number * 7}")


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    monkeypatch.setattr(vector_worker, "FIRST_SECONDS", 0.0)
    world = World(tmp_path / "memory", model=HashingEmbedder())
    yield Worker(world, monkeypatch)
    world.close()


def test_a_few_records_are_embedded_at_once(worker: Worker) -> None:
    worker.write(FEW)
    worker.worker.follow()

    assert worker.waited == []
    assert worker.world.engine.store.read().pending() == 0


def test_a_backlog_waits_for_a_lull_but_not_for_ever(worker: Worker) -> None:
    worker.write(FEW + 1)
    worker.meanwhile = lambda: worker.write(1)
    worker.worker._give_way()

    assert len(worker.waited) == LULLS


def test_no_vector_is_made_amid_a_burst_of_writes(worker: Worker) -> None:
    embedder, pending = worker.world.engine.embedder, [FEW + 1, 9, 9, 9]
    assert isinstance(embedder, HashingEmbedder)

    def meanwhile() -> None:
        if pending:
            assert embedder.given == []
            worker.write(pending.pop())

    worker.meanwhile = meanwhile
    worker.write(FEW + 1)
    worker.worker.follow()

    assert pending == []
    assert worker.world.engine.store.read().pending() == 0


def test_a_backlog_that_has_waited_too_long_gives_way_to_no_writes(worker: Worker) -> None:
    worker.meanwhile = lambda: worker.write(1)
    worker.write(FEW + 1)
    worker.worker._give_way()
    waited = len(worker.waited)
    worker.world.clock.now += int(LONGEST_WAIT * 1000) - 1
    worker.worker._give_way()
    assert len(worker.waited) > waited

    waited = len(worker.waited)
    worker.world.clock.now += 1
    worker.worker._give_way()
    assert len(worker.waited) == waited


def test_after_a_backlog_is_done_the_next_gives_way_again(worker: Worker) -> None:
    worker.write(FEW + 1)
    worker.worker._give_way()
    worker.world.clock.now += int(LONGEST_WAIT * 1000)
    worker.worker.follow()
    assert worker.world.engine.store.read().pending() == 0
    waited = len(worker.waited)
    worker.meanwhile = lambda: worker.write(1)
    worker.write(FEW + 1)
    worker.worker._give_way()

    assert len(worker.waited) == waited + LULLS


def test_the_first_seconds_after_a_start_belong_to_questions_unless_only_a_few_wait(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_worker, "FIRST_SECONDS", 2.0)
    worker.write(FEW)
    worker.worker._give_way()
    assert worker.waited == []

    worker.world.clock.now += 500
    worker.write(1)
    worker.worker._give_way()
    assert worker.waited[0] == 1.5
