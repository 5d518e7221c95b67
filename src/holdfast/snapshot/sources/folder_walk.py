"""Every file below a folder, read without following links, even those put there meanwhile.

Each folder is opened from its parent's handle, so no path is looked up twice. What cannot be read is a SkippedItem.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.disk import disk_fault
from holdfast.snapshot.bundle.types import SkippedItem
from holdfast.snapshot.sources.folder_paths import is_git, path_fault, shown

# One handle is open for each level; deeper paths have too many parts for a bundle.
DEPTH = 59
# A bundle holds 200,000 members at most.
FILES = 150_000
# How often a file is read again that changed under the reader.
TRIES = 3

_PIECE = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK opening a pipe that was put there meanwhile waits for ever.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

LINK = "symlink"
SPECIAL = "not a regular file"
UNREADABLE = "unreadable"
TOO_LARGE = "too large"
CHANGED = "changed while it was read"
REMOVED = "removed while it was read"


# Why an entry is left out, by its path: a reason, OMITTED, or None if it is walked.
Rule = Callable[[str], str | None]
OMITTED = ""  # it is no part of the folder, and is not even reported


@dataclass(frozen=True, slots=True)
class WalkedFile:
    """A regular file of the folder; it can be read while the walk stands at it."""

    path: str
    size: int
    folder: int  # handle of the folder it lies in
    name: str
    status: os.stat_result


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """A file as it was read in one piece: the id git would give it, and whether it can be run."""

    blob: str
    executable: bool


def in_bundle(path: str) -> str | None:
    """The rule of memory folders: what cannot stand in a bundle is left out, and a history is captured as one."""
    if is_git(path.rsplit("/", 1)[-1]):
        return "history of a repository inside the folder" if "/" in path else OMITTED
    return path_fault(path)


def _everywhere(path: str) -> bool:
    return True


def walk(
    root: Path, rule: Rule = in_bundle, start: str = "", descend: Callable[[str], bool] = _everywhere
) -> Iterator[WalkedFile | SkippedItem]:
    """The files of a folder in the order of their names, without those of repositories in it.

    A walk may start at a folder inside; it then goes where `descend` says, which is asked once for each folder.
    """
    try:
        handle = open_folder(root, start)
    except FileNotFoundError:
        return
    except OSError:
        yield SkippedItem(start or ".", UNREADABLE)
        return
    prefix = f"{start}/" if start else ""
    for count, one in enumerate(_Walk(rule, descend).below(handle, prefix, prefix.count("/"))):
        if count >= FILES:
            yield SkippedItem(".", f"more than {FILES} files; the rest")
            return
        yield one


def open_folder(root: Path, inside: str = "") -> int:
    """A handle of a folder below the root, each part opened from the one before, so that no link is followed."""
    handle = os.open(root, _FOLDER)
    for part in inside.split("/") if inside else ():
        try:
            handle, before = os.open(part, _FOLDER, dir_fd=handle), handle
        except OSError:
            os.close(handle)
            raise
        os.close(before)
    return handle


@dataclass(frozen=True, slots=True)
class _Walk:
    rule: Rule
    descend: Callable[[str], bool]

    def below(self, handle: int, prefix: str, depth: int) -> Iterator[WalkedFile | SkippedItem]:
        """The walk below one folder; closes its handle."""
        try:
            for name in sorted(os.listdir(handle)):
                path = prefix + name
                fault = self.rule(path)
                if fault is None:
                    yield from self._entry(handle, name, path, depth)
                elif fault != OMITTED:
                    yield SkippedItem(shown(path), fault)
        except OSError:
            yield SkippedItem(shown(prefix.rstrip("/")) or ".", UNREADABLE)
        finally:
            os.close(handle)

    def _entry(self, handle: int, name: str, path: str, depth: int) -> Iterator[WalkedFile | SkippedItem]:
        try:
            status = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                yield WalkedFile(path, status.st_size, handle, name, status)
            elif not stat.S_ISDIR(status.st_mode):
                yield SkippedItem(path, LINK if stat.S_ISLNK(status.st_mode) else SPECIAL)
            elif depth >= DEPTH:
                yield SkippedItem(path, f"nested deeper than {DEPTH} folders")
            elif self.descend(path):
                yield from self.below(os.open(name, _FOLDER, dir_fd=handle), path + "/", depth + 1)
        except FileNotFoundError:
            return  # removed meanwhile: it is not part of this moment
        except OSError:
            yield SkippedItem(path, UNREADABLE)


def take(found: WalkedFile, limit: int, into: Path | None = None) -> CopiedFile | SkippedItem:
    """Read a file to its end, and write it if a place is given; read again if it changes meanwhile.

    Raises:
        StorageFull, StorageFailed: it cannot be written.
    """
    for _ in range(TRIES):
        taken = _once(found, limit, into)
        if taken is not None:
            return taken
    if into is not None:
        into.unlink(missing_ok=True)
    return SkippedItem(found.path, CHANGED)


def _once(found: WalkedFile, limit: int, into: Path | None) -> CopiedFile | SkippedItem | None:
    """The file as it was read; None if it changed meanwhile."""
    try:
        handle = os.open(found.name, _FILE, dir_fd=found.folder)
    except OSError as error:
        return SkippedItem(found.path, _why(error))
    try:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            return SkippedItem(found.path, SPECIAL)
        if before.st_size > limit:
            return SkippedItem(found.path, TOO_LARGE)
        blob = hashlib.sha1(b"blob %d\0" % before.st_size, usedforsecurity=False)
        size = 0
        with _Copy(into) as copy:
            # Up to what was there: a file that grows faster than it is read would never end.
            while size < before.st_size and (piece := os.read(handle, min(_PIECE, before.st_size - size))):
                blob.update(piece)
                copy.write(piece)
                size += len(piece)
        if size != before.st_size or _moment(os.fstat(handle)) != _moment(before):
            return None
        return CopiedFile(blob.hexdigest(), bool(before.st_mode & stat.S_IXUSR))
    except OSError:
        return SkippedItem(found.path, UNREADABLE)
    finally:
        os.close(handle)


def _why(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return REMOVED
    # O_NOFOLLOW reports this for a link that was put in its place.
    return LINK if error.errno == errno.ELOOP else UNREADABLE


def _moment(status: os.stat_result) -> tuple[int, ...]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


class _Copy:
    """Where the bytes of a file go: a new file, or nowhere. Its failures are faults of the disk."""

    def __init__(self, into: Path | None):
        self._into = into
        self._handle = -1

    def __enter__(self) -> _Copy:
        if self._into is not None:
            try:
                self._into.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._handle = os.open(self._into, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            except OSError as error:
                raise disk_fault(error, "stage a memory file") from error
        return self

    def write(self, piece: bytes) -> None:
        try:
            while piece and self._handle >= 0:
                piece = piece[os.write(self._handle, piece) :]
        except OSError as error:
            raise disk_fault(error, "stage a memory file") from error

    def __exit__(self, *_: object) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1


def read_small(path: Path, limit: int) -> bytes | None:
    """The bytes of a small regular file, not through a link; None if there is no such file or it is larger."""
    try:
        handle = os.open(path, _FILE)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        data = file.read(limit + 1)
    return data if len(data) <= limit else None
