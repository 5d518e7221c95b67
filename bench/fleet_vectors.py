"""Search of one tenant with many memories on PostgreSQL, beside the embedded store with the same memories.

    PYTHONPATH=tests python bench/fleet_vectors.py [--rows 10000 100000] [--parts] [--security]

Memories are those of bench/scale.py, vectors those of bench/vectors.py; both engines are asked in turns, so that a
busy neighbour meets both. `--parts` shows where the time of a search goes on PostgreSQL, `--security` what row security
costs: the same search and write by a plain role and by one with BYPASSRLS. What was measured and chosen is in
docs/decisions/store.md.
"""

from __future__ import annotations

import argparse
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector.psycopg import register_vector
from postgres_cluster import Cluster, cluster
from scale import fill, put_vectors, questions, texts
from vectors import made_seeds, mixed

from holdfast.core.model import Caller, CleanText
from holdfast.engine import Engine
from holdfast.ops.registry import BY_NAME
from holdfast.settings import Settings, load
from holdfast.store.postgres.batch import FIRST
from holdfast.store.postgres.pool import EVERY_SPACE, View, connected
from holdfast.store.postgres.space_copy import load as load_space
from holdfast.store.postgres.store import PostgresStore

_MAKE_UNHELD = (
    "DO $$ BEGIN CREATE ROLE unheld LOGIN BYPASSRLS IN ROLE holdfast; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
)
TENANT, DIMS, QUESTIONS, TURNS, TOP, WRITES = "default", 384, 40, 3, 10, 200
SETTINGS = ("shared_buffers = 1GB", "max_wal_size = 4GB", "work_mem = 16MB")

Matrix = NDArray[np.float32]


class QuestionVectors:
    """The vector of each question, as a model would make it; fulfils `core.ports.Embedder`."""

    name, dims = "bench-model", DIMS

    def __init__(self, known: dict[str, Matrix]):
        self._known = known

    def prepare(self) -> None:
        """It is there."""

    def parts(self, texts: Sequence[CleanText]) -> list[list[CleanText]]:
        return [[text] for text in texts]

    def embed(self, texts: Sequence[CleanText]) -> Matrix:
        return np.array([self.embed_query(text) for text in texts])

    def embed_query(self, text: CleanText) -> Matrix:
        return self._known.get(text.strip(), next(iter(self._known.values())))

    def reads(self, text: str) -> float:
        return 1.0

    def fault(self) -> None:
        return None

    def close(self) -> None:
        """Nothing was opened."""


def settings(home: Path, store: str = "sqlite") -> Settings:
    return load({"home": str(home), "store": store, "daemon": "off"}, {})


def fill_embedded(home: Path, rows: int, model: Any, seeds: Matrix) -> Matrix:
    """A data folder with so many memories and their vectors; the vectors."""
    vectors = mixed(seeds, rows, np.random.default_rng(4))
    engine = Engine(settings(home), embedder=model)
    fill(engine.store, rows)  # type: ignore[arg-type]
    put_vectors(engine, vectors)
    engine.close()
    return vectors


def copy_to(url: str, home: Path, model: Any, folder: Path) -> None:
    """The memory of a data folder as the tenant's in a database."""
    engine = Engine(settings(home), embedder=model)
    engine.capture(folder / "captured.db", TENANT, check=False)
    engine.close()
    PostgresStore(url, lambda event: None).close()  # makes the tables
    with connected(url) as db:
        register_vector(db)
        with db.transaction():
            space = load_space(View(db), folder / "captured.db", TENANT, FIRST)
            db.execute("INSERT INTO tenants (tenant, live) VALUES (%s, %s)", (TENANT, space))
    with connected(url) as db:
        db.execute("SELECT set_config('holdfast.space', %s, false)", (EVERY_SPACE,))
        db.execute("INSERT INTO followed VALUES (0, '', %s, 0)", (model.name,))
        db.execute("VACUUM ANALYZE")


@contextmanager
def opened(home: Path, store: str, model: Any) -> Iterator[Engine]:
    engine = Engine(settings(home, store), embedder=model)
    try:
        yield engine
    finally:
        engine.close()


def ask(engine: Engine, question: str, **more: object) -> Any:
    ctx = engine.context(Caller())
    return BY_NAME["search"].call(ctx, {"query": question, "format": "compact", **more})


