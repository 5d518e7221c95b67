"""What each mechanism that exists for speed alone brings: the same work with and without it, in turns, in one run.

    python bench/mechanisms.py [NAME ...]

A figure is the median of the ratios without / with of neighbouring turns: 1.2 means a fifth more time without. Caches are
measured in processor time, threads by the clock. What stays under 1.2 is taken out.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np  # noqa: E402
from scale import fill, put_vectors, questions, texts  # noqa: E402
from talk import turn  # noqa: E402
from vectors import made_seeds, mixed  # noqa: E402
from world import World  # noqa: E402

from holdfast.core.system import SystemClock, SystemEntropy  # noqa: E402
from holdfast.embedder import embedder_from  # noqa: E402
from holdfast.ops.registry import BY_NAME  # noqa: E402
from holdfast.learn.statements.learner import learn_step  # noqa: E402
from holdfast.learn.statements.text_vectors import TextVectors  # noqa: E402
from holdfast.settings import load  # noqa: E402
from holdfast.store import quantization  # noqa: E402
from holdfast.store.sqlite.store import SqliteStore  # noqa: E402

ROWS = 500
MANY = 50_000
CHAT = "qq:GroupMessage:1234567"
TURNS = Path(__file__).parent / "agent_day" / "data" / "turns_dev.jsonl"
CODES = 500_000

Work = Callable[[], object]
Without = Callable[[], AbstractContextManager[Any]]
_numbers = count()


class Inline(Executor):
    """Does at once what a pool would do on a thread."""

    def __init__(self, *_: Any, **__: Any):
        pass

    def submit(self, run: Any, /, *given: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(run(*given, **named))
        except Exception as error:  # noqa: BLE001 - handed on
            done.set_exception(error)
        return done


def uncached(*names: str) -> Without:
    """The functions (module:name) without their caches, wherever they were imported."""

    @contextmanager
    def without() -> Iterator[None]:
        changed = []
        for name in names:
            module, _, attribute = name.partition(":")
            __import__(f"holdfast.{module}")
            kept = getattr(sys.modules[f"holdfast.{module}"], attribute)
            for other in [one for key, one in sys.modules.items() if key.startswith("holdfast")]:
                for own in [key for key, value in vars(other).items() if value is kept]:
                    setattr(other, own, kept.__wrapped__)
                    changed.append((other, own, kept))
        yield
        for other, own, kept in changed:
            setattr(other, own, kept)

    return without


def changed(target: str, value: Any) -> Without:
    """One name of Holdfast (module.name) with another value."""
    return lambda: patch(f"holdfast.{target}", value)


def ratio(work: Work, without: Without, clock: Callable[[], float], turns: int) -> tuple[float, float]:
    """The median of without / with, and the milliseconds with."""

    def once() -> float:
        began = clock()
        work()
        return clock() - began

    once()
    ratios, usual = [], []
    for _ in range(turns):
        usual.append(once())
        with without():
            ratios.append(once() / usual[-1])
    return statistics.median(ratios), 1_000 * statistics.median(usual)


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory()


@cache
def plain() -> World:
    """Some hundred memories of a project and of a chat, without vectors."""
    made = World(Path(_folder().name) / "plain")
    for text, said in zip(texts(ROWS, 1), texts(ROWS, 2), strict=True):
        made.call("remember", content=text, project="large")
        made.call("remember", content=said, umo=CHAT, senderId="anna")
    return made


@cache
def large() -> World:
    """Many memories with drawn vectors, under the name of the real model, which embeds the questions."""
    embedder = embedder_from(load({"home": _folder().name}), SystemClock(), SystemEntropy())
    assert embedder is not None
    embedder.prepare()
    made = World(Path(_folder().name) / "large", model=embedder, snapshot_layout="chunks")
    store = made.engine.store
    assert isinstance(store, SqliteStore)
    fill(store, MANY)
    chance = np.random.default_rng(3)
    put_vectors(made.engine, mixed(made_seeds(4_000, chance), MANY, chance))
    return made


def listing() -> object:
    return plain().call("memories", limit=200)


def chat_listing() -> object:
    return plain().call("memories", umo=CHAT, senderId="anna", limit=200)


def context() -> object:
    return plain().call("context", sessionId=f"s{next(_numbers)}", project="large")


@cache
def _turns() -> Iterator[dict[str, Any]]:
    return iter([json.loads(line) for line in TURNS.read_text().splitlines()] * 3)


@cache
def learning() -> World:
    """Some hundred statements of one project."""
    made = World(Path(_folder().name) / "learning")
    for _ in range(100):
        _teach(made)
    return made


def _teach(made: World) -> None:
    row = next(_turns())
    turn(made, row["prompt"], row["answer"])
    ctx = dataclasses.replace(made.context(), whole=True)
    while learn_step(ctx, TextVectors()).more:
        pass


def learn() -> object:
    """One more turn beside the statements of a hundred others."""
    return _teach(learning())


@cache
def _codes() -> quantization.CodeTable:
    chance, table = np.random.default_rng(1), quantization.CodeTable(384, CODES)
    for start in range(0, CODES, 10_000):
        vectors = chance.normal(size=(10_000, 384)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        table.append(np.arange(start, start + 10_000), quantization.code_of(vectors))
    return table


def nearest() -> object:
    return [_codes().nearest(one, 100) for one in np.random.default_rng(2).normal(size=(5, 384)).astype(np.float32)]


def first_snapshot() -> object:
    """Every chunk is new."""
    shutil.rmtree(Path(large().engine.settings.home) / "snapshots", ignore_errors=True)
    return large().call("snapshot_create")


@cache
def _whole() -> str:
    """A snapshot that is one file, no chunks."""
    context = large().context()
    settings = dataclasses.replace(context.settings, snapshot_layout="whole")
    return str(BY_NAME["snapshot_create"].call(dataclasses.replace(context, settings=settings), {})["id"])


def verify() -> object:
    return large().call("snapshot_verify", id=_whole())


CPU, WALL = time.process_time, time.perf_counter
_STATEMENTS = "learn.statements."
MECHANISMS: dict[str, tuple[Work, Without, Callable[[], float], int]] = {
    "tokens of a text": (context, uncached("text.tokens:estimate"), CPU, 25),
    "origin of a chat": (chat_listing, uncached("protocol.origin:_parsed", "protocol.origin:_is_name"), CPU, 31),
    "times of one second": (listing, uncached("core.times:_second"), CPU, 31),
    "stems of a statement": (learn, uncached(_STATEMENTS + "stems:stems"), CPU, 31),
    "values of a statement": (
        learn,
        uncached(_STATEMENTS + "values:_values", _STATEMENTS + "values:without_values"),
        CPU,
        31,
    ),
    "numbers of a statement": (learn, uncached(_STATEMENTS + "edits:_stated_numbers"), CPU, 31),
    "words of a statement": (
        learn,
        uncached(*(f"{_STATEMENTS}supersession:{name}" for name in ("_subject", "_tokens", "_cores"))),
        CPU,
        31,
    ),
    "packs sealed while cutting": (
        first_snapshot,
        changed("snapshot.chunks.writer.ThreadPoolExecutor", Inline),
        WALL,
        5,
    ),
    "hashing while unpacking": (verify, changed("snapshot.bundle.member_stream._LARGE", 1 << 60), WALL, 9),
    "two threads over codes": (nearest, changed("store.quantization.SHARED_FROM", 1 << 60), WALL, 15),
}


def main(names: list[str]) -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in names or MECHANISMS:
        work, without, clock, turns = MECHANISMS[name]
        found, usual = ratio(work, without, clock, turns)
        print(
            f"{name:28} {found:5.2f}  ({usual:.1f} ms {'of processor' if clock is CPU else 'by the clock'})", flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])
