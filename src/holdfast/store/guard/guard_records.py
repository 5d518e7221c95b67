"""Values of the history of guarded files."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GuardedPlace:
    """A folder whose files are guarded, all of them or those below some patterns."""

    id: int
    name: str
    root: str  # absolute; one below the user's home begins with ~/, so that it holds on another machine
    only: tuple[str, ...]  # patterns of relative paths; none: everything
    redact: bool
    active: bool  # whether it is watched here; one that came with a restored memory is not
    added_at: int


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What a file system tells of a file without reading it: it changes with every write."""

    size: int
    mtime: int  # nanoseconds, like the next
    ctime: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStamp:
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


@dataclass(frozen=True, slots=True)
class FileVersion:
    """What a file was at one moment, or that it was removed."""

    id: int
    taken_at: int
    gone: bool
    size: int
    sha256: bytes  # of the bytes that are kept
    mode: int
    mtime: int  # nanoseconds
    redacted: int  # secrets that were taken out of it
    original: bytes  # a keyed hash of the bytes as they were, where that key is

    @property
    def key(self) -> tuple[int, bool, bytes]:
        """The same for the same version of a file in every copy of the history."""
        return self.taken_at, self.gone, self.sha256


@dataclass(frozen=True, slots=True)
class GuardedFile:
    """A file of a place, and its newest version."""

    id: int
    place: int
    path: bytes  # below the root of the place, with / between its parts
    stamp: FileStamp | None  # as it was when it was taken or left out last; None: to be looked at
    left: str  # why its present content was not taken; "": it was
    newest: FileVersion | None

    @property
    def name(self) -> str:
        return os.fsdecode(self.path)


@dataclass(frozen=True, slots=True)
class PlaceTotals:
    """How much of a place is kept."""

    files: int = 0  # that exist, as far as is known
    gone: int = 0  # that were removed and can be brought back
    left: int = 0  # that are not taken
    versions: int = 0
    bytes: int = 0  # as they are stored
    taken_at: int | None = None  # when something was taken last


@dataclass(frozen=True, slots=True)
class NewVersion:
    """What is to be kept of a file; its bytes are in a file of the caller's."""

    taken_at: int
    mode: int
    mtime: int
    redacted: int
    original: bytes
