"""Cache of recently opened snapshots, kept unpacked: the next query need not unpack them again, which takes 13 times as
long with 50,000 memories (bench/mechanisms.py).

    <repository>/.opened/<id>.<SHA-256 of the bundle>.<schema>.db      for the owner only

At most two, and no more than a gigabyte in all. Each is a file that never changes again: readers hold a shared lock
on it, and it goes with its snapshot, for a newer one, or when a sweep finds it without its snapshot.

Only plain snapshots are kept. Of an encrypted one nothing readable may lie on the disk when no process reads it, and
the next caller must show the identity again; so it is unpacked for each query and removed after the answer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.core.bundle_names import MANIFEST
from holdfast.core.disk import claim, make_folder, release
from holdfast.snapshot.bundle.manifest import is_id
from holdfast.snapshot.bundle.types import Manifest

OPENED = ".opened"
MOST_KEPT = 2
MOST_BYTES = 1_000_000_000
_NAME = re.compile(r"([0-9TZa-f-]+)\.[0-9a-f]{64}\.\d+\.db", re.ASCII)


def place_of_opened(root: Path, manifest: Manifest, schema: int) -> Path:
    """Where the snapshot's store is kept, brought to that schema."""
    return root / OPENED / f"{manifest.identity.id}.{manifest.bundle_sha256}.{schema}.db"


@contextmanager
def reading_kept(path: Path) -> Iterator[bool]:
    """Whether the store is kept; if so, no process removes it during the block."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        taken = claim(handle, shared=True) and bool(os.fstat(handle).st_nlink)
        if taken:
            with suppress(OSError):
                os.utime(handle)  # most recently used: the others are removed first
        yield taken
    finally:
        release(handle)


def keep(database: Path, path: Path) -> None:
    """Take an unpacked store that no process reads any more, unless it is too large. Call with the repository's lock
    held."""
    if database.stat().st_size > MOST_BYTES:
        return
    make_folder(path.parent)
    database.rename(path)
    _make_room(path)


def _make_room(newest: Path) -> None:
    """Remove what was used longest ago until the rest fits; what is being read stays."""
    others = [(one.stat().st_mtime_ns, one) for one in _kept(newest.parent) if one != newest]
    room, bytes_left = MOST_KEPT - 1, MOST_BYTES - newest.stat().st_size
    for _, one in sorted(others, reverse=True):
        size = one.stat().st_size
        if room > 0 and size <= bytes_left:
            room, bytes_left = room - 1, bytes_left - size
        else:
            drop(one)


def drop(path: Path) -> bool:
    """Remove a kept store unless a process reads it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if not claim(handle):
            return False
        path.unlink(missing_ok=True)
        return True
    finally:
        release(handle)


def drop_opened_of(root: Path, id: str) -> list[str]:
    """Remove what is kept of a snapshot; the names of what went."""
    return [one.name for one in _kept(root / OPENED) if one.name.startswith(f"{id}.") and drop(one)]


def sweep_opened(root: Path) -> list[str]:
    """Remove what is kept of snapshots that are gone. Call with the repository's lock held."""
    return [
        one.name
        for one in _kept(root / OPENED)
        if not os.path.lexists(root / f"{one.name.split('.', 1)[0]}{MANIFEST}") and drop(one)
    ]


def _kept(folder: Path) -> list[Path]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return [folder / name for name in names if (found := _NAME.fullmatch(name)) and is_id(found[1])]
