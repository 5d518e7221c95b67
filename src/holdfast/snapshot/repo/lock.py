"""Who may change snapshots: one process, and in it one thread, at a time.

<home>/snapshots/.lock is held by a process that makes, restores or prunes; in it are its pid and its work. The
kernel frees the lock when the process dies, so a killed one blocks no other. No tenant's folder can have that name.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import claim, disk_faults, make_folder, release
from holdfast.core.errors import SnapshotsBusy
from holdfast.core.ports import Clock
from holdfast.core.system import SystemClock

_PAUSE_SECONDS = 0.05
_OPERATION = re.compile(r"[a-z][a-z -]{0,39}")
_MOST_BYTES = 256


class SnapshotLock:
    """The lock of a data folder's snapshots. It is not reentrant: work under it must not take it again."""

    def __init__(
        self,
        home: Path,
        operation: str,
        timeout_seconds: float,
        clock: Clock | None = None,
        pause: Callable[[float], None] = time.sleep,
    ):
        self._folder = home / "snapshots"
        self._operation = operation
        self._timeout = timeout_seconds
        self._clock = clock or SystemClock()
        self._pause = pause
        self._handle: int | None = None

    def __enter__(self) -> SnapshotLock:
        """Wait for the lock and take it.

        Raises:
            SnapshotsBusy: it was not free in time; the message names the holder and its work.
        """
        with disk_faults(f"{self._operation}: snapshot lock"):
            make_folder(self._folder)
            handle = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            with OnFailure(release, handle):
                self._wait(handle)
                _sign(handle, self._operation)
        self._handle = handle
        return self

    def _wait(self, handle: int) -> None:
        until = self._clock.steady() + self._timeout
        while not claim(handle):
            if self._clock.steady() >= until:
                raise SnapshotsBusy(f"{self._operation}: {_holder(handle)}; waited {self._timeout:g} s")
            self._pause(_PAUSE_SECONDS)

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            release(self._handle)
            self._handle = None


def _sign(handle: int, operation: str) -> None:
    """Write the holder into the file. Only for messages, so it need not last."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, orjson.dumps({"pid": os.getpid(), "operation": operation}), 0)


def _holder(handle: int) -> str:
    """The holder of the lock, by the file: between taking the lock and writing it is still the one before."""
    try:
        said = orjson.loads(os.pread(handle, _MOST_BYTES, 0))
        pid, operation = int(said["pid"]), str(said["operation"])
    except (ValueError, TypeError, KeyError):
        return "another process holds the snapshot lock"
    if not _OPERATION.fullmatch(operation):
        return f"process {pid} holds the snapshot lock"
    return f"process {pid} holds the snapshot lock for {operation}"
