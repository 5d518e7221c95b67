"""Bytes on their way from one place to another, hashed as they pass: a copy is what it should be, or it is refused."""

from __future__ import annotations

import io
import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from holdfast.core.cleanup import OnFailure
from holdfast.core.errors import SnapshotDamaged

_CHUNK = 1 << 20


class _VerifiedStream(io.RawIOBase):
    """A stream that refuses to end unless it was exactly the bytes that were promised."""

    def __init__(self, source: BinaryIO, name: str, size: int, digest: str):
        self._source, self._name = source, name
        self._left, self._digest = size, digest
        self._hash = sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._source.read(len(buffer))
        self._left -= len(data)
        self._hash.update(data)
        if self._left < 0 or (not data and (self._left or self._hash.hexdigest() != self._digest)):
            raise SnapshotDamaged(f"{self._name}: content differs from the manifest")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._source.close()
        super().close()


def checked(source: BinaryIO, name: str, size: int, digest: str) -> BinaryIO:
    """The same stream, which raises in place of its end if size or hash differ from those given.

    A receiver that stores it whole or not at all therefore stores nothing else.
    """
    return io.BufferedReader(_VerifiedStream(source, name, size, digest), _CHUNK)


def copy_new(source: BinaryIO, target: Path) -> None:
    """Copy a stream to its end into a new file, synced; nothing of it is left if that fails."""
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with OnFailure(target.unlink, missing_ok=True), os.fdopen(handle, "wb", buffering=0) as file:
        while data := source.read(_CHUNK):
            _write_all(file, data)
        os.fsync(file.fileno())


def _write_all(file: io.FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]


def open_file(path: Path) -> BinaryIO:
    """A regular file to be read, never what a link points to.

    Raises:
        SnapshotDamaged: it is something else.
    """
    # Not blocking: a pipe of that name would otherwise be waited for.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    file = os.fdopen(handle, "rb", buffering=0)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        file.close()
        raise SnapshotDamaged(f"{path.name} is not a file")
    return file
