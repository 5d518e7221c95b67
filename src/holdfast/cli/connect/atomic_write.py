"""Write config files so that a crash, a full disk or a second program leaves the old file or the new one."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from holdfast.cli.connect.config_plan import FileChange, read
from holdfast.cli.connect.environment import SERVER_NAME
from holdfast.core.errors import Conflict, InvalidRequest, StorageFull

# Configs hold tokens of other programs: a new file and every backup is the owner's alone.
PRIVATE = 0o600


def write_all(changes: Sequence[FileChange]) -> None:
    """Make all changes or none: when one fails, those before it are put back.

    Raises:
        Conflict: a file changed since it was read.
        InvalidRequest: a file or folder cannot be written.
        StorageFull: the disk has no room.
    """
    for change in changes:
        if read(change.path) != change.before:
            raise Conflict(f"{change.path} was changed by another program", hint="Run the command again.")
    done: list[FileChange] = []
    try:
        for change in changes:
            put(change.path, change.after)
            done.append(change)
    except BaseException:
        for change in reversed(done):
            put(change.path, change.before)
        raise


def put(path: Path, text: str | None) -> None:
    """Write the text to the file, or delete it for None; a link stays and its target is written."""
    with naming(path):
        target = Path(os.path.realpath(path))
        if text is None:
            target.unlink(missing_ok=True)
            if target.parent.name.startswith(SERVER_NAME):  # a folder that connect made for this file
                with contextlib.suppress(OSError):
                    target.parent.rmdir()
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, text.encode("utf-8"), target.stat() if target.exists() else None)


def backup(path: Path, text: str) -> Path:
    """A copy beside the file, under the next free number; no earlier copy is ever overwritten."""
    with naming(path):
        for number in itertools.count(1):
            copy = path.with_name(f"{path.name}.holdfast-{number}.bak")
            try:
                descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
            except FileExistsError:
                continue
            _fill(descriptor, text.encode("utf-8"))
            return copy
    raise AssertionError("unreachable: the numbers do not end")


def _replace(target: Path, data: bytes, known: os.stat_result | None) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".holdfast")
    try:
        _fill(descriptor, data)
        if known is not None:
            os.chmod(name, stat.S_IMODE(known.st_mode))
            if hasattr(os, "chown") and known.st_uid != os.geteuid():
                os.chown(name, known.st_uid, known.st_gid)  # under sudo the file stays the user's
        os.replace(name, target)  # commit: before this line the old file stands
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def _fill(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn the operating system's refusal into a fault that names the file."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StorageFull(f"connect cannot write {path}: the disk is full") from error
        raise InvalidRequest(
            f"connect cannot write {path}: {error.strerror}",
            hint="Make the file and its folder writable for you, then run connect again.",
        ) from error
