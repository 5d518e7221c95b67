"""What the journal costs writers, how large it is, what a lost machine loses, and how long a restore takes.

    python bench/journal.py [--losses 200] [--page]

Every figure is a ratio of one run, with and without the journal in turn, but for the age of what is lost: seconds
between the answer to a write and the loss of its machine (kill -9, then the data folder is removed). Written to
docs/benchmarks/journal.md with --page.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import orjson
import zstandard

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests")]
from client import Line, request, text
from follow_lag import lag_row
from intake import Server
from litestream import beside
from journal_steps import Journaled, journal_objects
from object_server import BUCKET, WRITER, ObjectServer
from world import World

from holdfast.core.times import iso
from holdfast.serve.background import journal_length
from holdfast.serve.background.schedule import SnapshotSchedule
from holdfast.snapshot.journal.journal_lines import placed
from holdfast.snapshot.journal.journal_rows import columns_of
from holdfast.snapshot.journal.piece import LEVEL, changes_of, read_pieces
from holdfast.store.tables import MEMORIES

QUIET = {"HOLDFAST_EMBEDDER": "none", "HOLDFAST_SNAPSHOT_EVERY": "off", "HOLDFAST_LEARN": "off"}
FACTS = 10_000


@dataclass
class Load:
    """What writers met."""

    seconds: list[float]
    took: float
    processor: float

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.took

    @property
    def p99(self) -> float:
        return statistics.quantiles(self.seconds, n=100)[98]


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def written(server: Server, connections: int, each: int, seed: int) -> Load:
    """Facts over some connections at once, as fast as they are answered."""
    seconds: list[float] = []
    barrier = threading.Barrier(connections + 1)

    def work(number: int) -> None:
        chance = random.Random(seed * 1_000 + number)
        raws = [request("/agentmemory/remember", {"content": text(chance), "project": "bench"}) for _ in range(each)]
        line, mine = Line(server.port), []
        barrier.wait()
        for raw in raws:
            began = time.perf_counter()
            status, _ = line.ask(raw)
            mine.append(time.perf_counter() - began)
            assert status == 201, status
        line.close()
        seconds.extend(mine)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(connections)]
    for one in threads:
        one.start()
    barrier.wait()
    before, began = processor_seconds(server.process.pid), time.perf_counter()
    for one in threads:
        one.join()
    took = time.perf_counter() - began
    return Load(seconds, took, processor_seconds(server.process.pid) - before)


def writers(folder: Path, rounds: int) -> list[str]:
    """Rate, slowest hundredth and processor time of writers with the journal, as parts of those without."""
    servers = {}
    for name in ("off", "on"):
        (folder / f"vault-{name}").mkdir()
        journal = "true" if name == "on" else "false"
        environ = {**QUIET, "HOLDFAST_VAULT": str(folder / f"vault-{name}"), "HOLDFAST_JOURNAL": journal}
        servers[name] = Server(folder / f"home-{name}", **environ)
    lines = []
    for connections, each in ((1, 600), (16, 100)):
        found: dict[str, list[Load]] = {"off": [], "on": []}
        for turn in range(rounds + 1):
            for name in ("off", "on") if turn % 2 else ("on", "off"):
                load = written(servers[name], connections, each, turn)
                if turn:  # the first one warms up
                    found[name].append(load)
        rate = [on.rate / off.rate for on, off in zip(found["on"], found["off"], strict=True)]
        p99 = [on.p99 / off.p99 for on, off in zip(found["on"], found["off"], strict=True)]
        processor = [on.processor / off.processor for on, off in zip(found["on"], found["off"], strict=True)]
        lines.append(
            f"| {connections} | {statistics.median(rate):.2f} | {statistics.median(p99):.2f} "
            f"| {statistics.median(processor):.2f} |"
        )
        print(lines[-1], flush=True)
    for one in servers.values():
        one.stop()
    return lines


def lost(folder: Path, place: str, rounds: int, **environ: str) -> list[float]:
    """For each round the age of the oldest write that was answered and did not come back; 0 if all did."""
    ages = []
    chance = random.Random(7)
    for turn in range(rounds):
        home, vault = folder / f"lost-{turn}", f"{place}/{turn}"
        if "://" not in place:
            Path(vault).mkdir(parents=True)
        server = Server(home, **QUIET, HOLDFAST_VAULT=vault, **environ)
        answered: list[tuple[float, str]] = []
        over = threading.Event()
        threads = [
            threading.Thread(target=_write_until, args=(server.port, over, answered, f"{turn}-{number}"))
            for number in range(4)
        ]
        for one in threads:
            one.start()
        time.sleep(0.5 + 3 * chance.random())
        server.process.kill()
        ended = time.monotonic()
        over.set()
        server.process.wait()
        shutil.rmtree(home)
        for one in threads:
            one.join()
        back = World(folder / f"back-{turn}", 9_000, vault=vault, **_lowered(environ))
        there = {one.content for one in back.engine.store.read().each(MEMORIES, "default")}
        assert back.engine.store.verify() == []
        back.engine.close()
        missing = [ended - at for at, content in answered if content not in there and at <= ended]
        ages.append(max(missing, default=0.0))
        shutil.rmtree(folder / f"back-{turn}")
    return ages


def _lowered(environ: dict[str, str]) -> dict[str, str]:
    return {name.removeprefix("HOLDFAST_").lower(): value for name, value in environ.items()}


def _write_until(port: int, over: threading.Event, answered: list[tuple[float, str]], name: str) -> None:
    client, number = HTTPConnection("127.0.0.1", port), 0
    while not over.is_set():
        number += 1
        content = f"Fact {number} of writer {name}: the valve {number * 7919 % 10_007} is closed."
        body = orjson.dumps({"content": content})
        try:
            client.request("POST", "/agentmemory/remember", body, {"Content-Type": "application/json"})
            answer = client.getresponse()
            answer.read()
        except (OSError, HTTPException):  # it was killed
            return
        if answer.status != 201:
            return
        answered.append((time.monotonic(), content))
        time.sleep(0.004)


def sizes(folder: Path) -> list[str]:
    """The journal of facts beside the same rows compressed at once, by how many facts are in a piece."""
    lines = []
    for in_piece in (500, 100, 10):
        home = Journaled(folder / f"size-{in_piece}", folder / f"size-vault-{in_piece}")
        home.piece()
        chance = random.Random(3)
        facts = FACTS if in_piece > 10 else FACTS // 5
        for number in range(facts):
            home.remember(text(chance))
            if number % in_piece == in_piece - 1:
                home.piece()
        found = journal_objects(folder / f"size-vault-{in_piece}")
        rows = []
        for one in found:
            for piece in read_pieces(one.read_bytes()):
                changes = changes_of(piece, columns_of, ())
                rows += [row for table in sorted(changes.put) for row in changes.put[table]]
        once = len(zstandard.ZstdCompressor(LEVEL).compress(orjson.dumps(rows)))
        total = sum(one.stat().st_size for one in found)
        lines.append(f"| {in_piece} | {total / facts:.0f} | {once / facts:.0f} | {total / once:.2f} |")
        print(lines[-1], flush=True)
        home.close()
    return lines


def restores(folder: Path, memories: int, writes: int) -> str:
    """Restoring a snapshot with a journal beside restoring that snapshot alone."""
    folder.mkdir()
    home = Journaled(folder / "large", folder / "large-vault")
    chance = random.Random(5)
    for _ in range(memories):
        home.remember(text(chance))
    home.piece()
    home.engine.store.compact_words()  # as a server does every hour; else the restore would do it for all of the memory
    home.snapshot()
    for number in range(writes):
        home.remember(text(chance))
        if number % 100 == 99:
            home.piece()
    home.piece()
    id = home.call("snapshot_list")["snapshots"][0]["id"]
    moment = iso(home.clock.now)
    home.close()
    ratio = _restored(folder, home, id, moment)
    line = f"| {memories:,} | {writes:,} | {ratio:.2f} |"
    print(line, flush=True)
    return line


def _restored(folder: Path, home: Journaled, id: str, moment: str) -> float:
    """The processor time of restoring a moment, as a part of that of restoring the snapshot."""
    taken: dict[str, list[float]] = {"alone": [], "journal": []}
    for turn in range(3):
        for name in taken:
            other = World(folder / f"other-{name}-{turn}", 400 + turn)
            other.clock.now = home.clock.now + 60_000
            how = {"id": id} if name == "alone" else {"at": moment}
            began = time.process_time()
            other.call("snapshot_restore", **how, **{"from": str(folder / "large-vault"), "yes": True})
            taken[name].append(time.process_time() - began)
            other.engine.close()
            shutil.rmtree(folder / f"other-{name}-{turn}")
    return statistics.median(taken["journal"]) / statistics.median(taken["alone"])


def hour(folder: Path, memories: int) -> str:
    """The same after an hour of 100 writes a second into a memory of 500 MB, at a smaller size: as many writes as there are
    memories, a look whether a snapshot is due after each sixtieth of them (a minute), and a restore just before the next
    snapshot would be made, when the journal is longest."""
    folder.mkdir()
    journal_length.LEAST_RECORDS = 0
    home = Journaled(folder / "large", folder / "large-vault")
    schedule, chance = SnapshotSchedule(home.engine), random.Random(11)
    for _ in range(memories):
        home.remember(text(chance))
    home.piece()
    home.engine.store.compact_words()
    schedule.run_once()
    made, minute = _snapshots(home), memories // 60
    turn = 0
    while turn < 60 or _snapshots(home) > made:
        made, turn = _snapshots(home), turn + 1
        for number in range(minute):
            home.remember(text(chance))
            if number % 80 == 79:
                home.piece()
        home.piece()
        longest = iso(home.clock.now)
        home.clock.now += 60_000
        if turn >= 60 and _due(home, schedule):
            break
        home.engine.store.compact_words()
        schedule.run_once()
    id = home.call("snapshot_list")["snapshots"][0]["id"]
    count, since = _snapshots(home), _since(home)
    home.close()
    ratio = _restored(folder, home, id, longest)
    line = f"| {memories:,} | {turn * minute:,} | {count - 1} | {since:,} | {ratio:.2f} |"
    print(line, flush=True)
    return line


def _snapshots(home: Journaled) -> int:
    """How many were made, those that are gone included."""
    return int(home.call("snapshot_list")["snapshots"][0]["id"].split("-")[0])


def _due(home: Journaled, schedule: SnapshotSchedule) -> bool:
    return schedule._journal_length.is_due(home.snapshots())


def _since(home: Journaled) -> int:
    newest = home.snapshots().repo.newest()
    assert newest is not None
    assert newest.manifest is not None
    base = placed(newest.manifest)
    return home.engine.journal.records_after("default", base.line, base.number)


def losses(folder: Path, rounds: int) -> list[str]:
    lines = []
    ages = lost(folder, str(folder / "vaults"), rounds)
    lines.append(f"| folder | {rounds} | {statistics.median(ages):.2f} | {max(ages):.2f} |")
    print(lines[-1], flush=True)
    with tempfile.TemporaryDirectory() as objects:
        server = ObjectServer(Path(objects)).start()
        try:
            given = {
                "HOLDFAST_VAULT_ENDPOINT": server.endpoint,
                "HOLDFAST_VAULT_KEY_ID": WRITER[0],
                "HOLDFAST_VAULT_KEY": WRITER[1],
            }
            ages = lost(folder / "s3", f"s3://{BUCKET}/lost", rounds, **given)
        finally:
            server.stop()
    lines.append(f"| S3 server | {rounds} | {statistics.median(ages):.2f} | {max(ages):.2f} |")
    print(lines[-1], flush=True)
    return lines


def follows(folder: Path) -> list[str]:
    """A copy in a folder and in an S3 server."""
    lines = [lag_row(folder / "near", "folder", str(folder / "near-vault"), 30.0, **QUIET)]
    print(lines[-1], flush=True)
    server = ObjectServer(folder / "follow-objects").start()
    try:
        environ = {
            "HOLDFAST_VAULT_ENDPOINT": server.endpoint,
            "HOLDFAST_VAULT_KEY_ID": WRITER[0],
            "HOLDFAST_VAULT_KEY": WRITER[1],
        }
        lines.append(lag_row(folder / "far", "S3 server", f"s3://{BUCKET}/follow", 30.0, **QUIET, **environ))
        print(lines[-1], flush=True)
    finally:
        server.stop()
    return lines


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--losses", type=int, default=200)
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--memories", type=int, default=20_000)
    options.add_argument("--only", default="")
    options.add_argument("--litestream", default=shutil.which("litestream"), help="the program, to stand beside it")
    options.add_argument("--page", action="store_true")
    given = options.parse_args()
    parts: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.only in ("", "writers"):
            parts["writers"] = writers(folder, given.rounds)
        if given.only in ("", "sizes"):
            parts["sizes"] = sizes(folder)
        if given.only in ("", "losses"):
            parts["losses"] = losses(folder, given.losses)
        if given.only in ("", "restores"):
            parts["restores"] = [
                restores(folder / str(share), given.memories, given.memories // share) for share in (20, 5)
            ]
        if given.only in ("", "hour"):
            parts["hour"] = [hour(folder / "hour", given.memories)]
        if given.only in ("", "follow"):
            parts["follow"] = follows(folder)
        if given.litestream and given.only in ("", "litestream"):
            parts["litestream"] = beside(folder / "beside", given.litestream, 5, 20.0, QUIET)
    if given.page:
        (ROOT / "docs/benchmarks/journal.md").write_text(page(parts), encoding="utf-8")


HEADS = {
    "writers": "| connections | rate | p99 | processor time |\n|---|---|---|---|",
    "sizes": "| facts in a piece | bytes a fact | compressed at once | ratio |\n|---|---|---|---|",
    "losses": "| vault | machines lost | oldest write lost, median, s | worst, s |\n|---|---|---|---|",
    "restores": "| memories in the snapshot | writes in the journal | processor time |\n|---|---|---|",
    "follow": "| vault | writes | median, s | p99, s | slowest, s |\n|---|---|---|---|---|",
    "litestream": "| | lost, median, s | lost, worst, s | bytes a fact | processor time | restore, s |\n|---|---|---|---|---|---|",
    "hour": "| memories before | writes | snapshots made meanwhile | writes in the journal at the end | processor time |\n"
    "|---|---|---|---|---|",
}
ABOUT = {
    "writers": "Writers with the journal on, as parts of the same without it; rounds in turn, medians.",
    "sizes": "The journal of 10,000 facts (2,000 at ten a piece) beside the same rows compressed by zstd at once.",
    "losses": "A server under load is killed at a random moment and its folder removed; an empty one gets what is left.",
    "restores": "Restoring the snapshot and the journal after it, as a part of restoring the snapshot alone.",
    "follow": "A copy that follows a server with 100 writes a second, for 30 seconds: from the answer to a write until "
    "a reader of the copy finds it.",
    "litestream": "Beside litestream on the same writes, 100 a second for 20 seconds into a memory of 2,000 facts (5 rounds each): how "
    "old the oldest write was that was lost with server, program and folder; the size of the copy in the vault; processor time "
    "of both as a part of the server's alone; processor time of the command that restores.",
    "hour": "An hour of 100 writes a second into a memory of 500 MB, at a smaller size: as many writes as there are memories, "
    "with the snapshots that `HOLDFAST_JOURNAL_SHARE` makes early; restored when the journal is longest, as a part of "
    "restoring the newest snapshot alone.",
}


def page(parts: dict[str, list[str]]) -> str:
    text = ["# Journal", "", "Written by `python bench/journal.py --page`."]
    for name, lines in parts.items():
        text += ["", ABOUT[name], "", HEADS[name], *lines]
    return "\n".join([*text, ""])


if __name__ == "__main__":
    main()
