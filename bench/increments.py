"""What a daily snapshot costs in a vault: bytes and time of the second against the first, after 1 % of the memories
were added, and after 1 % were edited all over the store."""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

import numpy as np  # noqa: E402
import scale  # noqa: E402
import snapshots  # noqa: E402
from vectors import made_seeds, mixed  # noqa: E402

from holdfast.core.model import Caller  # noqa: E402
from holdfast.engine import Engine  # noqa: E402
from holdfast.settings import load  # noqa: E402
from holdfast.snapshot.create import CreateOptions, making  # noqa: E402
from holdfast.snapshot.remote.layout import put  # noqa: E402
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context  # noqa: E402
from holdfast.store.tables import MEMORIES  # noqa: E402

PAGE = HERE.parent / "docs" / "benchmarks" / "increments.md"
TEXT = """# Increments

Written by `python bench/increments.py --page`. A store of {megabytes} MB with words and vectors goes to a folder in chunks, 1 % of
its memories are added and it goes again, 1 % are edited all over and it goes a third time. Once the repository gets chunks too
(`HOLDFAST_SNAPSHOT_LAYOUT`, what `auto` does with such a memory), once one file. "Repository" is until the snapshot is there, "vault" the
way from there to the vault, "all" is `snapshot create --to`. Times are parts of the first snapshot's of the same layout;
others work on the same machine, so the processor's time says more. The goals are under 5 % of the first's bytes and under
25 % of its time.

{table}
"""
RECIPIENT = "age1yt3tfqlfrwdwx0z0ynwplcr6qxcxfaqycuprpmy89nr83ltx74tqdpszlw"


@dataclass(frozen=True)
class Cost:
    """What one snapshot took."""

    repo: float  # seconds until it was on the repository
    vault: float  # seconds until it was in the vault too
    repo_cpu: float  # the same as the processor's time, which others on the machine change less
    vault_cpu: float
    sent: int  # bytes that the vault got


@contextmanager
def context_in(home: Path, settings: dict[str, str]) -> Iterator[SnapshotContext]:
    engine = Engine(load({"home": str(home), "embedder": "none", "snapshot_every": "off", **settings}, {}))
    try:
        yield snapshot_context(engine.context(Caller()))
    finally:
        engine.close()


def snapshot(home: Path, settings: dict[str, str], vault: str) -> Cost:
    """One snapshot on the repository and in the vault; both parts timed."""
    with context_in(home, settings) as context:
        held = _held(context, vault)
        began, cpu = time.perf_counter(), time.process_time()
        with making(
            context, CreateOptions(recipients=settings.get("snapshot_recipients", "").split(), vault=vault)
        ) as made:
            stored, stored_cpu = time.perf_counter(), time.process_time()
            put(context, context.vault(vault), made.stored.id, made.fresh)
            ended, ended_cpu = time.perf_counter(), time.process_time()
        sent = _held(context, vault) - held
        return Cost(stored - began, ended - stored, stored_cpu - cpu, ended_cpu - stored_cpu, sent)


def _held(context: SnapshotContext, vault: str) -> int:
    return sum(one.size for one in context.vault(vault).list())


def append(home: Path, rows: int, seed: int) -> None:
    """New memories with their vectors, as a day brings them."""
    engine = Engine(snapshots.settings_of(home, "minilm"))

    def add(tx: Any) -> None:
        for content in scale.texts(rows, seed):
            tx.add(MEMORIES, scale.memory(seq := tx.next_seq("default"), content, "large" if seq % 7 else "small"))

    engine.store.write(add)
    _embed(engine, rows, seed)
    engine.close()


def edit(home: Path, rows: int, seed: int) -> None:
    """Memories all over the store get another text, and a vector of it."""
    engine = Engine(snapshots.settings_of(home, "minilm"))
    there = [id for (id,) in engine.store._writer.execute("SELECT id FROM memories ORDER BY seq")]  # type: ignore[attr-defined]
    chosen = random.Random(seed).sample(there, rows)

    def change(tx: Any) -> None:
        for id, text in zip(chosen, scale.texts(rows, seed), strict=True):
            old = tx.get(MEMORIES, "default", id)
            tx.replace(MEMORIES, replace(old, content=text, title=text[:60], updated_at=old.updated_at + 1))

    engine.store.write(change)
    _embed(engine, rows, seed)
    engine.close()


