"""How much of onnxruntime's own speed is left once texts go through the embedder, and what writes notice of it.

    python bench/embedding.py [--quick] [--writes | --models]

Ratios of one run. Prints a table and writes docs/benchmarks/embedding.md.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from client import Line, request, text

from holdfast.core.system import SystemClock
from holdfast.index import GTE_SMALL, LOCAL_MODELS, MINILM, LocalEmbedder, LocalModel, WeightFolders
from holdfast.index.onnx_session import IDS, MASK
from holdfast.index.onnx_session import Session
from holdfast.index.weights import read_weights

ROOT = Path(__file__).parent.parent
NOWHERE = Path("/nowhere")
ALONE_BATCHES = (8, 32)  # texts; the better one counts


def embedder_of(model: LocalModel) -> LocalEmbedder:
    return LocalEmbedder(WeightFolders(model, "", NOWHERE), SystemClock())


def resident_mb(pid: int | str = "self") -> float:
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def prose(count: int, seed: int) -> list[str]:
    """Texts of 5 to 120 words, as memories are."""
    chance = random.Random(seed)
    words = (ROOT / "docs" / "design.md").read_text().split()
    return [" ".join(chance.choices(words, k=chance.randint(5, 120))) for _ in range(count)]


class Alone:
    """onnxruntime and nothing else: its own threads, tokens ready made, sorted by length and padded."""

    def __init__(self, texts: Sequence[str]):
        import onnxruntime as ort

        files = WeightFolders(MINILM, "", NOWHERE).find()
        tensors = read_weights(MINILM, files.weights)
        options = ort.SessionOptions()
        options.log_severity_level = 4
        values = [ort.OrtValue.ortvalue_from_numpy(one) for one in tensors.values()]
        options.add_external_initializers(list(tensors), values)
        model = MINILM.graph.read_bytes()
        self._session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        tokens = sorted(Session(files).tokens(texts), key=len)
        self._batches = {
            size: [self._padded(tokens[at : at + size]) for at in range(0, len(tokens), size)] for size in ALONE_BATCHES
        }

    def _padded(self, tokens: Sequence[Any]) -> dict[str, Any]:
        shape = (len(tokens), max(map(len, tokens)))
        ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, one in enumerate(tokens):
            ids[row, : len(one)], mask[row, : len(one)] = one, 1
        return {IDS: ids, MASK: mask}

    def run(self, size: int) -> None:
        for batch in self._batches[size]:
            self._session.run(None, batch)


def rates(texts: Sequence[str], rounds: int) -> tuple[float, float, float, float]:
    """Texts a second and per processor second: the embedder's, then onnxruntime's alone. Turn by turn.

    All of it at the lowest priority, where the embedder works: otherwise whatever else runs on the machine would
    slow one side only.
    """
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
    alone = Alone(texts)
    ours = embedder_of(MINILM)
    ours.embed(texts[:50])  # type: ignore[arg-type]
    alone.run(ALONE_BATCHES[0])
    took: dict[int, list[tuple[float, float]]] = {side: [] for side in (0, *ALONE_BATCHES)}
    for _ in range(rounds):
        took[0].append(_times(lambda: ours.embed(texts)))  # type: ignore[arg-type]
        for size in ALONE_BATCHES:
            took[size].append(_times(lambda size=size: alone.run(size)))  # type: ignore[misc]
    walls = {side: statistics.median(wall for wall, _ in times) for side, times in took.items()}
    busy = {side: statistics.median(cpu for _, cpu in times) for side, times in took.items()}
    best = min(ALONE_BATCHES, key=lambda size: walls[size])
    count = len(texts)
    return count / walls[0], count / busy[0], count / walls[best], count / busy[best]


def _times(work: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


# Writes


def serve(home: str) -> None:
    """A server that embeds without end while it is told to: a line on stdin turns that on or off, and is answered."""
    from holdfast.serve.run import RunningServer
    from holdfast.settings import load

    go, idle, stop = threading.Event(), threading.Event(), threading.Event()
    embedder = embedder_of(MINILM)
    texts = prose(16, 5)  # few at a time: whoever turns it off waits until they are done

    def work() -> None:
        while not stop.is_set():
            if go.wait(0.1):
                idle.clear()
                embedder.embed(texts)  # type: ignore[arg-type]
            idle.set()

    embedder.prepare()
    server = RunningServer(load({"home": home, "port": 0}, {}), lambda url: print(url, flush=True))

    def listen() -> None:
        for line in sys.stdin:
            go.set() if line.strip() == "on" else go.clear()
            (go if go.is_set() else idle).wait()
            print("done", flush=True)
        stop.set()
        go.clear()
        server.stop()

    for target in (work, listen):
        threading.Thread(target=target, daemon=True).start()
    server.run()


@dataclass(frozen=True)
class Pair:
    """Seconds of acknowledged writes, one stretch without embedding and one with it, right after each other."""

    quiet: list[float]
    busy: list[float]

    def ratio(self, of: Callable[[Sequence[float]], float]) -> float:
        return of(self.busy) / of(self.quiet)


def writes(pairs: int, each: int) -> list[Pair]:
    """Short stretches of writes in pairs; every other pair begins with embedding, so that what drifts cancels out."""
    with tempfile.TemporaryDirectory(dir=ROOT) as home:
        command = [sys.executable, __file__, "--serve", home]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        line = Line(int(process.stdout.readline().strip().rsplit(":", 1)[1].rstrip("/")))
        chance = random.Random(9)
        _write(line, chance, 300)
        made = []
        for number in range(pairs):
            times: dict[str, list[float]] = {}
            for word in ("off", "on") if number % 2 else ("on", "off"):
                _tell(process, word)
                _write(line, chance, 5)
                times[word] = _write(line, chance, each)
            made.append(Pair(times["off"], times["on"]))
        line.close()
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    return made


def _tell(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(word + "\n")
    process.stdin.flush()
    process.stdout.readline()


def middle_with_range(ratios: Sequence[float]) -> tuple[float, float, float]:
    """The median, and between what it lies in 95 of 100 draws of as many pairs."""
    chance = random.Random(1)
    drawn = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(2_000))
    return statistics.median(ratios), drawn[50], drawn[-51]


def _write(line: Line, chance: random.Random, count: int) -> list[float]:
    times = []
    for _ in range(count):
        raw = request("/agentmemory/remember", {"content": text(chance), "project": "bench"})
        start = time.perf_counter()
        status, _ = line.ask(raw)
        times.append(time.perf_counter() - start)
        assert status == 201, status
    return times


# Loading


def loading(model: LocalModel) -> tuple[float, float, float]:
    """Seconds to load the model, and megabytes resident before and after, in a process of its own."""
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); from embedding import *\n"
        "made = embedder_of(LOCAL_MODELS[sys.argv[2]]); before = resident_mb(); at = time.perf_counter()\n"
        "made.prepare(); print(time.perf_counter() - at, before, resident_mb())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / "bench"), model.key], capture_output=True, text=True, check=True
    )
    seconds, before, after = map(float, done.stdout.split())
    return seconds, before, after


def question_ms(model: LocalModel, count: int) -> float:
    """Milliseconds of the middle question, none asked twice."""
    embedder = embedder_of(model)
    embedder.prepare()
    times = [
        _times(lambda n=n: embedder.embed_query(f"how is part {n} of the index kept current?")) for n in range(count)
    ]  # type: ignore[misc, arg-type]
    return statistics.median(wall for wall, _ in times) * 1000


def cpu_rate(model: LocalModel, texts: Sequence[str], rounds: int) -> float:
    """Texts per processor second of the embedder's own work."""
    embedder = embedder_of(model)
    embedder.embed(texts[:50])  # type: ignore[arg-type]
    return len(texts) / statistics.median(_times(lambda: embedder.embed(texts))[1] for _ in range(rounds))  # type: ignore[arg-type]


