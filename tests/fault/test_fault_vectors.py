"""The process dies while vectors are being made: what has one keeps it, the rest is done by the next."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hashing_embedder import HashingEmbedder
from patience import WAIT_SECONDS
from processes import environment
from world import World

from holdfast.core.model import Caller, CleanText
from holdfast.intake.embed_queue import EmbedQueue
from holdfast.store.tables import MEMORIES

TENANT = Caller().tenant
MEMORIES_KEPT = 60

# Follows forever: remembers and forgets in between, and says after each batch how many vectors there are.
CHILD = """
import sys
from pathlib import Path
from hashing_embedder import HashingEmbedder
from world import World
from holdfast.intake import embed_queue
embed_queue.BATCH = 3
world = World(Path(sys.argv[1]), chance=int(sys.argv[2]))
embedder = HashingEmbedder(sys.argv[3])
one = embed_queue.EmbedQueue(world.engine.store, embedder, world.clock)
for number in range(60):
    world.call("remember", content=f"lantern {sys.argv[2]} {number} of harbour {number * 7}", project=f"p{number}")
while True:
    one.step()
    kept = world.call("remember", content=f"buoy {sys.argv[2]} {world.engine.store.read().pending()}")["memory"]
    world.call("forget", memoryId=kept["id"])
    print(world.engine.store.read().with_vector("default", embedder.name), flush=True)
"""


def die_at(home: Path, chance: int, model: str, vectors: int) -> None:
    """Run the child until it has made so many vectors, then kill it."""
    tests = Path(__file__).parents[1]
    path = ":".join([str(tests), *(entry for entry in sys.path if entry)])
    command = [sys.executable, "-c", CHILD, str(home), str(chance), model]
    with subprocess.Popen(command, env=environment(PYTHONPATH=path), stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            for line in child.stdout:
                if int(line) >= vectors:
                    break
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait(WAIT_SECONDS)
    assert child.returncode == -signal.SIGKILL


@pytest.mark.parametrize("change", [False, True], ids=["one model", "a change of models"])
def test_after_a_kill_every_record_gets_its_vector(tmp_path: Path, change: bool) -> None:
    home = tmp_path / "memory"
    die_at(home, 100_000, "words-1", 40 if not change else 60)
    if change:
        die_at(home, 200_000, "words-2", 50)
    world, embedder = World(home, chance=300_000), HashingEmbedder("words-2" if change else "words-1")
    try:
        store = world.engine.store
        assert store.verify() == []
        follower = EmbedQueue(store, embedder, world.clock)
        while follower.step():
            pass
        records = store.read().find(MEMORIES, TENANT)
        assert len(records) >= MEMORIES_KEPT
        for record in records:
            hits = store.read().nearest(TENANT, embedder.name, embedder.embed_query(CleanText(record.content)), 1)
            assert [hit.seq for hit in hits] == [record.seq]
        assert store.read().with_vector(TENANT, embedder.name) == len(records)
        assert store.verify() == []
    finally:
        world.close()