def _embed(engine: Engine, rows: int, seed: int) -> None:
    """Vectors for what waits for one."""
    from holdfast.store.port import MadeVector

    assert engine.embedder is not None
    model, chance = engine.embedder.name, np.random.default_rng(seed)
    made = mixed(made_seeds(100, chance), rows, chance)

    def store(tx: Any) -> None:
        waiting = tx.index_work(rows)
        tx.put_vectors(model, [MadeVector(one, chance.bytes(16), made[at, None]) for at, one in enumerate(waiting)])

    engine.store.write(store)


CHANGES: dict[str, Callable[[Path, int, int], None]] = {"1 % added": append, "1 % edited all over": edit}


def measure(home: Path, settings: dict[str, str], vault: str, rows: int) -> dict[str, Cost]:
    costs = {"first": snapshot(home, settings, vault)}
    for seed, (name, change) in enumerate(CHANGES.items(), 70):
        change(home, rows // 100, seed)
        costs[name] = snapshot(home, settings, vault)
    return costs


def table(layouts: dict[str, dict[str, Cost]]) -> str:
    """Bytes, and the time and the processor's time of each way, as parts of the first's."""
    lines = [
        "| repository | snapshot | bytes sent | of the first's | repository: time | cpu | vault: time | cpu | all: time | cpu |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for layout, costs in layouts.items():
        for name, cost in costs.items():
            told = " | ".join(f"{part:.0%}" for part in parts_of(cost, costs["first"]))
            sent = f"{cost.sent / 1e6:.1f} MB | {cost.sent / costs['first'].sent:.1%}"
            lines.append(f"| {layout} | {name} | {sent} | {told} |")
    both = [costs["first"].repo + costs["first"].vault for costs in layouts.values()]
    if len(both) > 1:
        lines += [
            "",
            f"The first one in chunks takes {both[0] / both[1]:.0%} of the time that it takes as one file.",
        ]
    return "\n".join(lines)


def parts_of(cost: Cost, first: Cost) -> tuple[float, ...]:
    return (
        cost.repo / first.repo,
        cost.repo_cpu / first.repo_cpu,
        cost.vault / first.vault,
        cost.vault_cpu / first.vault_cpu,
        (cost.repo + cost.vault) / (first.repo + first.vault),
        (cost.repo_cpu + cost.vault_cpu) / (first.repo_cpu + first.vault_cpu),
    )


@contextmanager
def object_vault(work: Path, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The S3 server of the tests."""
    from object_server import BUCKET, WRITER, ObjectServer

    server = ObjectServer(work / f"weed-{name}").start()
    try:
        yield (
            f"s3://{BUCKET}/increments-{name}",
            {"vault_endpoint": server.endpoint, "vault_key_id": WRITER[0], "vault_key": WRITER[1]},
        )
    finally:
        server.stop()


def run(work: Path, megabytes: int, kind: str, layout: str, *, encrypted: bool) -> dict[str, Cost]:
    home = work / "home"
    if not (work / "filled").exists():
        snapshots.filled(work / "filled", megabytes)
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(work / "filled", home)
    settings = {"vault_layout": "chunks", "snapshot_layout": layout}
    if encrypted:
        settings["snapshot_recipients"] = RECIPIENT
    rows = megabytes * 1_000_000 // snapshots.BYTES_A_MEMORY
    if kind == "folder":
        costs = measure(home, settings, str(work / f"vault-{layout}"), rows)
    else:
        with object_vault(work, layout) as (vault, keys):
            costs = measure(home, {**settings, **keys}, vault, rows)
    for name, cost in costs.items():
        print(f"{layout}, {name}: {cost}", file=sys.stderr)
    shutil.rmtree(home)
    shutil.rmtree(work / f"vault-{layout}", ignore_errors=True)
    return costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--vault", choices=("folder", "s3"), default="folder")
    parser.add_argument("--layouts", nargs="+", choices=("chunks", "whole"), default=("chunks", "whole"))
    parser.add_argument("--encrypted", action="store_true")
    parser.add_argument("--work", type=Path, default=None)
    parser.add_argument("--page", action="store_true", help="write the figures to docs/benchmarks/increments.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = asked.work or Path(folder)
        figures = table(
            {one: run(work, asked.megabytes, asked.vault, one, encrypted=asked.encrypted) for one in asked.layouts}
        )
    print(figures)
    if asked.page:
        PAGE.write_text(TEXT.format(megabytes=asked.megabytes, table=figures), encoding="utf-8")


if __name__ == "__main__":
    main()