def models(quick: bool) -> list[tuple[str, str, str, str]]:
    """Each local model by itself: load, memory, texts, questions; the figure is gte-small's beside MiniLM's."""
    texts, rounds = prose(200 if quick else 600, 3), 3 if quick else 5
    found = {}
    for model in (MINILM, GTE_SMALL):
        load = loading(model)
        found[model] = (cpu_rate(model, texts, rounds), question_ms(model, 50 if quick else 300), load[0], load[2])
    names = ("texts per processor second", "a question, p50, ms", "loading, s", "resident after loading, MB")
    rows = zip(names, *found.values(), strict=True)
    return [
        (f"{name}: minilm / gte-small", f"{one:.3g} / {two:.3g}", f"{two / one:.2f}", "") for name, one, two in rows
    ]


def high(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)] * 1000


def delay_rows(pairs: Sequence[Pair]) -> list[tuple[str, str, str, str]]:
    quiet, busy = [one for pair in pairs for one in pair.quiet], [one for pair in pairs for one in pair.busy]
    rows = []
    for name, of in (("middle", statistics.median), ("mean", statistics.fmean)):
        ratio, low, top = middle_with_range([pair.ratio(of) for pair in pairs])
        measured = f"{of(busy) * 1000:.2f} / {of(quiet) * 1000:.2f} ms"
        what = f"{name} write while embedding / while not, median of {len(pairs)} pairs"
        rows.append((what, measured, f"{ratio:.2f} ({low:.2f} to {top:.2f})", "≤ 1.1"))
    both = f"{high(busy):.2f} / {high(quiet):.2f} ms"
    return [*rows, ("write p99 while embedding / while not", both, f"{high(busy) / high(quiet):.2f}", "")]


