"""Search at many rows, beside FTS5's own ranking and numpy's scan of the same rows in the same run.

    python bench/scale.py [--rows 10000 100000 1000000] [--work FOLDER]

The rows are made of a vocabulary whose frequencies fall as those of natural text do, their vectors are mixed; questions
take six words, common and rare. It measures cost, and that the answers are the same; what is relevant is measured by
bench/quality.py. Times are processor time where nothing else is said: the machine is shared. Writes docs/benchmarks/scale.md and scale.png when
all three sizes were measured.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import apsw
import numpy as np
from vectors import made_seeds, mixed

from holdfast.core.model import Caller, Memory
from holdfast.engine import Engine
from holdfast.ops.registry import BY_NAME
from holdfast.settings import load
from holdfast.store.port import Condition, MadeVector, Waiting
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.tables import MEMORIES
from holdfast.store.tokenizer import STOP_WORDS, stems

VOCABULARY = 60_000
QUESTIONS = 60
WORDS = 39
SYLLABLES = "ba co du fe gi ha jo ku le mi no pu ra so tu ve wi xa yo zu".split()
BATCH = 2_000
SMALL_PROJECT = 1_000  # one row in so many: the filter that keeps 0.1 %
# The embedder keeps the latest questions: each is asked once, so that its embedding counts. These make another text of
# it with the same words. By the clock both sides are asked in turns, so that a busy neighbour meets both.
WARM, AGAIN, TURNS = " ", "?", ("!", ".", ";")


def vocabulary(chance: random.Random) -> list[str]:
    """Words of Python's manual, each of another stem, then made-up ones: the rare words of a memory are names."""
    words: dict[str, str] = {}
    for word in re.findall(r"[a-z]{3,12}", " ".join(topics.values()).lower()):
        if word not in STOP_WORDS:
            words.setdefault(stems(word)[0], word)
    while len(words) < VOCABULARY:
        made = "".join(chance.choices(SYLLABLES, k=chance.choice((3, 3, 4)))) + chance.choice("mnrk")
        words.setdefault(stems(made)[0], made)
    return list(words.values())[:VOCABULARY]


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
    drawn = ([names[chance.randrange(*band)] for band in bands] for _ in range(100 * number))
    # FTS5 counts a word that is asked for twice twice.
    different = (words for words in drawn if len({stem for word in words for stem in stems(word)}) == len(words))
    return [" ".join(words) for words in islice(different, number)]


def memory(seq: int, content: str, project: str) -> Memory:
    return Memory(
        tenant="default", id=f"mem_{seq}", seq=seq, root=f"mem_{seq}", version=1, parent_id=None, supersedes=(),
        latest=True, type="fact", title=content[:60], content=content, concepts=(), files=(), project=project,
        agent=None, session_ids=(), source_ids=(), strength=7.0, importance=3, created_at=seq, updated_at=seq,
        dated=False, valid_from=seq, valid_to=None, forget_after=None, content_hash="", metadata={},
    )  # fmt: skip


def fill(store: SqliteStore, rows: int) -> tuple[float, float]:
    """Rows a second with all their words, and what compaction cost in seconds."""
    began, batch = time.perf_counter(), list[str]()

    def write(tx: Any) -> None:
        for content in batch:
            seq = tx.next_seq("default")
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
    store.compact_words()
    return rows / wrote, time.perf_counter() - began


def opened(path: Path) -> apsw.Connection:
    db = apsw.Connection(str(path))
    db.execute("PRAGMA journal_mode = WAL").fetchall()
    db.execute("PRAGMA mmap_size = 2000000000").fetchall()
    return db


def bare(path: Path, store: SqliteStore) -> apsw.Connection:
    """The same rows in FTS5 alone."""
    db = opened(path)
    db.execute("CREATE VIRTUAL TABLE words USING fts5 (body, content = '', tokenize = 'porter unicode61')")
    with db:
        rows: Any = store._readers.mine().execute("SELECT seq, content || ' fact' FROM memories")
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


def times(run: Callable[[str], object], asked: Sequence[str], clock: Callable[[], float]) -> list[float]:
    """Milliseconds for each question, once all has been read once."""
    for question in asked[:5]:
        run(question + WARM)
    took = []
    for question in asked:
        began = clock()
        run(question)
        took.append((clock() - began) * 1000)
    return took


def p50(took: Sequence[float]) -> float:
    return statistics.median(took)


def p99(took: Sequence[float]) -> float:
    return sorted(took)[int(len(took) * 0.99)]


@dataclass
class Asked:
    """What a process measured that opened the memory, asked and ended."""

    first: float
    whole: list[float]
    waited: list[float]
    fts5_waited: list[float]
    few: list[float]
    words: list[float]
    words_few: list[float]
    words_late: list[float]
    resident: float
    scores: list[list[float]]


def in_turns(
    ours: Callable[[str], object], theirs: Callable[[str], object], asked: Sequence[str]
) -> tuple[list[float], list[float]]:
    """Milliseconds by the clock for each question, of both sides."""
    waited: tuple[list[float], list[float]] = ([], [])
    for mark in TURNS:
        for run, took in zip((ours, theirs), waited, strict=True):
            took += times(lambda question, run=run: run(question + mark), asked, time.perf_counter)  # noqa: B023
    return waited


