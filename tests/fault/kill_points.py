"""Breaking a command at one exact system call, and looking at what it leaves."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from processes import Server
from tracing import breaking, fired, run_broken, under, was_killed

from holdfast.client import Holdfast
from holdfast.core.errors import DataDamaged, StorageFailed, StorageFull

SYSCALLS = (
    "openat", "mkdir", "pwrite64", "write", "ftruncate", "fdatasync", "fsync", "rename", "link", "unlink", "unlinkat",
    "rmdir",
)  # fmt: skip
OLD = ("the amber cabinet holds spare fuses", "the basalt stairs are wet in winter", "the cobalt jar is for brushes")
NEW = "the dolomite shelf carries the maps"
LATER = "the emerald lamp stands by the door"


# What a command may say of a disk that fails: full, failed, damaged.
DISK_EXITS = {StorageFull.exit_code, StorageFailed.exit_code, DataDamaged.exit_code}


@dataclass(frozen=True)
class Outcome:
    """What came of one run that was to be broken at one call."""

    fired: bool
    acknowledged: bool
    new_there: bool


def template(folder: Path) -> Path:
    """A folder with a few memories, closed in good order."""
    home = folder / "template"
    if not home.exists():
        with Holdfast(home) as memory:
            for text in OLD:
                memory.remember(text)
    return home


def kill_remember(folder: Path, syscall: str, when: int, *, fresh: bool) -> Outcome:
    """`holdfast remember`, alone on its folder, killed at that call; then the folder is opened and examined.

    Raises:
        AssertionError: something is broken, or was lost.
    """
    done, log = _remember(folder, syscall, "signal=KILL", str(when), fresh)
    killed = was_killed(log)
    assert killed == (done.returncode != 0), done.stdout + done.stderr
    return _outcome(folder, done, killed, fresh)


def fail_remember(folder: Path, syscall: str, when: int, *, fresh: bool, error: str, onward: bool) -> Outcome:
    """The same with an error of the disk in place of that call, and of all that follow if `onward`."""
    done, log = _remember(folder, syscall, f"error={error}", f"{when}{'+' if onward else ''}", fresh)
    assert done.returncode in {0, *DISK_EXITS}, done.stdout + done.stderr
    return _outcome(folder, done, fired(log) > 0, fresh)


def _remember(
    folder: Path, syscall: str, how: str, when: str, fresh: bool
) -> tuple[subprocess.CompletedProcess[str], Path]:
    home, log = folder / "memory", folder / "strace.log"
    shutil.rmtree(home, ignore_errors=True)
    if not fresh:
        shutil.copytree(template(folder), home)
    words = ("remember", NEW, "--data", str(home), "--json")
    return run_broken(breaking(home, syscall, how, when, log), words), log


def _outcome(folder: Path, done: subprocess.CompletedProcess[str], fired: bool, fresh: bool) -> Outcome:
    acknowledged = '"success": true' in done.stdout and bool(json.loads(done.stdout)["success"])
    there = examine(folder / "memory", () if fresh else OLD)
    assert there or not acknowledged, "acknowledged and lost"
    return Outcome(fired, acknowledged, there)


def kill_serve(folder: Path, syscall: str, when: int) -> Outcome:
    """`holdfast serve` on a fresh folder, killed at that call of its start; then the folder is examined."""
    home, log = folder / "memory", folder / "strace.log"
    shutil.rmtree(home, ignore_errors=True)
    with Server(home, prefix=under(breaking(home, syscall, "signal=KILL", str(when), log))) as server:
        try:
            server.ready()
        except AssertionError:
            server.ended()
        else:
            server.kill()
            return Outcome(False, False, examine(home, ()))
    assert was_killed(log), server.complaints
    return Outcome(True, False, examine(home, ()))


def examine(home: Path, old: tuple[str, ...]) -> bool:
    """Open what was left: sound, everything old is found, and it takes new memories. Whether the new one is there."""
    with Holdfast(home) as memory:
        report = memory.call("verify")
        assert report["sound"], report["findings"]
        texts = {one["content"] for one in memory.call("memories")["memories"]}
        assert texts in ({*old}, {*old, NEW}), texts
        for text in texts:
            assert [hit["observation"]["content"] for hit in memory.search(text, limit=1)] == [text]
        memory.remember(LATER)
        assert memory.call("verify")["sound"]
    names = {str(one.relative_to(home)) for one in home.rglob("*")}
    left_by_a_server = {"server.json", ".server.json.new"}
    generation = {"gen-000001", "gen-000001/memory.db", "gen-000001/made"}
    assert names - left_by_a_server == {"lock", "CURRENT", *generation}, names
    return NEW in texts