def measure(quick: bool) -> list[tuple[str, str, str, str]]:
    delays = delay_rows(writes(10 if quick else 80, 40))
    ours, ours_cpu, alone, alone_cpu = rates(prose(200 if quick else 600, 3), 3 if quick else 5)
    return [
        ("texts a second / onnxruntime alone", f"{ours:.0f} / {alone:.0f}", f"{ours / alone:.2f}", "≥ 0.7"),
        (
            "texts per processor second / onnxruntime alone",
            f"{ours_cpu:.0f} / {alone_cpu:.0f}",
            f"{ours_cpu / alone_cpu:.2f}",
            "",
        ),
        *delays,
        *models(quick),
    ]


HEAD = """# Embedding

Written by `make bench`. Everything is of one run on one machine; absolute numbers say little, ratios more. "onnxruntime
alone" is one session with its own threads that is handed tokens, sorted by length, in the better of two batch sizes: no
tokenizer, no Python around it. Both run at the lowest priority, turn by turn. Writes go through the whole server, one at
a time, in short stretches while the same process embeds without end and while it does not, in pairs; of each pair the
ratio is taken, of all ratios the median, in brackets where it lies in 95 of 100 redraws. The last rows have the local
models by themselves, one after the other; int8 gains more where the processor has instructions for it (VNNI).

"""


def main() -> None:
    if "--serve" in sys.argv:
        serve(sys.argv[-1])
        return
    if "--models" in sys.argv:
        print("\n".join(" | ".join(row) for row in models("--quick" in sys.argv)))
        return
    if "--writes" in sys.argv:
        rows = delay_rows(writes(80, 40))
        print("\n".join(" | ".join(row) for row in rows))
        return
    rows = measure("--quick" in sys.argv)
    lines = ["| what | measured | figure | goal |", "|---|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    print("\n".join(lines))
    if "--quick" not in sys.argv:
        page = ROOT / "docs" / "benchmarks" / "embedding.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