def ask(home: Path, beside: Path, rows: int, asked: list[str]) -> Asked:
    began = time.perf_counter()
    engine = Engine(load({"home": str(home)}, {}))
    ctx = engine.context(Caller())

    def search(question: str, **more: object) -> Any:
        return BY_NAME["search"].call(ctx, {"query": question, "format": "compact", **more})

    assert search(asked[0])["results"]
    first = time.perf_counter() - began
    store = engine.store
    assert isinstance(store, SqliteStore)
    small, late = Condition("project", "=", "small"), Condition("created_at", ">", rows - rows // SMALL_PROJECT)
    db = opened(beside)
    waited = in_turns(search, lambda question: fts5(db, question), asked)
    db.close()  # its pages are not ours
    measured = Asked(
        first,
        times(lambda question: search(question + AGAIN), asked, time.process_time),
        *waited,
        times(lambda question: search(question, project="small"), asked, time.process_time),
        times(lambda question: ours(store, question), asked, time.thread_time),
        times(lambda question: ours(store, question, small), asked, time.thread_time),
        times(lambda question: ours(store, question, late), asked, time.thread_time),
        resident(),
        [ours(store, question) for question in asked],
    )
    engine.close()
    return measured


def resident() -> float:
    """Megabytes of this process; of the database's own pages, mapped from the file, only what is in use counts."""
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def put_vectors(engine: Engine, rows: np.ndarray[Any, Any]) -> float:
    """Vectors for all memories, as the follower would store them; how many a second."""
    assert engine.embedder is not None
    model, began = engine.embedder.name, time.perf_counter()
    engine.store.write(lambda tx: tx.follow_model(model))
    seqs = [seq for (seq,) in engine.store._writer.execute("SELECT seq FROM memories ORDER BY seq")]  # type: ignore[attr-defined]
    for start in range(0, len(seqs), BATCH):
        some = seqs[start : start + BATCH]

        def put(tx: Any, some: list[int] = some, start: int = start) -> None:
            work = {one.seq: one for one in tx.index_work(len(some))}
            waiting = [work.get(seq) or Waiting("default", "memories", seq, seq) for seq in some]
            made = [
                MadeVector(one, one.seq.to_bytes(16, "big"), rows[start + at, None]) for at, one in enumerate(waiting)
            ]
            assert tx.put_vectors(model, made) == len(some)

        engine.store.write(put)
    while (missing := engine.store.read().missing(model, 10_000)) is not None:
        engine.store.write(lambda tx, missing=missing: tx.queue(model, missing))
    return len(seqs) / (time.perf_counter() - began)


def scan(rows: np.ndarray[Any, Any], queries: np.ndarray[Any, Any]) -> list[float]:
    took = []
    for query in queries:
        began = time.thread_time()
        np.argpartition(-(rows @ query), 10)[:10]
        took.append((time.thread_time() - began) * 1000)
    return took


def measure(rows: int, folder: Path) -> dict[str, float]:
    home, chance = folder / "home", np.random.default_rng(3)
    engine = Engine(load({"home": str(home)}, {}))
    store = engine.store
    assert isinstance(store, SqliteStore)
    written, folding = fill(store, rows)
    seeds = made_seeds(4_000, chance)
    vectors = mixed(seeds, rows, chance)
    embedded = put_vectors(engine, vectors)
    db = bare(folder / "bare.db", store)
    database = store.path
    engine.close()
    asked = questions(QUESTIONS)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        mine = pool.apply(ask, (home, folder / "bare.db", rows, asked))
    plain = times(lambda question: fts5(db, question), asked, time.thread_time)
    whole = times(lambda question: fts5(db, question + AGAIN), asked, time.thread_time)
    dense = scan(vectors, mixed(seeds, QUESTIONS, chance))
    both = [one + other for one, other in zip(whole, dense, strict=True)]
    same = statistics.mean(fts5(db, one) == other for one, other in zip(asked, mine.scores, strict=True))
    return {
        "rows": rows, "fts5 p50": p50(plain), "fts5 p99": p99(plain), "scan p50": p50(dense),
        "bare p50": p50(both), "bare p99": p99(both),
        "words p50": p50(mine.words), "words p99": p99(mine.words), "same": same,
        "words project p50": p50(mine.words_few), "words project p99": p99(mine.words_few),
        "words time p50": p50(mine.words_late), "words time p99": p99(mine.words_late),
        "search p50": p50(mine.whole), "search p99": p99(mine.whole),
        "whole p50": p50(mine.whole) / p50(whole), "whole p99": p99(mine.whole) / p99(whole),
        "waited p50": p50(mine.waited) / p50(mine.fts5_waited), "waited p99": p99(mine.waited) / p99(mine.fts5_waited),
        "clock p50": p50(mine.waited), "clock p99": p99(mine.waited),
        "search project p50": p50(mine.few), "search project p99": p99(mine.few),
        "first": mine.first, "resident": mine.resident,
        "written": written, "folding": folding / rows * 1e6, "vectors": embedded,
        "bytes": database.stat().st_size / rows,
    }  # fmt: skip


LINES: tuple[tuple[str, Callable[[dict[str, float]], str], str], ...] = (
    ("FTS5 alone, p50 / p99", lambda one: f"{one['fts5 p50']:.1f} / {one['fts5 p99']:.1f} ms", ""),
    ("numpy scan of float32, p50", lambda one: f"{one['scan p50']:.1f} ms", ""),
    ("words, p50 / p99", lambda one: f"{one['words p50']:.1f} / {one['words p99']:.1f} ms", ""),
    (
        "words / FTS5",
        lambda one: f"{one['words p50'] / one['fts5 p50']:.3f} / {one['words p99'] / one['fts5 p99']:.3f}",
        "≤ 0.1 at 1M",
    ),
    ("questions whose best 20 are FTS5's", lambda one: f"{one['same']:.0%}", "all"),
    ("words, filter that keeps 0.1 %: project", lambda one: f"{one['words project p50']:.1f} / {one['words project p99']:.1f} ms", "no slower"),
    ("words, filter that keeps 0.1 %: time", lambda one: f"{one['words time p50']:.1f} / {one['words time p99']:.1f} ms", "no slower"),
    ("whole search with its embedding, p50 / p99", lambda one: f"{one['search p50']:.1f} / {one['search p99']:.1f} ms", ""),
    (
        "processor time / FTS5 alone",
        lambda one: f"{one['whole p50']:.2f} / {one['whole p99']:.2f}",
        "≤ 1.5 at 100k, ≤ 0.3 at 1M",
    ),
    ("by the clock, on two processors", lambda one: f"{one['clock p50']:.1f} / {one['clock p99']:.1f} ms", ""),
    ("by the clock / FTS5 alone", lambda one: f"{one['waited p50']:.2f} / {one['waited p99']:.2f}", "≤ 1.5 at 100k, ≤ 0.3 at 1M"),
    ("whole search / FTS5 + numpy", lambda one: f"{one['search p50'] / one['bare p50']:.2f} / {one['search p99'] / one['bare p99']:.2f}", ""),
    ("whole search, filter that keeps 0.1 %", lambda one: f"{one['search project p50']:.1f} / {one['search project p99']:.1f} ms", "no slower"),
    ("first answer after opening", lambda one: f"{one['first']:.2f} s", "≤ 2 s at 1M"),
    ("resident", lambda one: f"{one['resident']:.0f} MB", "< 1,500 at 1M"),
    ("written, rows a second", lambda one: f"{one['written']:.0f}", ""),
    ("compacted, µs a row", lambda one: f"{one['folding']:.0f}", ""),
    ("vectors stored a second", lambda one: f"{one['vectors']:.0f}", ""),
    ("bytes a memory", lambda one: f"{one['bytes']:.0f}", ""),
)  # fmt: skip


def table(measured: Sequence[dict[str, float]]) -> str:
    head = "| what | " + " | ".join(f"{one['rows']:,.0f}" for one in measured) + " | goal |"
    lines = [head, "|---" * (len(measured) + 2) + "|"]
    for what, say, goal in LINES:
        lines.append(f"| {what} | " + " | ".join(say(one) for one in measured) + f" | {goal} |")
    return "\n".join(lines)


def plot(measured: Sequence[dict[str, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    rows = [one["rows"] for one in measured]
    for name, label, style in (
        ("bare", "FTS5 + numpy", "--"),
        ("fts5", "FTS5 alone", ":"),
        ("search", "whole search, with its embedding", "-"),
        ("words", "words", "-"),
    ):
        axes.plot(rows, [one[f"{name} p50"] for one in measured], style, marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="memories", ylabel="processor time a question, p50, ms")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


HEAD = """# Search at scale

Written by `make bench`. Processor time, or where it says so the clock's, of one run on one machine; ratios say more than
numbers. The goal of the whole search stands at both: a caller waits by the clock, and both processors work for him.
FTS5 is a contentless table of the same rows ranked by `bm25()` and is asked the same questions; numpy is a scan of
float32 vectors. The whole search is the operation itself: the question's embedding, words, vectors, neighbours, ranking,
deduplication and the answer. Vectors are mixed from drawn ones, so they tell of cost only.

![processor time a question](scale.png)

"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--work", default=os.environ.get("BENCH_DIR"))
    asked = parser.parse_args()
    measured = []
    for rows in asked.rows:
        with tempfile.TemporaryDirectory(dir=asked.work) as name:
            measured.append(measure(rows, Path(name)))
        sys.stdout.write(table(measured) + "\n\n")
        sys.stdout.flush()
    if len(measured) >= 3:
        page = Path(__file__).parent.parent / "docs" / "benchmarks" / "scale.md"
        page.write_text(HEAD + table(measured) + "\n")
        plot(measured, page.with_suffix(".png"))


if __name__ == "__main__":
    main()
