"""Where a drill restores to: <home>/drills/.scratch, gone after the drill, or at the next start if its process died."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.core.disk import claim, disk_faults, make_folder, release
from holdfast.core.errors import SnapshotsBusy
from holdfast.snapshot.drill.drill_records import DRILLS
from holdfast.snapshot.repo.orphans import changing_names, sweep_staging
from holdfast.snapshot.repo.paths import SHELVES

_SCRATCH, _MEMORY = ".scratch", "memory"


@contextmanager
def scratch_folder(home: Path) -> Iterator[Path]:
    """An empty folder for this block alone.

    Raises:
        SnapshotsBusy: another drill goes on in this data folder.
    """
    root = home / DRILLS / _SCRATCH
    with disk_faults("drill: scratch folder"):
        make_folder(root)
        handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if not claim(handle) or not os.fstat(handle).st_nlink:
            raise SnapshotsBusy("drill: another drill is running", hint="Wait until it has ended.")
        shutil.rmtree(root / _MEMORY, ignore_errors=True)
        try:
            yield root / _MEMORY
        finally:
            shutil.rmtree(root, ignore_errors=True)
    finally:
        release(handle)


def sweep_scratch(home: Path) -> None:
    """Remove what drills of dead processes left: their folder, what they had fetched, and a record that was not
    finished. Call it with the lock of the data folder, before anything else works in it."""
    for unfinished in (home / DRILLS).glob("*/*/.*.new"):
        with suppress(OSError):
            unfinished.unlink()
    root = home / DRILLS / _SCRATCH
    if not root.is_dir():
        return
    shutil.rmtree(root, ignore_errors=True)
    for repo in (home / SHELVES).glob("*/*"):
        with suppress(OSError), changing_names(repo):
            sweep_staging(repo)
