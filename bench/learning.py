"""What learning from one more turn costs in a project of some hundred statements, with and without kept vectors.

python bench/learning.py
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from talk import turn  # noqa: E402
from world import World  # noqa: E402

from holdfast.core.system import SystemClock, SystemEntropy  # noqa: E402
from holdfast.embedder import embedder_from  # noqa: E402
from holdfast.learn.statements.learner import learn_step  # noqa: E402
from holdfast.learn.statements.text_vectors import TextVectors  # noqa: E402
from holdfast.settings import load  # noqa: E402
from holdfast.store.tables import STATEMENTS  # noqa: E402

TURNS = Path(__file__).parent / "agent_day" / "data" / "turns_dev.jsonl"
MEASURED = 20


def main() -> None:
    rows = [json.loads(line) for line in TURNS.read_text().splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        embedder = embedder_from(load({"home": folder}), SystemClock(), SystemEntropy())
        assert embedder is not None
        embedder.prepare()
        world = World(Path(folder) / "memory")
        ctx = dataclasses.replace(world.context(), whole=True, embedder=embedder)

        def learn(some: list[dict[str, Any]], vectors: TextVectors | None) -> list[float]:
            return [_one(world, ctx, row, vectors) for row in some]

        kept = TextVectors()
        learn(rows[: -2 * MEASURED], kept)
        count = world.engine.store.read().count(STATEMENTS, "default")
        with_kept = statistics.median(learn(rows[-2 * MEASURED : -MEASURED], kept))
        without = statistics.median(learn(rows[-MEASURED:], None))
        world.close()
    print(f"one more turn beside {count} statements: {with_kept:.2f} s of processor time, {without:.2f} s without kept "
          f"vectors ({without / with_kept:.1f} times)")  # fmt: skip


def _one(world: World, ctx: Any, row: dict[str, Any], vectors: TextVectors | None) -> float:
    turn(world, row["prompt"], row["answer"])
    began = time.process_time()
    while learn_step(ctx, vectors).more:
        pass
    return time.process_time() - began


if __name__ == "__main__":
    main()
