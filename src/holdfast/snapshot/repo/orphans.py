"""What interrupted work leaves in a repository, and how it is known to be abandoned.

    .lock                   held while names of snapshots change, for moments only
    .staging-<name>/        where a snapshot is made; the folder itself is locked while it is in use
    .<id>.changing          stands while the files of an id come or go
    .opened/                cache of recently opened snapshots (`store_cache.py`)
    .<id>.unsent            stands until the vault has it (`send_marks.py`)
    .<name>.new             a small file before its rename

A staging folder that no process has locked belonged to a process that is dead. An id that is marked as changing while
no process holds the repository's lock was left halfway: with its manifest it is a whole snapshot, without it the rest
of one that never was or is no more. Files without a manifest and without a mark are neither: they are shown as damaged
and stay.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.core.bundle_names import MANIFEST, SUFFIXES
from holdfast.core.disk import claim, make_folder, release, sync_folder, write_new
from holdfast.core.errors import InvalidRequest
from holdfast.snapshot.repo.paths import split_name
from holdfast.snapshot.repo.send_marks import unsent_mark
from holdfast.snapshot.repo.store_cache import drop_opened_of

_STAGING = ".staging-"
_STAGING_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,99}")
_CHANGING = ".changing"


def mark_of(root: Path, id: str) -> Path:
    return root / f".{id}{_CHANGING}"


@contextmanager
def changing_names(root: Path) -> Iterator[None]:
    """Exclusive among all processes and threads that change names in this repository."""
    make_folder(root)
    handle = os.open(root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        release(handle)


@contextmanager
def staging_folder(root: Path, name: str | None) -> Iterator[Path]:
    """A private folder for this block, removed afterwards."""
    with changing_names(root):  # a sweep must not find it between made and locked
        folder = _new_folder(root, name)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        # What cannot be removed now is abandoned from here on: the next sweep takes it.
        shutil.rmtree(folder, ignore_errors=True)
        release(handle)


def _new_folder(root: Path, name: str | None) -> Path:
    if name is not None:
        if not _STAGING_NAME.fullmatch(name):
            raise InvalidRequest("snapshot: not the name of a staging folder")
        folder = root / f"{_STAGING}{name}"
        folder.mkdir(mode=0o700)
        return folder
    for number in itertools.count():  # a dead process may have had the same id
        try:
            return _new_folder(root, f"{os.getpid()}-{number}")
        except FileExistsError:
            continue
    raise AssertionError("counting ends nowhere")


def begin_change(root: Path, id: str) -> None:
    """Mark an id, durably, before the first of its names changes. Call with the repository's lock held."""
    write_new(mark_of(root, id), b"")
    sync_folder(root)


def end_change(root: Path, id: str) -> None:
    mark_of(root, id).unlink(missing_ok=True)


def marked(root: Path) -> list[str]:
    """Ids whose change was interrupted. The caller must hold the repository's lock."""
    names = (name for name in os.listdir(root) if name.startswith(".") and name.endswith(_CHANGING))
    ids = (name[1:].removesuffix(_CHANGING) for name in names)
    return sorted(id for id in ids if split_name(id + MANIFEST))


def remove_files(root: Path, id: str) -> list[str]:
    """Remove every file of an id, the manifest first: from then on it is no snapshot."""
    gone = [name for name in (f"{id}{MANIFEST}",) if _unlink(root / name)]
    if gone:
        sync_folder(root)
    rest = [f".{id}{MANIFEST}.new", unsent_mark(id), *(f"{id}{suffix}" for suffix in SUFFIXES)]
    gone += [name for name in rest if _unlink(root / name)]
    return gone + drop_opened_of(root, id)


def _unlink(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


def in_use(path: Path) -> bool:
    """Whether any process holds a bundle. A missing one is not held."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not claim(handle)
    finally:
        release(handle)


def sweep_staging(root: Path) -> list[str]:
    """Remove staging folders that no process has locked. Call with the repository's lock held."""
    gone = []
    for name in sorted(os.listdir(root)):
        if name.startswith(_STAGING) and _remove_if_free(root / name):
            gone.append(name)
    return gone


def _remove_if_free(folder: Path) -> bool:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (NotADirectoryError, FileNotFoundError):
        return False
    try:
        if not claim(handle):
            return False
        shutil.rmtree(folder)
        return True
    finally:
        release(handle)
