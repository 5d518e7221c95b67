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
import subprocess
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
from postgres_server import new_schema  # noqa: E402
from scale import fill, put_vectors, texts  # noqa: E402
from talk import turn  # noqa: E402
from vectors import made_seeds, mixed  # noqa: E402
from world import World  # noqa: E402

from holdfast.core.system import SystemClock, SystemEntropy  # noqa: E402
from holdfast.embedder import embedder_from  # noqa: E402
from holdfast.ops.registry import BY_NAME  # noqa: E402
from holdfast.learn.statements.learner import learn_step  # noqa: E402
from holdfast.learn.statements.text_vectors import TextVectors  # noqa: E402
from holdfast.serve.http.auth import Auth  # noqa: E402
from holdfast.settings import load  # noqa: E402
from holdfast.snapshot.chunks.pack_download import fetch_packs  # noqa: E402
from holdfast.snapshot.repo.context import snapshot_context  # noqa: E402
from holdfast.store import quantization  # noqa: E402
from holdfast.store.port import Condition, Usage  # noqa: E402
from holdfast.store.quota.running_usage import RunningUsage  # noqa: E402
from holdfast.store.sqlite.store import SqliteStore  # noqa: E402
from holdfast.store.tables import MEMORIES  # noqa: E402
from holdfast.text import excerpt  # noqa: E402
from holdfast.vault.local import LocalVault  # noqa: E402

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


def past_search() -> object:
    """A search of a snapshot that was searched before."""
    return large().call("snapshot_search", id=_whole(), query="notes")


def next_snapshot() -> object:
    """A few more records, and a snapshot of all in chunks."""
    large().call("remember", content=f"the release note of day {next(_numbers)}")
    return large().call("snapshot_create")


@cache
def _chunked() -> str:
    return str(large().call("snapshot_create")["id"])


class _Far:
    """A vault behind a network: each file comes after 20 ms."""

    def __init__(self, folder: Path):
        self._inner = LocalVault(folder)

    def open(self, name: str) -> Any:
        time.sleep(0.02)
        return self._inner.open(name)


def fetch() -> object:
    """The packs of a snapshot in chunks."""
    repo, into = snapshot_context(large().context()).repo, Path(_folder().name) / "fetched"
    chosen = repo.find(_chunked()).manifest
    assert chosen is not None
    fetch_packs(_Far(repo.root), "", repo.root / chosen.bundle_name, chosen, into)
    return shutil.rmtree(into)


@cache
def _texts() -> list[str]:
    return list(texts(10, 3))


def asked_again() -> object:
    """The question of a prompt, once more: from another hook, or for another page of hits."""
    return large().call("search", query="which release notes are missing", limit=10)


@cache
def _long_output() -> str:
    return "\n".join(f"tests/test_part_{number}.py::test_that_row_{number} PASSED" for number in range(5_000))


def shorten() -> object:
    return excerpt.excerpt(_long_output(), 4_000)


@cache
def limited() -> World:
    """A memory with a quota that is far away."""
    made = World(Path(_folder().name) / "limited", quota_records=10_000_000)
    for text in texts(ROWS, 1):
        made.call("remember", content=text)
    return made


def remember_within() -> object:
    return [limited().call("remember", content=f"{text} {next(_numbers)}") for text in _texts()]


@cache
def shared() -> World:
    """The same memories on PostgreSQL."""
    made = World(Path(_folder().name) / "shared", store=new_schema())
    for text in texts(ROWS, 1):
        made.call("remember", content=text, project="large")
    return made


def short_list() -> object:
    return shared().call("sessions")


@cache
def _token() -> str:
    return str(shared().call("token_create", name="bench")["token"])


@cache
def _auth() -> Auth:
    return Auth(shared().engine, "")


def short_list_with_a_token() -> object:
    """What a request with a token costs on PostgreSQL: who calls is looked up first."""
    assert _auth().of(_token())
    return short_list()


_WORD, _PROJECT = next(iter(texts(1, 1))).split()[0], (Condition("project", "=", "small"),)


@cache
def worded() -> World:
    """Many memories, a few of them of another project."""
    made = World(Path(_folder().name) / "worded")
    store = made.engine.store
    assert isinstance(store, SqliteStore)
    fill(store, MANY)
    return made


def search_a_project() -> object:
    """A search by words within one project: its docs are those that meet a scope."""
    return worded().engine.store.read().words(MEMORIES, "default", [_WORD], _PROJECT, 10)


_NO_MASKS = property(lambda part: {}, lambda part, value: None)


COMMANDS = "import holdfast.cli.command_table as table; table.listing()"


def command_words() -> object:
    """The commands of the command line, in a process of its own."""
    return subprocess.run([sys.executable, "-c", os.environ.get("HOLDFAST_BENCH_WORDS", COMMANDS)], check=True)


@contextmanager
def _from_declarations() -> Iterator[None]:
    with patch.dict(os.environ, HOLDFAST_BENCH_WORDS="import holdfast.ops.registry"):
        yield


def _counted(usage: RunningUsage, tenant: str, count: Callable[[str], Usage]) -> Usage:
    return count(tenant)


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
    "opened snapshots kept": (past_search, changed("snapshot.browse._place", lambda *_: None), CPU, 5),
    "stretches of the last snapshot": (
        next_snapshot,
        changed("snapshot.chunks.cache.KnownPacks._load_stretches", lambda _: None),
        CPU,
        5,
    ),
    "packs fetched four at once": (fetch, changed("snapshot.chunks.pack_download.ThreadPoolExecutor", Inline), WALL, 5),
    "vectors of questions kept": (
        asked_again,
        changed("index.local_embedder._QueryCache.get", lambda *_: None),
        CPU,
        15,
    ),
    "lines with a sign of failure": (shorten, changed("text.excerpt._SIGN", excerpt._FAILED), CPU, 15),
    "usage counted once": (remember_within, changed("store.quota.running_usage.RunningUsage.of", _counted), CPU, 15),
    "SQL of a query kept": (
        short_list,
        uncached("store.postgres.conditions:_where", "store.postgres.conditions:columns_of"),
        CPU,
        31,
    ),
    "tokens kept": (short_list_with_a_token, changed("serve.http.auth.KEPT_SECONDS", 0.0), WALL, 31),
    "masks of a scope": (search_a_project, changed("store.fulltext.parts.Part.masks", _NO_MASKS), CPU, 31),
    "table of commands": (command_words, _from_declarations, WALL, 9),
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
