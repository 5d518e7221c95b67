"""How long after its answer a write is in a copy that follows: for bench/journal.py.

A server gets 100 writes a second, one after the other; the store of the copy is looked at every 20 milliseconds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

import apsw
import orjson
from intake import Server

PAUSE = 0.01
LOOK = 0.02
LAST_SECONDS = 30.0  # for what was written last


def lag_row(folder: Path, name: str, vault: str, seconds: float, **environ: str) -> str:
    """A line of the page: writes, and the median, the slowest hundredth and the slowest of their ways, in seconds."""
    if "://" not in vault:
        Path(vault).mkdir(parents=True)
    one = Server(folder / "one", HOLDFAST_VAULT=vault, **environ)
    _write(one.port, "The first one.")
    time.sleep(3)
    home = folder / "two"
    _follow(home, vault, environ)
    two = Server(home, **environ)
    answered: dict[str, float] = {}
    thread = threading.Thread(target=_write_for, args=(one.port, seconds, answered))
    thread.start()
    seen = _watch(home, thread, answered)
    two.stop()
    one.stop()
    lags = sorted(seen[text] - at for text, at in answered.items())
    p99 = statistics.quantiles(lags, n=100)[98]
    return f"| {name} | {len(lags):,} | {statistics.median(lags):.2f} | {p99:.2f} | {lags[-1]:.2f} |"


def _follow(home: Path, vault: str, environ: dict[str, str]) -> None:
    """Begin the copy, as the command does, and end its server: one in the foreground takes its place."""

    command = str(Path(sys.executable).parent / "holdfast")
    env = {**os.environ, **environ}
    words = ["follow", vault, "--port", "0", "--background", "--data", str(home), "--json"]
    subprocess.run([command, *words], env=env, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([command, "serve", "--stop", "--data", str(home)], env=env, check=True, stdout=subprocess.DEVNULL)


def _write(port: int, content: str) -> None:
    client = HTTPConnection("127.0.0.1", port)
    client.request(
        "POST", "/agentmemory/remember", orjson.dumps({"content": content}), {"Content-Type": "application/json"}
    )
    answer = client.getresponse()
    answer.read()
    assert answer.status == 201, answer.status
    client.close()


def _write_for(port: int, seconds: float, answered: dict[str, float]) -> None:
    ends, number, due = time.monotonic() + seconds, 0, time.monotonic()
    while time.monotonic() < ends:
        number += 1
        content = f"Fact {number}: the valve {number * 7919 % 10_007} is closed."
        _write(port, content)
        answered[content] = time.monotonic()
        due += PAUSE
        time.sleep(max(0.0, due - time.monotonic()))


def _watch(home: Path, writer: threading.Thread, answered: dict[str, float]) -> dict[str, float]:
    """When each fact was seen in the copy first."""
    path = home / (home / "CURRENT").read_text().strip() / "memory.db"
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    seen: dict[str, float] = {}
    last, ends = 0, None
    while True:
        for seq, content in db.execute("SELECT seq, content FROM memories WHERE seq > ? ORDER BY seq", (last,)):
            last = seq
            seen[content] = time.monotonic()
        if not writer.is_alive():
            ends = ends or time.monotonic() + LAST_SECONDS
            if answered.keys() <= seen.keys() or time.monotonic() > ends:
                break
        time.sleep(LOOK)
    db.close()
    missing = answered.keys() - seen.keys()
    assert not missing, f"{len(missing)} did not arrive"
    return seen
