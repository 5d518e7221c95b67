"""Where the tar of a snapshot is cut into chunks, so that what did not change gives the same chunks again.

A database is cut every 1,024 bytes: its pages never move, a change stays where it is, and a quarter of a page is
what an edited row usually touches. With 1 % of the rows edited all over a store, 3.5 % of the compressed bytes were new
in such quarters, 8 % in whole pages, and 5.2 % in chunks of the same mean size that were cut by content.
Everything else may move, so it is cut by content: where eight bytes, multiplied, come out large enough.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from hashlib import sha256
from typing import Protocol

import numpy as np

from holdfast.snapshot.bundle import tar_header

STRETCH = 4096  # what is looked up at once in a database; a page of ours
QUARTER = STRETCH // 4
LEAST, MOST = 1024, 16 * 1024  # of a chunk cut by content, but for the last
_RARITY = 3 * 1024  # one place in so many is a cut: 4 kB on average with the least size before it
_WINDOW = 8
_READ = 1 << 20
_DATABASE = b"SQLite format 3\0"
_LIMIT = np.uint64(2**64 - 2**64 // _RARITY)

Cut = tuple[memoryview, int]
"""Bytes in a row, which last until the next are taken, and the size of the chunks that they are cut into."""


class ByteReader(Protocol):
    """The tar as it is read."""

    def some(self, size: int) -> memoryview:
        """At least one byte and at most that many; none at the end only."""
        ...

    def exactly(self, size: int) -> bytes:
        """So many bytes.

        Raises:
            Malformed: there are fewer.
        """
        ...


def cut_tar(plain: ByteReader, key: bytes = b"") -> Iterator[Cut]:
    """The whole tar in pieces. With a key, the cuts are secret to those without it.

    Raises:
        Malformed: it is no tar as packing writes it.
    """
    by_content = ContentChunker(key)
    while (block := plain.exactly(tar_header.BLOCK)) != bytes(tar_header.BLOCK):
        _, size = tar_header.read_header(block)
        start = plain.exactly(min(size, STRETCH))
        by_content.add(block)
        if start.startswith(_DATABASE):
            yield from by_content.rest()
            yield from _quarters(plain, start, size)
        else:
            by_content.add(start)
            yield from _member(plain, size - len(start), by_content)
        by_content.add(plain.exactly(tar_header.padding(size)))
    by_content.add(block)
    while piece := plain.some(_READ):
        by_content.add(piece)
    yield from by_content.rest()


def _quarters(plain: ByteReader, start: bytes, size: int) -> Iterator[Cut]:
    """Many stretches at a time, as they are read: one by one, the calls would cost more than the work."""
    yield memoryview(start), QUARTER
    rest = size - len(start)
    while rest:
        piece = plain.some(min(rest, _READ))
        if not piece:
            plain.exactly(1)  # reports that the tar archive is truncated
        if len(piece) < rest and (over := len(piece) % STRETCH):
            piece = memoryview(bytes(piece) + plain.exactly(min(rest - len(piece), STRETCH - over)))
        rest -= len(piece)
        yield piece, QUARTER


def _member(plain: ByteReader, rest: int, by_content: ContentChunker) -> Iterator[Cut]:
    while rest:
        piece = plain.some(min(rest, _READ))
        if not piece:
            plain.exactly(1)  # reports that the tar archive is truncated
        rest -= len(piece)
        by_content.add(piece)
        yield from by_content.whole()


class ContentChunker:
    """Bytes to be cut into chunks; where one is cut depends on nothing but the bytes since the cut before."""

    def __init__(self, key: bytes = b""):
        # Any odd number spreads the bytes; a secret one keeps the cuts secret.
        self._factor = np.uint64(int.from_bytes(sha256(b"cut" + key).digest()[:8], "little") | 1)
        self._waiting = bytearray()

    def add(self, data: bytes | memoryview) -> None:
        self._waiting += data

    def whole(self) -> Iterator[Cut]:
        """The chunks that no further byte can change, once there are many."""
        if len(self._waiting) >= _READ:
            yield from self._taken(final=False)

    def rest(self) -> Iterator[Cut]:
        """All that is left."""
        yield from self._taken(final=True)

    def _taken(self, *, final: bool) -> Iterator[Cut]:
        data = bytes(self._waiting)
        self._waiting.clear()
        places, start = self._places(data), 0
        while start < len(data):
            end = _end(places, start, len(data))
            if not final and len(data) - start < MOST:
                self._waiting += data[start:]
                return
            yield memoryview(data)[start:end], end - start
            start = end

    def _places(self, data: bytes) -> list[int]:
        """Where a chunk may end, in order: after eight bytes whose product is among the largest.

        Zeros give zero, which is no cut, so long empty stretches give chunks of the largest size.
        """
        found = []
        for shift in range(min(_WINDOW, max(len(data) - _WINDOW + 1, 0))):
            words = np.frombuffer(data, "<u8", count=(len(data) - shift) // _WINDOW, offset=shift)
            found.append(np.flatnonzero(words * self._factor > _LIMIT) * _WINDOW + shift + _WINDOW)
        return np.sort(np.concatenate(found)).tolist() if found else []


def _end(places: list[int], start: int, size: int) -> int:
    at = bisect_left(places, start + LEAST)
    most = min(start + MOST, size)
    return places[at] if at < len(places) and places[at] < most else most
