"""The stream of one member: hashed and written to its file; large ones in a thread of their own."""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable

from holdfast.snapshot.bundle.extract import MemberFile

_LARGE = 4 * 1024 * 1024  # below, starting a thread costs more than it saves
WAITING = 4  # pieces of a megabyte each


def _as_it_is() -> None:
    """Leaves the thread as it is."""


def member_writer(sink: MemberFile | None, size: int, begin: Callable[[], None] = _as_it_is) -> MemberWriter:
    """The way of a member of that size; `begin` is called first in a thread that is started for it."""
    return ThreadedMemberWriter(sink, begin) if size >= _LARGE else MemberWriter(sink)


class MemberWriter:
    """Hashes and writes at once."""

    def __init__(self, sink: MemberFile | None):
        self._sink = sink
        self._digest = hashlib.sha256()

    def __enter__(self) -> MemberWriter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._sink:
            self._sink.close()

    def write(self, data: memoryview) -> None:
        self._digest.update(data)
        if self._sink:
            self._sink.write(data)

    def finish(self) -> str:
        """Make the file durable and return the SHA-256."""
        if self._sink:
            self._sink.sync()
        return self._digest.hexdigest()


class ThreadedMemberWriter(MemberWriter):
    """Hashes and writes in a thread, while the next piece is decompressed or the last one packed: all of this releases
    the interpreter. At most so many pieces wait, and one is at work."""

    def __init__(self, sink: MemberFile | None, begin: Callable[[], None]):
        super().__init__(sink)
        self._begin = begin
        self._pieces: queue.Queue[memoryview | None] = queue.Queue(WAITING)
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._work, name="holdfast-unpack", daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._end()
        super().__exit__()

    def write(self, data: memoryview) -> None:
        if self._error:
            raise self._error
        self._pieces.put(data)

    def finish(self) -> str:
        self._end()
        if self._error:
            raise self._error
        return super().finish()

    def _end(self) -> None:
        if self._thread.is_alive():
            self._pieces.put(None)
            self._thread.join()

    def _work(self) -> None:
        self._begin()
        while (data := self._pieces.get()) is not None:
            if self._error:
                continue  # the producer must not wait for ever
            try:
                super().write(data)
            except OSError as error:
                self._error = error