def in_turns(runs: dict[str, Callable[[str], object]], asked: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds by the clock for each question."""
    for run in runs.values():
        for question in asked[:5]:
            run(question)
    took: dict[str, list[float]] = defaultdict(list)
    for _ in range(TURNS):
        for question in asked:
            for name, run in runs.items():
                began = time.perf_counter()
                run(question)
                took[name].append((time.perf_counter() - began) * 1000)
    return took


def p50(took: Sequence[float]) -> float:
    return statistics.median(took)


def recall(engine: Engine, vectors: Matrix, queries: Matrix) -> float:
    """The share of the exact ten nearest, by the vectors as they are stored, that the store finds."""
    reader, found = engine.store.read(), 0
    stored = vectors.astype(np.float16).astype(np.float32)
    seqs = np.arange(1, len(vectors) + 1)
    for query in queries:
        exact = set(seqs[np.argsort(-(stored @ query), kind="stable")[:TOP]].tolist())
        found += len(exact & {hit.seq for hit in reader.nearest(TENANT, "bench-model", query, TOP)})
    return found / (TOP * len(queries))


class Parts:
    """How long each kind of statement took, by its beginning, and how many there were."""

    def __init__(self) -> None:
        self.took: dict[str, float] = defaultdict(float)
        self.number: dict[str, int] = defaultdict(int)

    @contextmanager
    def watching(self) -> Iterator[None]:
        import psycopg

        plain = psycopg.Cursor.execute

        def timed(cursor: Any, query: Any, *given: Any, **more: Any) -> Any:
            began = time.perf_counter()
            try:
                return plain(cursor, query, *given, **more)
            finally:
                text = query.decode() if isinstance(query, bytes) else str(query)
                self.took[text[:110]] += time.perf_counter() - began
                self.number[text[:110]] += 1

        psycopg.Cursor.execute = timed  # type: ignore[method-assign,assignment]
        try:
            yield
        finally:
            psycopg.Cursor.execute = plain  # type: ignore[method-assign]

    def show(self, rounds: int) -> None:
        for text, seconds in sorted(self.took.items(), key=lambda one: -one[1])[:14]:
            print(f"  {seconds / rounds * 1000:7.2f} ms  {self.number[text] / rounds:5.1f} x  {text}")


def measure(
    server: Cluster, rows: int, folder: Path, *, parts: bool = False, security: bool = False
) -> dict[str, float]:
    """Figures of one size; the ratios are of this run."""
    seeds, asked = made_seeds(4_000, np.random.default_rng(3)), questions(QUESTIONS)
    queries = mixed(seeds, QUESTIONS, np.random.default_rng(5))
    model = QuestionVectors(dict(zip(asked, queries, strict=True)))
    home, name = folder / f"home{rows}", f"rows{rows}"
    vectors = fill_embedded(home, rows, model, seeds)
    server.execute(f"CREATE DATABASE {name} OWNER holdfast", database="postgres")
    url = server.url(database=name)
    copy_to(url, home, model, folder)
    with opened(home, "sqlite", model) as embedded, opened(folder / f"beside{rows}", url, model) as shared:
        found = {
            "rows": float(rows),
            "recall@10": recall(shared, vectors, queries),
            "recall@10 embedded": recall(embedded, vectors, queries),
        }
        took = in_turns(
            {
                "search embedded": lambda question: ask(embedded, question),
                "search": lambda question: ask(shared, question),
                "filtered embedded": lambda question: ask(embedded, question, project="small"),
                "filtered": lambda question: ask(shared, question, project="small"),
                "nearest embedded": lambda question: _nearest(embedded, model, question),
                "nearest": lambda question: _nearest(shared, model, question),
            },
            asked,
        )
        found |= {name: p50(one) for name, one in took.items()}
        for name in ("search", "filtered", "nearest"):
            found[f"{name} / embedded"] = found[name] / found[f"{name} embedded"]
        if parts:
            seen = Parts()
            with seen.watching():
                for question in asked:
                    ask(shared, question)
            seen.show(len(asked))
        if security:
            found |= row_security(server, name=f"rows{rows}", folder=folder, model=model, asked=asked)
    return found


def row_security(server: Cluster, name: str, folder: Path, model: Any, asked: Sequence[str]) -> dict[str, float]:
    """Search and write by a role that row security holds, and by one that it does not, in turns."""
    server.execute(_MAKE_UNHELD)
    with (
        opened(folder / f"held{name}", server.url(database=name), model) as held,
        opened(folder / f"free{name}", server.url("unheld", database=name), model) as free,
    ):
        took = in_turns({"held": lambda one: ask(held, one), "free": lambda one: ask(free, one)}, asked)
        writes: dict[str, list[float]] = defaultdict(list)
        drawn = texts(2 * WRITES, int(time.time()))
        for number in range(WRITES):
            sides = [("held", held), ("free", free)]
            for side, engine in sides if number % 2 else reversed(sides):
                given, began = {"content": next(drawn)}, time.perf_counter()
                BY_NAME["remember"].call(engine.context(Caller()), given)
                writes[side].append((time.perf_counter() - began) * 1000)
    return {
        "search with / without row security": p50(took["held"]) / p50(took["free"]),
        "write with / without row security": p50(writes["held"]) / p50(writes["free"]),
    }


def _nearest(engine: Engine, model: QuestionVectors, question: str) -> Any:
    return engine.store.read().nearest(TENANT, model.name, model.embed_query(CleanText(question)), 100)


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    given.add_argument("--parts", action="store_true")
    given.add_argument("--security", action="store_true")
    args = given.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, cluster(SETTINGS) as server:
        for rows in args.rows:
            found = measure(server, rows, Path(folder), parts=args.parts, security=args.security)
            for name, value in found.items():
                print(f"{name:40} {value:10.3f}", flush=True)


if __name__ == "__main__":
    main()
