"""Streams that watch what passes through them: for counting, limits and progress."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import BinaryIO, cast

_PIECE = 1 << 20


class _CountedStream(io.RawIOBase):
    def __init__(self, source: BinaryIO, passed: Callable[[int], None]):
        self._source, self._passed = source, passed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._source.read(len(buffer))
        if data:
            self._passed(len(data))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._source.close()
        super().close()


def counted_stream(source: BinaryIO, passed: Callable[[int], None]) -> BinaryIO:
    """The same stream; `passed` is called with the size of each piece, and may raise."""
    return io.BufferedReader(_CountedStream(source, passed), _PIECE)


class _PieceStream(io.RawIOBase):
    """Pieces of any size as a stream."""

    def __init__(self, pieces: Iterator[memoryview]):
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = piece
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def stream_of(pieces: Iterator[memoryview]) -> BinaryIO:
    """A stream of the pieces; what is not read is not fetched."""
    return io.BufferedReader(_PieceStream(pieces), _PIECE)


def pieces_of(data: BinaryIO, size: int) -> Iterator[bytes]:
    """The stream in pieces of exactly this size, but for the last."""
    while piece := read_whole(data, size):
        yield piece


def read_whole(data: BinaryIO, size: int) -> bytes:
    """So many bytes, fewer only at the end: networks give what they have."""
    found = bytearray()
    while len(found) < size and (piece := data.read(size - len(found))):
        found += piece
    return bytes(found)


def start_of(data: BinaryIO) -> int | None:
    """Where the stream stands if it can be brought back there."""
    seekable = getattr(data, "seekable", None)
    return data.tell() if seekable is not None and seekable() else None


class UnclosableStream(io.RawIOBase):
    """A stream that its receiver cannot close: it may have to be read once more."""

    def __init__(self, source: BinaryIO):
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._source.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def unclosed(source: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, UnclosableStream(source))
