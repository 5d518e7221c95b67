"""The stream of one member: hashed and written to its file; large ones in a thread of their own.

Without the thread reading a bundle takes 1.5 times as long (`bench/mechanisms.py`).
"""

from __future__ import annotations

import hashlib
import queue
import threading

from holdfast.snapshot.bundle.extract import MemberFile

_LARGE = 4 * 1024 * 1024  # below, starting a thread costs more than it saves
_WAITING = 4  # pieces of a megabyte each


def member_writer(sink: MemberFile | None, size: int) -> MemberWriter:
    """The way of a member of that size."""
    return ThreadedMemberWriter(sink) if size >= _LARGE else MemberWriter(sink)


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
    """Hashes and writes in a thread, while the next piece is decompressed: all of this releases the interpreter."""

    def __init__(self, sink: MemberFile | None):
        super().__init__(sink)
        self._pieces: queue.Queue[memoryview | None] = queue.Queue(_WAITING)
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
        while (data := self._pieces.get()) is not None:
            if self._error:
                continue  # the producer must not wait for ever
            try:
                super().write(data)
            except OSError as error:
                self._error = error
