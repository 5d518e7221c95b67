"""Search by words at many rows beside FTS5's own ranking of the same rows, in one run.

The rows are made of a vocabulary whose frequencies fall as those of natural text do; questions take six words, common
and rare. It measures cost, and that the answers are the same; what is relevant is measured by bench/quality.py.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from holdfast.model import Memory
from holdfast.store.port import Condition
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import MEMORIES

VOCABULARY = 60_000
QUESTIONS = 60
WORDS = 39
SYLLABLES = "ba co du fe gi ha jo ku le mi no pu ra so tu ve wi xa yo zu".split()
BATCH = 2_000
SMALL_PROJECT = 1_000  # one row in so many: the filter that keeps 0.1 %


def vocabulary(chance: random.Random) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        words["".join(chance.choices(SYLLABLES, k=chance.choice((2, 2, 3, 3, 4)))) + chance.choice("mnrk")] = None
    return list(words)


def texts(rows: int, seed: int) -> Any:
    """Rows of words, drawn by Zipf's law with a flattened head, as stop-words are not searched for."""
    names = np.array(vocabulary(random.Random(1)), dtype=object)
    rank = np.arange(1, VOCABULARY + 1)
    share = 1 / (rank + 30)
    chance = np.random.default_rng(seed)
    for start in range(0, rows, 10_000):
        count = min(10_000, rows - start)
        lengths = np.clip(chance.poisson(WORDS, count), 3, None)
        drawn = chance.choice(VOCABULARY, int(lengths.sum()), p=share / share.sum())
        at = 0
        for length in lengths:
            yield " ".join(names[drawn[at : at + length]])
            at += length


def questions(number: int) -> list[str]:
    """Six words each: three common, two middling, one rare. Natural questions are mostly made of common words."""
    names, chance = vocabulary(random.Random(1)), random.Random(5)
    bands = ((10, 200),) * 3 + ((200, 2_000),) * 2 + ((2_000, 20_000),)
    return [" ".join(names[chance.randrange(*band)] for band in bands) for _ in range(number)]


def memory(seq: int, content: str, project: str) -> Memory:
    return Memory(
        tenant="default", id=f"mem_{seq}", seq=seq, root=f"mem_{seq}", version=1, parent_id=None, supersedes=(),
        latest=True, type="fact", title=content[:60], content=content, concepts=(), files=(), project=project,
        agent=None, session_ids=(), source_ids=(), strength=7.0, importance=3, created_at=seq, updated_at=seq,
        dated=False, valid_from=seq, valid_to=None, forget_after=None, content_hash="", metadata={},
    )  # fmt: skip


def fill(store: SqliteStore, rows: int) -> tuple[float, float]:
    """Rows a second with all their words, and what folding cost in seconds."""
    began, batch = time.perf_counter(), list[str]()

    def write(tx: Any) -> None:
        for content in batch:
            seq = tx.next_seq()
            tx.add(MEMORIES, memory(seq, content, "small" if seq % SMALL_PROJECT == 0 else "large"))

    for content in texts(rows, 1):
        batch.append(content)
        if len(batch) == BATCH:
            store.write(write)
            batch.clear()
    if batch:
        store.write(write)
    wrote = time.perf_counter() - began
    began = time.perf_counter()
    store.fold_words()
    return rows / wrote, time.perf_counter() - began


def bare(path: Path, store: SqliteStore) -> apsw.Connection:
    """The same rows in FTS5 alone."""
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode = WAL").fetchall()
    db.execute("PRAGMA mmap_size = 2000000000").fetchall()
    db.execute("CREATE VIRTUAL TABLE words USING fts5 (body, content = '', tokenize = 'porter unicode61')")
    with db:
        rows: Any = store._reader_connection().execute("SELECT seq, content || ' fact' FROM memories")
        db.executemany("INSERT INTO words (rowid, body) VALUES (?, ?)", rows)
    db.execute("INSERT INTO words (words) VALUES ('optimize')")
    return db


def fts5(db: apsw.Connection, question: str) -> list[float]:
    match = " OR ".join(f'"{word}"' for word in question.split())
    sql = "SELECT rowid, bm25(words) FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT 20"
    return [round(-score, 6) for _, score in db.execute(sql, (match,))]  # type: ignore[misc]


def ours(store: SqliteStore, question: str, *conditions: Condition) -> list[float]:
    """Scores only: among equals FTS5 may choose others."""
    found = store.read().words(MEMORIES, "default", question.split(), (Condition("latest", "=", True), *conditions), 20)
    return [round(hit.score, 6) for hit in found.hits]


def times(run: Any, asked: list[str]) -> tuple[float, float]:
    """p50 and p99 in milliseconds of this thread's time: the machine is shared."""
    for question in asked[:5]:
        run(question)
    took = []
    for question in asked:
        began = time.thread_time()
        run(question)
        took.append((time.thread_time() - began) * 1000)
    return statistics.median(took), sorted(took)[int(len(took) * 0.99)]


def measure(rows: int, folder: Path) -> list[tuple[str, str]]:
    store = SqliteStore(folder / "memory.db", lambda event: None)
    rate, folding = fill(store, rows)
    db = bare(folder / "bare.db", store)
    asked = questions(QUESTIONS)
    same = statistics.mean(ours(store, one) == fts5(db, one) for one in asked[:20])
    plain, mine = times(lambda one: fts5(db, one), asked), times(lambda one: ours(store, one), asked)
    few = times(lambda one: ours(store, one, Condition("project", "=", "small")), asked)
    late = times(lambda one: ours(store, one, Condition("created_at", ">", rows - rows // 1000)), asked)
    store.close()
    began = time.perf_counter()
    store = SqliteStore(folder / "memory.db", lambda event: None)
    ours(store, asked[0])
    first = time.perf_counter() - began
    size = (folder / "memory.db").stat().st_size / rows
    words = "SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'word_%' AND name != 'word_rows'"
    return [
        ("rows", f"{rows:,}"),
        ("FTS5 alone, p50 / p99", f"{plain[0]:.1f} / {plain[1]:.1f} ms"),
        ("words, p50 / p99", f"{mine[0]:.1f} / {mine[1]:.1f} ms"),
        ("ratio", f"{mine[0] / plain[0]:.3f} / {mine[1] / plain[1]:.3f}"),
        ("questions with the same best 20", f"{same:.0%}"),
        ("filter that keeps 0.1 %: project", f"{few[0]:.1f} / {few[1]:.1f} ms"),
        ("filter that keeps 0.1 %: time", f"{late[0]:.1f} / {late[1]:.1f} ms"),
        ("first answer after opening", f"{first:.2f} s"),
        ("written, rows a second", f"{rate:.0f}"),
        ("folding, µs a row", f"{folding / rows * 1e6:.0f}"),
        ("bytes a row, all", f"{size:.0f}"),
        ("bytes a row, segments", f"{int(store._writer.execute(words).get or 0) / rows:.0f}"),
        ("resident at most", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000])
    for rows in parser.parse_args().rows:
        with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as name:
            for what, figure in measure(rows, Path(name)):
                sys.stdout.write(f"{what:36} {figure}\n")
            sys.stdout.write("\n")


if __name__ == "__main__":
    main()
