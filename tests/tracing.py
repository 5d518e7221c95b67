"""strace as a breaker of system calls. Every use asserts that the fault fired: strace 6.1 with --seccomp-bpf
silently injects nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import warm
from patience import WAIT_SECONDS
from processes import environment


def need_strace() -> str:
    found = shutil.which("strace")
    if found is None:
        pytest.fail("strace is not installed; these tests break system calls with it (apt-get install strace)")
    return found


GENERATIONS = (
    "gen-000001",
    "gen-000002",
    "gen-000003",
    ".gen-000002",
    ".gen-000003",
    ".gen-000001-old",
    ".gen-000002-old",
)


def paths_of(home: Path) -> list[Path]:
    """Every file that the store has in a folder; calls on others are left alone and not counted."""
    names = ("CURRENT", ".CURRENT.new", "PREVIOUS", ".PREVIOUS.new", "server.json", ".server.json.new")
    inside = ("", "made", ".made.new", *(f"memory.db{end}" for end in ("", "-wal", "-shm", "-journal")))
    generations = [home / generation / name for generation in GENERATIONS for name in inside]
    return [home, *(home / name for name in ("lock", *names)), *generations]


def run_broken(
    options: Sequence[str], words: Sequence[str], script: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """`holdfast` with these words, or a script of the tests, under strace, which joins once all is loaded and before
    the work begins: the thousands of calls that loading makes are none of Holdfast's own, and each would stop for the
    tracer."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (
        warm.WarmProcess(words, script=script, held=True, env=environment(**more), **pipes) as command,
        _attached(command.pid, options),
    ):
        command.go()
        out, err = command.communicate(timeout=WAIT_SECONDS)
    return subprocess.CompletedProcess(words, command.returncode, out, err)


def under(options: Sequence[str]) -> list[str]:
    """The prefix of a command that strace follows from its first call."""
    return [need_strace(), "-f", "-qq", *options]


def breaking(home: Path, syscall: str, how: str, when: str, log: Path) -> list[str]:
    """The options of strace under which a command's calls of `syscall` on the store's files go wrong: `signal=KILL` before
    the call happens, or `error=EIO` in its place; `when` is 3 for the third, 3+ for it and all that follow."""
    places = [word for path in paths_of(home) for word in ("-P", str(path))]
    inject = f"inject={syscall}:{how}:when={when}"
    return ["-o", str(log), *places, "-e", f"trace={syscall}", "-e", inject]


def was_killed(log: Path) -> bool:
    return "killed by SIGKILL" in log.read_text()


@contextmanager
def failing(pid: int, calls: Sequence[str], error: str, log: Path) -> Iterator[None]:
    """While the block runs, these calls of the process fail with the error."""
    names = ",".join(calls)
    with _attached(pid, ["-o", str(log), "-e", f"trace={names}", "-e", f"inject={names}:error={error}"]):
        yield


@contextmanager
def _attached(pid: int, options: Sequence[str]) -> Iterator[None]:
    """While the block runs, strace follows the process and all its threads."""
    before = len(os.listdir(f"/proc/{pid}/task"))
    tracer = subprocess.Popen(
        [need_strace(), "-f", "-p", str(pid), *options], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        assert tracer.stderr is not None
        attached = 0
        while attached < before:
            line = tracer.stderr.readline()
            assert line, "strace ended before it was attached"
            assert "Operation not permitted" not in line, "strace may not trace other processes here; run as root"
            attached += line.count("attached")
            attached = before if "threads" in line else attached
        yield
    finally:
        tracer.terminate()
        tracer.communicate(timeout=WAIT_SECONDS)


def fired(log: Path) -> int:
    """How many calls were made to fail."""
    return log.read_text().count("(INJECTED)")
