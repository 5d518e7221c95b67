"""Breaking a restore and its undo at one exact system call, and looking at what is left."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from kill_points import DISK_EXITS, LATER, NEW, OLD, SYSCALLS, Outcome
from tracing import breaking, fired, run_broken, was_killed

from holdfast.client import Holdfast
from holdfast.core.errors import Restoring
from holdfast.store.sqlite.files.capture import capture_store

RESTORE_SYSCALLS = (*SYSCALLS, "unlinkat", "rmdir")  # a generation that is dropped is a folder

WORK = Path(__file__).with_name("generation_work.py")
# What is remembered at the start, and after each step.
STATES = ({*OLD, NEW}, {*OLD}, {*OLD, NEW}, {*OLD})


def kill_restore(folder: Path, syscall: str, when: int) -> Outcome:
    """The child killed at that call; then the folder is opened and examined.

    Raises:
        AssertionError: something is broken, or was lost.
    """
    done, log = _run(folder, syscall, "signal=KILL", str(when))
    killed = was_killed(log)
    assert killed == (done.returncode != 0), done.stdout + done.stderr
    return _outcome(folder, done, killed)


def fail_restore(folder: Path, syscall: str, when: int, *, error: str, onward: bool) -> Outcome:
    """The same with an error of the disk in place of that call, and of all that follow if `onward`."""
    done, log = _run(folder, syscall, f"error={error}", f"{when}{'+' if onward else ''}")
    assert done.returncode in {0, *DISK_EXITS, Restoring.exit_code}, done.stdout + done.stderr
    return _outcome(folder, done, fired(log) > 0)


def _template(folder: Path) -> Path:
    """A folder whose memory has gone on since it was captured."""
    home = folder / "template"
    if not home.exists():
        with Holdfast(home) as memory:
            for text in OLD:
                memory.remember(text)
        capture_store(home / "gen-000001" / "memory.db", folder / "captured.db", "default")
        with Holdfast(home) as memory:
            memory.remember(NEW)
    return home


def _run(folder: Path, syscall: str, how: str, when: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    home, log = folder / "memory", folder / "strace.log"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(_template(folder), home)
    words = (str(home), str(folder / "captured.db"))
    return run_broken(breaking(home, syscall, how, when, log), words, WORK), log


def _outcome(folder: Path, done: subprocess.CompletedProcess[str], fired: bool) -> Outcome:
    steps = done.stdout.count("done")
    texts = examine(folder / "memory")
    # The step that was last acknowledged holds; the next may have happened.
    assert texts in STATES[steps : steps + 2], (steps, texts)
    return Outcome(fired, steps == len(STATES) - 1, NEW in texts)


def examine(home: Path) -> set[str]:
    """Open what was left: one whole generation is live and sound, it takes new memories, and nothing lies about."""
    with Holdfast(home) as memory:
        report = memory.call("verify")
        assert report["sound"], report["findings"]
        texts = {one["content"] for one in memory.call("memories")["memories"]}
        for text in texts:
            assert [hit["observation"]["content"] for hit in memory.search(text, limit=1)] == [text]
        memory.remember(LATER)
        assert memory.call("verify")["sound"]
    names = {one.name for one in home.iterdir()}
    generations = {name for name in names if name.startswith("gen-")}
    assert names - generations - {"PREVIOUS"} == {"lock", "CURRENT"}, names
    live = home / (home / "CURRENT").read_text().strip()
    assert {one.name for one in live.iterdir()} == {"memory.db", "made"}
    return texts
