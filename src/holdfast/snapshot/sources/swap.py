"""Memory folders put in place of live ones: the old or the new one, whenever the process ends.

New and old folder lie beside the live one, as a rename does not leave its file system:

<parent>/<name>                         live
<parent>/.<name>.holdfast-new           staged: becomes the live one
<parent>/.<name>.holdfast-new.mark      which folder is the new one, by its inode, while they change places
<home>/folders.pending                  what is to be exchanged, until all of it is

Where the kernel can, both change places in one step. Otherwise there is no live folder for a moment; if the process
dies in it, `finish_pending` at the next start puts the new one there.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from holdfast.core.disk import disk_fault, sync_folder, write_durably
from holdfast.core.errors import Conflict, DataDamaged
from holdfast.snapshot.sources.folder_restore import mark_of, sync_tree

JOURNAL = "folders.pending"
MEND = "Run holdfast snapshot mend. It repairs memory folders and removes nothing."
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
# The kernel, or this file system, has no such call.
_UNKNOWN = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}


@dataclass(frozen=True, slots=True)
class FolderSwap:
    """One folder to be put in place: `staged` becomes `live`, and what was live becomes `kept`."""

    live: Path
    staged: Path
    kept: Path


@dataclass(frozen=True, slots=True)
class SwapJournal:
    """Exchanges that were decided on and perhaps not all carried out."""

    goal: str  # what they belong to, as the caller names it: the generation that is switched to
    exchanges: tuple[FolderSwap, ...]


def place_of_new(live: Path) -> Path:
    """Where the folder is built that shall become the live one."""
    return live.with_name(f".{live.name}.holdfast-new")


def place_of_old(live: Path, id: str) -> Path:
    """Where the live folder goes when the snapshot of that id takes its place."""
    return live.with_name(f".{live.name}.holdfast-old-{id}")


def exchange(live: Path, staged: Path, kept: Path) -> None:
    """Put `staged` in the place of `live`, which is kept. Calling it again finishes what a crash interrupted.

    A live folder that does not exist counts as an empty one. To undo it, exchange `kept` back.

    Raises:
        Conflict: there is something at `kept` already.
        DataDamaged: there is neither a staged nor a live folder.
        StorageFull, StorageFailed: the disk refuses; the old or the new folder is live.
    """
    try:
        _exchange(live, staged, kept)
    except OSError as error:
        raise disk_fault(error, f"put {live.name} in place") from error


def _exchange(live: Path, staged: Path, kept: Path) -> None:
    mark = mark_of(staged)
    if not mark.exists():
        if not staged.exists():
            return _done(live)
        _begin(live, staged, kept, mark)
    new = _marked_inode(mark)
    if _inode(live) != new:
        _change_places(live, staged, kept)
    if staged.exists():  # now the old one
        staged.rename(kept)
    _sync(live, staged, kept)
    mark.unlink()
    sync_folder(mark.parent)


def _marked_inode(mark: Path) -> int:
    data = mark.read_bytes()
    if not data.isdigit():
        raise DataDamaged(f"memory folders: {mark.name} cannot be read", hint=MEND)
    return int(data)


def _done(live: Path) -> None:
    if not live.is_dir():
        raise DataDamaged(f"memory folder {live.name}: neither the restored nor the live folder exists", hint=MEND)


def _begin(live: Path, staged: Path, kept: Path, mark: Path) -> None:
    if os.path.lexists(kept):
        raise Conflict(f"memory folder {live.name}: {kept.name} already exists", hint=MEND)
    live.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    live.mkdir(exist_ok=True, mode=0o700)
    sync_tree(staged)
    _sync(live, staged, kept)
    write_durably(mark, b"%d" % staged.stat().st_ino)


def _inode(folder: Path) -> int | None:
    try:
        return os.lstat(folder).st_ino
    except FileNotFoundError:
        return None


def _change_places(live: Path, staged: Path, kept: Path) -> None:
    if live.exists():
        if _rename_exchange(live, staged):
            return _sync(live, staged, kept)
        live.rename(kept)
        _sync(live, staged, kept)
    staged.rename(live)
    _sync(live, staged, kept)


def _sync(*paths: Path) -> None:
    for folder in dict.fromkeys(path.parent for path in paths):
        sync_folder(folder)


def _rename_exchange(one: Path, other: Path) -> bool:
    """Both names change places in one step; False where the system cannot."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    if renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNKNOWN:
        return False
    raise OSError(code, os.strerror(code))


# Several folders at once


def intend(home: Path, goal: str, exchanges: Iterable[FolderSwap]) -> None:
    """Write down, durable, what is to be exchanged; every staged folder is complete by now.

    Raises:
        Conflict: earlier exchanges are not finished yet.
    """
    if (home / JOURNAL).exists():
        raise Conflict("memory folders: an earlier restore is not finished", hint=MEND)
    exchanges = tuple(exchanges)
    if not exchanges:
        return
    rows = [[str(one.live), str(one.staged), str(one.kept)] for one in exchanges]
    write_durably(home / JOURNAL, orjson.dumps({"goal": goal, "exchanges": rows}))


def pending(home: Path) -> SwapJournal | None:
    """What was intended and is not known to be finished.

    Raises:
        DataDamaged: the journal cannot be read.
    """
    try:
        data = (home / JOURNAL).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise disk_fault(error, f"read {JOURNAL}") from error
    try:
        value = orjson.loads(data)
        rows = [FolderSwap(Path(live), Path(staged), Path(kept)) for live, staged, kept in value["exchanges"]]
        return SwapJournal(str(value["goal"]), tuple(rows))
    except (ValueError, TypeError, KeyError) as error:
        raise DataDamaged(f"memory folders: {JOURNAL} cannot be read", hint=MEND) from error


def finish_pending(home: Path) -> SwapJournal | None:
    """Carry out what is pending, and return what it was. Calling it again after a crash goes on from there."""
    found = pending(home)
    if found is not None:
        for one in found.exchanges:
            exchange(one.live, one.staged, one.kept)
        _forget(home)
    return found


def abandon_pending(home: Path) -> SwapJournal | None:
    """Drop what is pending before any of it was carried out: the staged folders go, the live ones stay.

    Raises:
        Conflict: an exchange has begun; it must be finished.
    """
    found = pending(home)
    if found is None:
        return None
    if any(_has_begun(one) for one in found.exchanges):
        raise Conflict("memory folders: a restore has started and must be finished", hint=MEND)
    for one in found.exchanges:
        if one.staged == place_of_new(one.live):  # not one that was live once and would come back
            shutil.rmtree(one.staged, ignore_errors=True)
    _forget(home)
    return found


def _has_begun(one: FolderSwap) -> bool:
    return mark_of(one.staged).exists() or os.path.lexists(one.kept)


def _forget(home: Path) -> None:
    try:
        (home / JOURNAL).unlink()
        sync_folder(home)
    except OSError as error:
        raise disk_fault(error, f"remove {JOURNAL}") from error
