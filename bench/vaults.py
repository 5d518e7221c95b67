"""How fast a vault in object storage takes a body: our put beside obstore's own, to the same server, in one run.

    python bench/vaults.py [MB …]

The server is SeaweedFS on this machine. Both are asked in turn, and what counts is the ratio of the medians: other work
on the machine meets both alike. obstore's put has no condition for bodies of this size; ours creates or refuses.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import obstore

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from object_server import BUCKET, ObjectServer

from holdfast.core.ports import Upload
from holdfast.core.system import SystemEntropy
from holdfast.vault.objects import ObjectVault, object_vault

ROUNDS = 5


def measure(vault: ObjectVault, file: Path, rounds: int) -> tuple[float, float]:
    """The median seconds of obstore's put and of ours."""
    size = file.stat().st_size
    store = vault._store

    def raw(name: str) -> None:
        with file.open("rb") as data:
            obstore.put(store, name, data)

    def ours(name: str) -> None:
        vault.put_all([Upload(name, size, lambda: file.open("rb"))])

    ways: dict[str, Callable[[str], None]] = {"raw": raw, "ours": ours}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(rounds):
        for name, put in ways.items():
            began = time.perf_counter()
            put(f"{name}-{turn}")
            taken[name].append(time.perf_counter() - began)
            vault.delete(f"{name}-{turn}")
    return statistics.median(taken["raw"]), statistics.median(taken["ours"])


def main() -> None:
    sizes = [int(one) for one in sys.argv[1:]] or [24, 64, 128]
    with tempfile.TemporaryDirectory() as folder:
        server = ObjectServer(Path(folder)).start()
        try:
            vault = object_vault("s3", BUCKET, "", server.settings(), SystemEntropy())
            for megabytes in sizes:
                file = Path(folder) / "body"
                file.write_bytes(os.urandom(megabytes << 20))
                raw, ours = measure(vault, file, ROUNDS)
                print(
                    f"{megabytes} MB: obstore {megabytes / raw:.0f} MB/s, ours {megabytes / ours:.0f}: {raw / ours:.2f}"
                )
        finally:
            server.stop()


if __name__ == "__main__":
    main()
