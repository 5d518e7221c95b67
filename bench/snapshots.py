"""Snapshots beside the plain tools: sqlite3, zstd, sha256sum, and restic and borg, on the same store in one run."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import scale  # noqa: E402
from vectors import made_seeds, mixed  # noqa: E402

from holdfast.core.model import Caller  # noqa: E402
from holdfast.engine import Engine  # noqa: E402
from holdfast.ops.registry import BY_NAME  # noqa: E402
from holdfast.settings import load  # noqa: E402

PAGE = HERE.parent / "docs" / "benchmarks" / "snapshots.md"
BYTES_A_MEMORY = 2_400
ROUNDS = 3


def settings_of(home: Path, embedder: str = "none"):
    return load({"home": str(home), "embedder": embedder, "snapshot_every": "off"}, {})


def filled(home: Path, megabytes: int) -> None:
    """A store of about that size, words and vectors included."""
    engine = Engine(settings_of(home, "minilm"))
    rows = megabytes * 1_000_000 // BYTES_A_MEMORY
    scale.fill(engine.store, rows)
    chance = np.random.default_rng(3)
    scale.put_vectors(engine, mixed(made_seeds(4_000, chance), rows, chance))
    engine.close()


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def shell(command: str) -> None:
    subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], check=True, stdout=subprocess.DEVNULL)


CHILD = """
import sys, time, orjson
from pathlib import Path
from holdfast.engine import Engine
from holdfast.core.model import Caller
from holdfast.ops.registry import BY_NAME
from holdfast.settings import load
home, operation, arguments = sys.argv[1:]
engine = Engine(load({"home": home, "embedder": "none", "snapshot_every": "off"}, {}))
ctx = engine.context(Caller())
began = time.perf_counter()
answer = BY_NAME[operation].call(ctx, orjson.loads(arguments))
seconds = time.perf_counter() - began
engine.close()
status = Path("/proc/self/status").read_text()
peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
assert answer.get("success", answer.get("sound"))
print(seconds, peak)
"""


def holdfast(home: Path, operation: str, **arguments: object) -> tuple[float, int]:
    """Seconds of an operation in a process of its own, without its start, and the process's peak memory in bytes."""
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(home), operation, json.dumps(arguments)], capture_output=True, check=True
    )
    seconds, peak = run.stdout.split()
    return float(seconds), int(peak) * 1024


def create_figures(home: Path, work: Path) -> dict[str, float]:
    database = next(home.glob("gen-*/memory.db"))

    def plain() -> float:
        (work / "plain.db").unlink(missing_ok=True)
        command = (
            f"sqlite3 {database} '.backup {work}/plain.db' && "
            f"zstd -3 -q -c {work}/plain.db | tee {work}/plain.zst | sha256sum && sync {work}/plain.zst"
        )
        return timed(lambda: shell(command))

    pairs = [(plain(), holdfast(home, "snapshot_create", label="bench")) for _ in range(ROUNDS)]
    return {
        "plain": min(one for one, _ in pairs),
        "ours": min(ours for _, (ours, _) in pairs),
        "peak": max(peak for _, (_, peak) in pairs),
        "size": (work / "plain.zst").stat().st_size,
    }


def verify_figures(home: Path, body: Path) -> dict[str, float]:
    pairs = [
        (timed(lambda: shell(f"sha256sum {body}")), holdfast(home, "snapshot_verify", id="latest"))
        for _ in range(ROUNDS)
    ]
    return {
        "plain": min(one for one, _ in pairs),
        "ours": min(ours for _, (ours, _) in pairs),
        "peak": max(peak for _, (_, peak) in pairs),
    }


def restore_figures(home: Path, body: Path, work: Path) -> dict[str, float]:
    def plain() -> float:
        (work / "restored.db").unlink(missing_ok=True)
        return timed(lambda: shell(f"zstd -d -q -c {body} | dd of={work}/restored.db bs=1M conv=fsync status=none"))

    def ours() -> tuple[float, int]:
        target = work / "branch"
        shutil.rmtree(target, ignore_errors=True)
        return holdfast(home, "snapshot_restore", id="latest", into=str(target))

    pairs = [(plain(), ours()) for _ in range(ROUNDS)]
    return {
        "plain": min(one for one, _ in pairs),
        "ours": min(ours for _, (ours, _) in pairs),
        "peak": max(peak for _, (_, peak) in pairs),
    }


