"""How fast and how exactly the nearest vectors are found, beside numpy over float32 in the same run.

    python bench/vectors.py [--quick | --mixes ROWS] [--seeds FILE.npy --queries FILE.npy]

Seeds are vectors of real text (float32, length 1) from which as many as needed are mixed; without them the seeds are
drawn from a spectrum that falls off as that of sentence vectors does. Prints a table and, unless --quick, writes
docs/benchmarks/vectors.md. With --mixes it prints what the codes find, in memory, where vectors lie closer or further
apart.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.store.port import MadeVector, Missing, Tx, Waiting
from holdfast.store.quantization import CodeTable, code_of
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.sqlite.vectors.nearest import RESCORED

ROOT = Path(__file__).parent.parent
TENANT, MODEL = "bench", "bench-model"
DIMS, TOP, QUERIES, BATCH = 384, 10, 100, 5_000
# A stored vector is a seed plus this much of the difference of two others: as spread as the seeds, none twice.
MIXED = 0.6

Matrix = NDArray[np.float32]


@dataclass
class Asked:
    """What a process found that opened the store, asked and ended."""

    first: float
    times: list[float]
    busy: list[float]  # processor time of the same
    filtered: list[float]
    found: list[list[int]]
    found_by_strangers: list[list[int]]
    resident: float


def made_seeds(count: int, chance: np.random.Generator) -> Matrix:
    """Vectors whose variance falls off as 1/rank, around a common mean, in a turned basis."""
    spread = 1 / np.sqrt(np.arange(1, DIMS + 1))
    turned = np.linalg.qr(chance.standard_normal((DIMS, DIMS)))[0]
    mean = 0.4 * np.linalg.norm(spread) * turned[0]
    return unit((chance.standard_normal((count, DIMS)) * spread) @ turned + mean)


def unit(rows: NDArray[np.floating]) -> Matrix:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def mixed(seeds: Matrix, count: int, chance: np.random.Generator, share: float = MIXED) -> Matrix:
    rows = np.empty((count, seeds.shape[1]), dtype=np.float32)
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        one, two, three = chance.integers(0, len(seeds), (3, size))
        rows[start : start + size] = unit(seeds[one] + share * (seeds[two] - seeds[three]))
    return rows


def fill(path: Path, rows: Matrix) -> float:
    """Store the vectors as the follower would; vectors per second."""
    store = SqliteStore(path, lambda event: None)
    started = time.perf_counter()
    for start in range(0, len(rows), BATCH):
        some = range(start + 1, min(start + BATCH, len(rows)) + 1)

        def put(tx: Tx, some: range = some) -> None:
            tx.queue(MODEL, Missing("memories", some[-1], tuple((seq, TENANT) for seq in some)))
            made = [
                MadeVector(Waiting(TENANT, "memories", seq, seq), seq.to_bytes(16, "big"), rows[seq - 1, None])
                for seq in some
            ]
            assert tx.put_vectors(MODEL, made) == len(some)

        store.write(put)
    took = time.perf_counter() - started
    store.close()
    return len(rows) / took


def ask(path: Path, queries: Matrix, strangers: Matrix, count: int) -> Asked:
    before = resident()
    started = time.perf_counter()
    store = SqliteStore(path, lambda event: None)
    store.read().nearest(TENANT, MODEL, queries[0], TOP)
    first = time.perf_counter() - started
    times, busy, found, filtered = [], [], [], []
    few = np.arange(1, count + 1, 1_000, dtype=np.int64)
    for query in queries:
        started, worked = time.perf_counter(), time.process_time()
        hits = store.read().nearest(TENANT, MODEL, query, TOP)
        times.append(time.perf_counter() - started)
        busy.append(time.process_time() - worked)
        found.append([hit.seq - 1 for hit in hits])
        started = time.perf_counter()
        store.read().nearest(TENANT, MODEL, query, TOP, few)
        filtered.append(time.perf_counter() - started)
    grown = resident() - before
    by_strangers = [[hit.seq - 1 for hit in store.read().nearest(TENANT, MODEL, one, TOP)] for one in strangers]
    store.close()
    return Asked(first, times, busy, filtered, found, by_strangers, grown)


def resident() -> float:
    """Anonymous memory in MB: the database's own pages, mapped from the file, are the kernel's to take back."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


def in_own_process(path: Path, queries: Matrix, strangers: Matrix, count: int) -> Asked:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(ask, (path, queries, strangers, count))


def recall(best: list[set[int]], found: list[list[int]]) -> str:
    return f"{np.mean([len(one & set(some)) / TOP for one, some in zip(best, found, strict=True)]):.4f}"


