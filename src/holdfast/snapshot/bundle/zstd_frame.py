"""The zstd frame of a bundle: exactly one, walked block by block before the decoder sees it.

The decoder itself goes on silently with a second frame, skips skippable ones, and takes a frame that breaks off for
the end. So every byte passes here first: one frame header, blocks up to the last one, the checksum, and nothing more.

    magic 4 · header 2..14 · blocks (3 bytes: last 1 bit, type 2 bits, size 21 bits; then the content) · checksum 4
"""

from __future__ import annotations

from typing import Protocol

import zstandard

from holdfast.snapshot.bundle.canonical import Malformed

MOST_WINDOW = 8 * 1024 * 1024
_MOST_HEADER = 18
_CHECKSUM = 4
_RLE, _RESERVED = 1, 3


class ByteSource(Protocol):
    def read(self, size: int, /) -> bytes:
        """At most that many bytes; none at the end only."""
        ...


class SingleFrame:
    """Hands on what it reads, as long as it is one frame."""

    def __init__(self, source: ByteSource):
        self._source = source
        self._opened = False
        self._rest = b""  # of a block header that is cut by the end of a read
        self._skip = 0  # bytes up to the next block header
        self._last = False  # the last block has begun; only its content and the checksum may follow
        self._ended = False

    def read(self, size: int = -1) -> bytes:
        """The next bytes of the frame.

        Raises:
            Malformed: it is not one whole frame, or needs too much memory.
        """
        data = self._source.read(size) if self._opened else self._open(size)
        if not data:
            self._check_end()
        else:
            self._walk(data)
        return data

    def _open(self, size: int) -> bytes:
        start = b""
        while len(start) < _MOST_HEADER and (data := self._source.read(max(size, _MOST_HEADER))):
            start += data
        self._opened = True
        self._skip = _header_size(start)
        return start

    def _walk(self, data: bytes) -> None:
        at = self._skip
        if self._rest:
            # The rest of a cut header comes first; it is put before the new bytes only for reading it.
            cut = len(self._rest)
            head = self._rest + data[: 3 - cut]
            if len(head) < 3:
                self._rest = head
                return
            self._rest = b""
            at = 3 - cut + self._block(head, 0)
        while not self._last and at + 3 <= len(data):
            at += 3 + self._block(data, at)
        if not self._last and at < len(data):
            self._rest = data[at:]
            at = len(data)
        self._skip = at - len(data)
        if self._skip < 0:
            raise Malformed("bytes follow the compressed frame")
        self._ended = self._last and self._skip == 0

    def _block(self, data: bytes, at: int) -> int:
        """How many bytes follow the block header at that place."""
        word = int.from_bytes(data[at : at + 3], "little")
        kind, size = word >> 1 & 3, word >> 3
        if kind == _RESERVED:
            raise Malformed("a compressed block has an unknown type")
        self._last = bool(word & 1)
        return (1 if kind == _RLE else size) + (_CHECKSUM if self._last else 0)

    def _check_end(self) -> None:
        if not self._ended:
            raise Malformed("the compressed frame is truncated")


def _header_size(start: bytes) -> int:
    try:
        frame = zstandard.get_frame_parameters(start[:_MOST_HEADER])
        size = zstandard.frame_header_size(start[:_MOST_HEADER])
    except zstandard.ZstdError as error:
        raise Malformed("not a zstd frame") from error
    if start[:4] != zstandard.FRAME_HEADER:
        raise Malformed("not a zstd frame")
    if frame.window_size > MOST_WINDOW:
        raise Malformed("the compressed frame requires too much memory")
    if frame.dict_id or not frame.has_checksum:
        raise Malformed("the compressed frame has no checksum, or requires a dictionary")
    return size