def writer_figures(home: Path) -> dict[str, float]:
    """p99 of durable writes, one at a time, while nothing else happens and while a snapshot is made."""
    engine = Engine(settings_of(home))
    ctx = engine.context(Caller())
    count = iter(range(1_000_000_000))

    def written(until: Callable[[], bool]) -> list[float]:
        taken: list[float] = []
        while not until():
            content = f"Bench fact {next(count)} of {time.time_ns()} about nothing that was said before"
            taken.append(timed(lambda content=content: BY_NAME["remember"].call(ctx, {"content": content})))
            time.sleep(0.002)
        return taken

    written(_after(2.0))  # first writes read what later ones have at hand
    idle = written(_after(8.0))
    making = threading.Thread(target=lambda: BY_NAME["snapshot_create"].call(ctx, {"label": "busy"}))
    making.start()
    busy = written(lambda: not making.is_alive())
    making.join()
    engine.close()
    return {
        "idle": float(np.percentile(idle, 99)),
        "busy": float(np.percentile(busy, 99)),
        "writes": float(len(busy)),
    }


def _after(seconds: float) -> Callable[[], bool]:
    ends = time.perf_counter() + seconds
    return lambda: time.perf_counter() >= ends


def other_tools(home: Path, work: Path) -> list[tuple[str, float, float, int]]:
    """restic and borg on the same database, backed up by sqlite3 first: name, create and restore seconds, bytes."""
    source = work / "source"
    source.mkdir(exist_ok=True)
    database = next(home.glob("gen-*/memory.db"))
    environ = "export RESTIC_PASSWORD=x BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes BORG_BASE_DIR=%s; " % work
    backup = f"rm -f {source}/memory.db; sqlite3 {database} '.backup {source}/memory.db'; "
    found = []
    if shutil.which("restic"):
        repo, out = work / "restic", work / "restic-out"
        shell(f"{environ} restic init -q -r {repo}")
        made = timed(lambda: shell(f"{environ}{backup} restic backup -q -r {repo} {source}"))
        back = timed(lambda: shell(f"{environ} restic restore latest -q -r {repo} --target {out} && sync -f {out}"))
        found.append(("restic", made, back, _bytes(repo)))
    if shutil.which("borg"):
        repo, out = work / "borg", work / "borg-out"
        out.mkdir()
        shell(f"{environ} borg init -e none {repo}")
        made = timed(lambda: shell(f"{environ}{backup} borg create -C zstd,3 {repo}::one {source}"))
        back = timed(lambda: shell(f"{environ} cd {out} && borg extract {repo}::one && sync -f {out}"))
        found.append(("borg", made, back, _bytes(repo)))
    return found


def _bytes(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--work", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        work = Path(folder)
        home = work / "home"
        filled(home, given.megabytes)
        size = next(home.glob("gen-*/memory.db")).stat().st_size
        create = create_figures(home, work)
        body = max(home.glob("snapshots/*/*/*.tar.zst"))
        verify = verify_figures(home, body)
        restore = restore_figures(home, body, work)
        others = other_tools(home, work)
        ours_size = body.stat().st_size
        writers = writer_figures(home)
    PAGE.write_text(page(size, create, verify, restore, writers, others, ours_size))
    print(PAGE.read_text())


def page(size, create, verify, restore, writers, others, ours_size) -> str:  # noqa: ANN001
    def row(what: str, figure: dict[str, float], plain: str, goal: str) -> str:
        ratio = figure["plain"] / figure["ours"]
        return (
            f"| {what} | {figure['ours']:.2f} s | {figure['plain']:.2f} s ({plain}) | **{ratio:.2f}** | {goal} "
            f"| {figure['peak'] / 1e6:.0f} MB |\n"
        )

    text = (
        "# Snapshots\n\nWritten by `make bench`. Quickest of three rounds, ours and the plain tools in turn, on one "
        f"machine that does other work as well. The store is {size / 1e6:.0f} MB; our times are of the whole operation, without the "
        "start of its process. Memory is the peak of the process; the goal is 200 MB whatever the size.\n\n"
        "| what | Holdfast | plain tools | plain / ours | goal | peak memory |\n|---|---|---|---|---|---|\n"
    )
    text += row("create", create, "sqlite3 .backup, zstd -3, sha256sum", "≥ 0.8")
    text += row("verify", verify, "sha256sum", "≥ 0.8")
    text += row("restore", restore, "zstd -d, dd conv=fsync", "≥ 0.6")
    text += (
        f"\nWriters, one durable write at a time: p99 {writers['idle'] * 1e3:.1f} ms alone, "
        f"{writers['busy'] * 1e3:.1f} ms while a snapshot is made ({writers['writes']:.0f} writes): "
        f"**{writers['busy'] / writers['idle']:.1f}** times, goal 3.\n\n"
        "Beside restic and borg on the same data (each after `sqlite3 .backup`, first backup into an empty "
        "repository):\n\n| tool | create | restore | size |\n|---|---|---|---|\n"
    )
    text += f"| Holdfast | {create['ours']:.2f} s | {restore['ours']:.2f} s | {ours_size / 1e6:.0f} MB |\n"
    for name, made, back, bytes_ in others:
        text += f"| {name} | {made:.2f} s | {back:.2f} s | {bytes_ / 1e6:.0f} MB |\n"
    return text


if __name__ == "__main__":
    main()
