"""Breaking a restore and its undo at one exact system call, and looking at what is left."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from kill_points import DISK_EXITS, LATER, NEW, OLD, SYSCALLS, Outcome
from patience import WAIT_SECONDS
from processes import environment
from tracing import breaking, fired, under, was_killed

from holdfast.client import Holdfast
from holdfast.core.errors import Restoring
from holdfast.store.sqlite.files.capture import capture_store

RESTORE_SYSCALLS = (*SYSCALLS, "unlinkat", "rmdir")  # a generation that is dropped is a folder

# Restores what was captured, goes back to what there was, restores it again and drops what is old; says each step.
CHILD = """
import sys
from pathlib import Path
from holdfast.engine import Engine
from holdfast.core.errors import Fault
from holdfast.settings import load
from grafting import graft

home, captured = Path(sys.argv[1]), Path(sys.argv[2])

def restore(live):
    building = engine.folder.new_generation()
    try:
        (building / "memory.db").write_bytes(captured.read_bytes())
    except OSError as error:
        raise disk_fault(error, "extract") from error
    graft(building / "memory.db", live.path, "default")
    return engine.folder.finish(building)

def back(live):
    previous = engine.folder.previous()
    live.give_back(previous, "default")
    return previous

try:
    engine = Engine(load({"home": str(home), "embedder": "none"}, {}))
    try:
        for step in (restore, back, restore):
            engine.exchange(step, "default")
            print("done", flush=True)
        engine.folder.drop_old(0)
    finally:
        engine.close()
except Fault as fault:
    print(fault.message, file=sys.stderr)
    sys.exit(fault.exit_code)
"""
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
    child = [sys.executable, "-c", CHILD, str(home), str(folder / "captured.db")]
    command = [*under(breaking(home, syscall, how, when, log)), *child]
    path = ":".join(entry for entry in sys.path if entry)
    done = subprocess.run(
        command,
        env=environment(PYTHONPATH=path),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    return done, log


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
