"""The capture of a large tenant while others write, beside `pg_dump` of the same rows.

python -m fleet.captures [--memories 100000]        (in bench/)
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import fleet
from client import text

from fleet.clients import PLAIN, Client, fleet_of, tokens_of
from fleet.database import BIN, DATABASE, Cluster, database, size_of
from fleet.figures import Figure, Part, p99, table
from fleet.filling import carry, fill, mark_followed, opened
from fleet.sizes import Sizes

T = TypeVar("T")

WRITERS = 4
PAUSE_SECONDS = 0.02  # between two writes: these are agents and not a load that takes all processors
TENANT = "captured"


class Writers:
    """Tenants that write beside, each over a connection of its own, and how long their writes took."""

    def __init__(self, port: int):
        self._port = port
        self._tokens = tokens_of(port, [f"beside-{number}" for number in range(WRITERS)])

    def during(self, work: Callable[[], T]) -> tuple[T, list[float]]:
        """What the work gave, and how long the writes beside it took, in milliseconds."""
        stop, took = threading.Event(), list[float]()
        threads = [threading.Thread(target=self._write, args=(token, stop, took)) for token in self._tokens.values()]
        for thread in threads:
            thread.start()
        done = work()
        stop.set()
        for thread in threads:
            thread.join()
        return done, took

    def _write(self, token: str, stop: threading.Event, took: list[float]) -> None:
        client, chance = Client(self._port, token), random.Random(token)
        while not stop.wait(PAUSE_SECONDS):
            began = time.perf_counter()
            status, answer = client.post("/remember", {"content": text(chance)})
            took.append((time.perf_counter() - began) * 1000)
            assert status == 201, answer
        client.close()


CAPTURE = """
import sys
import time
from pathlib import Path
sys.path.insert(0, {bench!r})
from fleet.filling import opened
engine = opened(Path({home!r}), {url!r})
began = time.perf_counter()
engine.capture(Path({file!r}), {tenant!r}, check={check})
sys.stdout.write(str(time.perf_counter() - began))
engine.close()
"""


def captured(home: Path, url: str, file: Path, check: bool) -> float:
    """Seconds of a capture in a process of its own, beside the server that the writers use."""
    names = {"bench": str(fleet.ROOT / "bench"), "home": str(home), "url": url, "file": str(file), "tenant": TENANT}
    command = [sys.executable, "-c", CAPTURE.format(**names, check=check)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def dumped(server: Cluster, file: Path) -> float:
    command = [str(BIN / "pg_dump"), "-f", str(file), server.url("postgres")]
    began = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - began


def measure(server: Cluster, folder: Path, sizes: Sizes) -> Part:
    url = server.url()
    embedded = opened(folder / "embedded")
    fill(embedded, [TENANT], sizes.captured)
    shared = opened(folder / "filler", url)
    try:
        carry(embedded, [TENANT], url, folder)
        mark_followed(shared)
        shared.store.compact_words()
        server.execute("VACUUM ANALYZE")
    finally:
        embedded.close(), shared.close()
    megabytes = size_of(server, DATABASE) / 1e6
    home, file, dump = folder / "capturer", folder / "captured.db", folder / "dump.sql"
    with fleet_of(1, folder / "servers", url, **PLAIN) as (one,):
        writers = Writers(one.port)
        writers.during(lambda: time.sleep(1))
        _, idle = writers.during(lambda: time.sleep(sizes.seconds))
        plain, _ = writers.during(lambda: dumped(server, dump))
        ours, beside = writers.during(lambda: captured(home, url, file, False))
        checked, _ = writers.during(lambda: captured(home, url, file, True))
        second, _ = writers.during(lambda: captured(home, url, file, False))  # the better one of two, as of pg_dump
        again, beside_dump = writers.during(lambda: dumped(server, dump))
    return _part(megabytes, min(ours, second), checked, min(plain, again), idle, beside, beside_dump, file, dump)


def _part(
    megabytes: float, ours: float, checked: float, theirs: float, idle: list[float], beside: list[float],
    beside_dump: list[float], file: Path, dump: Path,
) -> Part:  # fmt: skip
    speed, slower = theirs / ours, p99(beside) / p99(idle)
    figures = [
        Figure(
            f"capture of a tenant of {megabytes:,.0f} MB while others write / pg_dump of the same rows",
            f"{megabytes / ours:.0f} / {megabytes / theirs:.0f} MB a second; with the check of every row after it {megabytes / checked:.0f}",
            f"{speed:.2f}",
            "≥ 0.5",
            speed >= 0.5,
        ),
        Figure(
            "p99 of the writes of others during it / before",
            f"{p99(beside):.0f} / {p99(idle):.0f} ms; during pg_dump {p99(beside_dump):.0f} ms",
            f"{slower:.2f}",
            "≤ 3",
            slower <= 3,
        ),
    ]
    sizing = [
        (
            "captured file / pg_dump, of that tenant",
            f"{file.stat().st_size / 1e6:,.0f} / {dump.stat().st_size / 1e6:,.0f} MB",
        )
    ]
    note = (
        f"Capture: the size is that of the database with its indexes. {WRITERS} other tenants each write {1 / PAUSE_SECONDS:.0f} times a second "
        "or as often as they are answered, also during pg_dump."
    )
    return Part(figures, sizing, [note])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    given = parser.parse_args()
    with database() as server, tempfile.TemporaryDirectory(dir=fleet.work_folder()) as name:
        part = measure(server, Path(name), replace(Sizes(), captured=given.memories))
    sys.stdout.write(table(part.figures) + "\n")


if __name__ == "__main__":
    main()
