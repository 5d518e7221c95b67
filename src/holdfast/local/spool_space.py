"""Room for the spool when the disk of the data folder is full: a reserve beside it, and folders on other disks.

The reserve is a file whose blocks are allocated while there is space. A hook that finds the disk full cuts off as
much as one request needs, so that a process that fills the disk cannot take all of it at once. The last part of it
stays for counting what is lost.

Folders on other disks are in places that every process of the user knows, whatever its environment is. They are used
only if they belong to the user alone: what lies in them is taken into the memory.

Standard library only, like the spool.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import suppress

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
FULL_BYTES = 1_000_000  # no server starts with less free space
LOW_SPACE = 200_000_000  # below this it is told
RESERVE = "reserve"
RESERVE_BYTES = 4_000_000
SHARE = 8  # of a small disk it takes no more than an eighth of what is free
FOR_COUNTS = 65_536
AROUND = 16_384  # what a file takes beside its bytes: the rest of its last block, and a block of its folder
# What survives a restart of the machine first; the last two are memory, and have room when every disk is full.
OTHER_PLACES = ("/var/tmp", "/tmp", "/run/user/{uid}", "/dev/shm")  # noqa: S108 - only folders that are the user's alone


def make_reserve(spool: str) -> None:
    """Make the reserve, or make it larger again, if the disk has space.

    Raises:
        OSError: the spool cannot be written.
    """
    path, have = os.path.join(spool, RESERVE), 0
    with suppress(FileNotFoundError):
        have = os.stat(path, follow_symlinks=False).st_size
    disk = os.statvfs(spool)
    wanted = min(RESERVE_BYTES, (have + disk.f_bavail * disk.f_frsize) // SHARE)
    if wanted - have < FOR_COUNTS:
        return
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, wanted)
        else:
            os.pwrite(handle, bytes(wanted - have), have)
    finally:
        os.close(handle)


def give_up(spool: str, size: int, floor: int = 0) -> bool:
    """Cut so many bytes off the reserve for a file of that size; False if less than `floor` would be left."""
    try:
        handle = os.open(os.path.join(spool, RESERVE), os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        left = os.fstat(handle).st_size - size - AROUND
        if left < floor:
            return False
        os.ftruncate(handle, left)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def make_private(folder: str) -> None:
    """Make the folder and those above it that are missing, for their owner alone.

    Raises:
        OSError: it cannot be made.
    """
    if os.path.isdir(folder):
        return
    make_private(os.path.dirname(folder))
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)


def free_bytes(folder: str) -> int | None:
    """The space that is left to this user on the folder's disk; None if that is not known."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return None
    return disk.f_bavail * disk.f_frsize


def spools_on_other_disks(folder: str, *, make: bool = False) -> Iterator[str]:
    """The spools of a data folder on other disks: those that are there or, with `make`, those that can be made."""
    from hashlib import sha256

    key = sha256(os.path.realpath(folder).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    for place in OTHER_PLACES:
        base = place.format(uid=os.geteuid())
        own = os.path.join(base, f"holdfast-{os.geteuid()}")
        spool = os.path.join(own, key)
        if _is_fit(base) and all(_is_own(one, make) for one in (own, spool)):
            yield spool


def _is_fit(base: str) -> bool:
    """Whether no other user can put a folder in the place of ours."""
    try:
        found = os.lstat(base)
    except OSError:
        return False
    open_to_all = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
    return stat.S_ISDIR(found.st_mode) and found.st_uid in (0, os.geteuid()) and not open_to_all


def _is_own(folder: str, make: bool) -> bool:
    try:
        if make:
            with suppress(FileExistsError):
                os.mkdir(folder, 0o700)
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
