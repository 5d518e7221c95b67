"""The lock of snapshots: one at a time, over threads and processes, and whoever waits in vain is told for whom."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from world import StillClock

from holdfast.core.errors import SnapshotsBusy
from holdfast.snapshot.repo.lock import SnapshotLock

CHILD = (
    "import sys; from pathlib import Path; from holdfast.snapshot.repo.lock import SnapshotLock\n"
    "with SnapshotLock(Path(sys.argv[1]), 'restore', 0):\n"
    "    print('locked', flush=True); sys.stdin.readline()"
)


class Pausing:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.clock = StillClock()
        self.pauses = 0

    def pause(self, seconds: float) -> None:
        self.pauses += 1
        self.clock.now += round(seconds * 1000)


def test_the_lock_of_another_process_is_waited_for_in_vain_and_named(tmp_path: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    time = Pausing()
    with subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], **pipes) as child:  # type: ignore[call-overload]
        assert child.stdout.readline() == "locked\n"
        with pytest.raises(SnapshotsBusy) as caught, SnapshotLock(tmp_path, "create", 3, time.clock, time.pause):
            pass
        assert f"process {child.pid}" in caught.value.message
        assert "for restore" in caught.value.message
        assert caught.value.message.startswith("create: ")
        assert time.pauses == 60
        child.kill()
    with SnapshotLock(tmp_path, "create", 0):
        pass


def test_the_lock_is_had_as_soon_as_it_is_free(tmp_path: Path) -> None:
    time = Pausing()
    first = SnapshotLock(tmp_path, "prune", 0)
    first.__enter__()

    def pause(seconds: float) -> None:
        time.pause(seconds)
        if time.pauses == 5:
            first.__exit__()

    with SnapshotLock(tmp_path, "create", 60, time.clock, pause):
        assert time.pauses == 5


def test_threads_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    inside = 0
    most = 0
    counting = threading.Lock()

    def work(number: int) -> None:
        nonlocal inside, most
        with SnapshotLock(tmp_path, "create", 60, pause=lambda seconds: None):
            with counting:
                inside += 1
                most = max(most, inside)
            with counting:
                inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(64)))
    assert most == 1


def test_a_lock_is_given_back_when_the_work_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), SnapshotLock(tmp_path, "create", 0):
        raise ZeroDivisionError
    with SnapshotLock(tmp_path, "create", 0):
        pass


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"pid": "x"}', b'{"pid": 1, "operation": "\\u001b[2J"}', b"\xff" * 500]
)
def test_what_stands_in_the_file_is_not_trusted(tmp_path: Path, content: bytes) -> None:
    with SnapshotLock(tmp_path, "create", 0):
        (tmp_path / "snapshots" / ".lock").write_bytes(content)
        with pytest.raises(SnapshotsBusy) as caught, SnapshotLock(tmp_path, "prune", 0):
            pass
    assert caught.value.message.isprintable()


def test_the_file_is_for_its_owner_only_and_says_who_has_it(tmp_path: Path) -> None:
    with SnapshotLock(tmp_path, "create", 0):
        file = tmp_path / "snapshots" / ".lock"
        assert file.stat().st_mode & 0o777 == 0o600
        assert str(os.getpid()) in file.read_text()
