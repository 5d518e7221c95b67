"""Files that last: written whole, synced, named without overwriting, and owned by the process that holds their lock.

The kernel frees a lock when its process dies, so a file that no process locks has no owner.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.core.errors import Fault, InvalidRequest, StorageFailed, StorageFull

FULL = {errno.ENOSPC, errno.EDQUOT}
# What file systems without hard links answer: FAT, exFAT, some network and FUSE ones.
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}

_NOT_ALLOWED = "This user may not write there: change the owner or the permissions."
# Nothing is wrong with the disk: the message names what is needed instead.
_CLOSED = {
    errno.EROFS: "The file system is mounted read-only: mount it for writing.",
    errno.EACCES: _NOT_ALLOWED,
    errno.EPERM: _NOT_ALLOWED,
}


def disk_fault(error: OSError, doing: str) -> Fault:
    """The fault for a failed file operation."""
    if error.errno in FULL:
        return StorageFull(f"{doing}: the disk is full")
    hint = _CLOSED.get(error.errno or 0)
    return StorageFailed(f"{doing}: {error.strerror or type(error).__name__}", hint=hint)


@contextmanager
def disk_faults(doing: str) -> Iterator[None]:
    """Failed file operations of the block as faults."""
    try:
        yield
    except OSError as error:
        raise disk_fault(error, doing) from error


def user_path(text: str | Path, name: str, fault: type[Fault] = InvalidRequest) -> Path:
    """The path that a user gave, with ~ and ~user replaced by that home folder.

    Raises:
        InvalidRequest, or the fault of the caller: `name` begins with ~ and a user that this machine does not know.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        message = f"{name}: unknown user after ~"
        raise fault(message, hint="Use a path that begins with /.") from None


def sync_folder(folder: Path) -> None:
    """Make renames and new names in the folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Make the folder and those above it, durable, for the owner only; one that exists stays as it is."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(new):
        path.mkdir(mode=0o700, exist_ok=True)
        sync_folder(path.parent)


def write_new(path: Path, data: bytes) -> None:
    """A new file with these bytes, synced; its name is durable once the folder is synced too."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_durably(path: Path, data: bytes) -> None:
    """Replace a file so that after a crash it holds the old bytes or the new ones, nothing else."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    write_new(temporary, data)
    temporary.replace(path)
    sync_folder(path.parent)


def write_durably(path: Path, data: bytes) -> None:
    """The same, with faults.

    Raises:
        StorageFull, StorageFailed: it holds the old bytes.
    """
    with disk_faults(f"write {path.name}"):
        replace_durably(path, data)


def publish(temporary: Path, path: Path) -> None:
    """Give a finished file its name, which must be free. The caller syncs the folder.

    Raises:
        FileExistsError: something of that name is there; it stays as it was.
    """
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _rename_new(temporary, path)
    else:
        temporary.unlink()


def _rename_new(temporary: Path, path: Path) -> None:
    """Without hard links a rename would overwrite: look first, one at a time for the folder."""
    handle = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        temporary.rename(path)
    finally:
        os.close(handle)


def claim(handle: int, *, shared: bool = False) -> bool:
    """Take the lock of an open file or folder if it is free."""
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """No other process is inside such a block for this folder; they wait for each other."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        release(handle)


def release(handle: int) -> None:
    """Give the lock back and close: a child that was started meanwhile may share the handle."""
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)