def exact(rows: Matrix, queries: Matrix) -> tuple[list[set[int]], list[float], list[float]]:
    best, times, busy = [], [], []
    for query in queries:
        started, worked = time.perf_counter(), time.thread_time()
        scores = rows @ query
        top = np.argpartition(-scores, TOP)[:TOP]
        times.append(time.perf_counter() - started)
        busy.append(time.thread_time() - worked)
        best.append(set(top.tolist()))
    return best, times, busy


def p(times: list[float], percent: float) -> str:
    return f"{np.percentile(times, percent) * 1000:.1f}"


def measure(count: int, seeds: Matrix, queries: Matrix, chance: np.random.Generator) -> tuple[str, ...]:
    rows, strangers = mixed(seeds, count, chance), made_seeds(QUERIES, chance)
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        path = Path(folder) / "memory.db"
        rate = fill(path, rows)
        size = path.stat().st_size / count
        asked = in_own_process(path, queries, strangers, count)
    best, plain, worked = exact(rows, queries)
    return (
        f"{count:,}",
        f"{p(asked.times, 50)} / {p(asked.times, 99)}",
        p(asked.busy, 50),
        p(asked.filtered, 50),
        f"{p(plain, 50)} / {p(plain, 99)}",
        p(worked, 50),
        recall(best, asked.found),
        recall(exact(rows, strangers)[0], asked.found_by_strangers),
        f"{asked.first:.2f}",
        f"{size:.0f}",
        f"{asked.resident:.0f}",
        f"{rate:,.0f}",
    )


def found_by_codes(rows: Matrix, queries: Matrix) -> float:
    """Recall@10 of the codes and of scoring as many of the nearest as a store does."""
    table = CodeTable(DIMS, len(rows))
    for start in range(0, len(rows), BATCH):
        some = rows[start : start + BATCH]
        table.append(np.arange(start, start + len(some)), code_of(some))
    best, _, _ = exact(rows, queries)
    found = []
    for query, true in zip(queries, best, strict=True):
        near = table.nearest(query, RESCORED)
        top = near[np.argsort(-(rows[near] @ query))[:TOP]]
        found.append(len(true & set(top.tolist())) / TOP)
    return float(np.mean(found))


def mixes(count: int, seeds: Matrix, queries: Matrix, chance: np.random.Generator) -> None:
    for share in (0.3, 0.6, 0.9):
        held = found_by_codes(mixed(seeds, count, chance, share), queries)
        print(f"| {count:,} | {share} | {len(queries)} | {held:.4f} |", flush=True)


COLUMNS = (
    "vectors",
    "p50 / p99 ms",
    "processor p50",
    "p50 of 0.1 % allowed",
    "numpy float32 p50 / p99 ms",
    "processor p50",
    "recall@10",
    "the same of strangers",
    "open and first answer, s",
    "bytes each",
    "memory, MB",
    "stored per s",
)

HEAD = """# Vectors

Written by `python bench/vectors.py`. {source}; {queries} questions that are
not among the stored vectors; a million are searched by two threads. Absolute times of one machine that did other work as
well: read the ratios, and the processor's time. Recall is against exact float32. Strangers are questions that have
nothing to do with what is stored, drawn in another basis: the nearest are hardly nearer than the rest, which is the
hardest case. The store was opened by a process of its own; memory is what that process grew by, without the pages of
the database that the kernel keeps for it.

"""


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("--quick", action="store_true")
    reader.add_argument("--mixes", type=int)
    reader.add_argument("--seeds", type=Path)
    reader.add_argument("--queries", type=Path)
    options = reader.parse_args()
    chance = np.random.default_rng(5)
    if options.seeds:
        seeds, queries = np.load(options.seeds), np.load(options.queries)
        source = f"Mixed from {len(seeds):,} vectors of real sentences (MiniLM, 384 numbers)"
    else:
        drawn = made_seeds(6_000 + QUERIES, chance)
        seeds, queries = drawn[QUERIES:], drawn[:QUERIES]
        source = "Mixed from drawn vectors of 384 numbers"
    queries = queries[chance.permutation(len(queries))[:QUERIES]]
    seeds = seeds[(seeds @ queries.T).max(axis=1) < 0.98]
    if options.mixes:
        mixes(options.mixes, seeds, queries, chance)
        return
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for count in (10_000, 100_000) if options.quick else (10_000, 100_000, 1_000_000):
        lines.append(f"| {' | '.join(measure(count, seeds, queries, chance))} |")
        print("\n".join(lines[-1:] if len(lines) > 3 else lines), flush=True)
    if not options.quick:
        page = ROOT / "docs" / "benchmarks" / "vectors.md"
        page.write_text(HEAD.format(source=source, queries=len(queries)) + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
