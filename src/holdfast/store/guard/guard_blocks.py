"""The bytes of guarded files: cut by content into chunks, of which new ones are compressed together in blocks.

A transcript grows at its end, so a new version costs its last chunks. A version is a list of runs of chunk numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

import apsw
import zstandard

from holdfast.core.errors import DataDamaged

ID = 24  # bytes of a hash: finding two chunks of one id takes 2^96 tries
BLOCK = 256 * 1024  # plain bytes after which a block is closed
MOST_CHUNK = 64 * 1024
MOST_BLOCK = BLOCK + MOST_CHUNK
LEVEL = 3
_RUN = struct.Struct("<II")


def chunk_id(data: bytes | memoryview) -> bytes:
    return sha256(data).digest()[:ID]


def pack_runs(numbers: Iterable[int]) -> bytes:
    """The numbers as runs of first and count."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][0] + runs[-1][1] == number:
            runs[-1][1] += 1
        else:
            runs.append([number, 1])
    return b"".join(_RUN.pack(first, count) for first, count in runs)


def unpack_runs(data: bytes) -> Iterator[int]:
    """The numbers that were packed.

    Raises:
        DataDamaged: they were not.
    """
    if len(data) % _RUN.size:
        raise DataDamaged("guard: the list of a file's chunks is damaged")
    for first, count in _RUN.iter_unpack(data):
        yield from range(first, first + count)


class BlockWriter:
    """Stores the chunks that are not stored yet, for a place. Call it in a transaction, and `flush` before its end."""

    def __init__(self, db: apsw.Connection, place: int):
        self._db = db
        self._place = place
        self._compressor = zstandard.ZstdCompressor(level=LEVEL)
        self._waiting: dict[bytes, tuple[int, bytes]] = {}
        self._size = 0
        self._next = self._db.execute("SELECT coalesce(max(id), 0) + 1 FROM chunks").get
        self.stored = 0  # bytes of blocks that were written

    def add(self, data: memoryview) -> int:
        """The number of the chunk."""
        id = chunk_id(data)
        if id in self._waiting:
            return self._waiting[id][0]
        known = self._db.execute("SELECT id FROM chunks WHERE hash = ?", (id,)).get
        if known is not None:
            return int(known)
        number, self._next = self._next, self._next + 1
        self._waiting[id] = (number, bytes(data))
        self._size += len(data)
        if self._size >= BLOCK:
            self.flush()
        return int(number)

    def flush(self) -> None:
        """Write what waits."""
        if not self._waiting:
            return
        data = self._compressor.compress(b"".join(chunk for _, chunk in self._waiting.values()))
        self._db.execute("INSERT INTO blocks (place, size, data) VALUES (?, ?, ?)", (self._place, len(data), data))
        block, start = self._db.last_insert_rowid(), 0
        for id, (number, chunk) in self._waiting.items():
            self._db.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?)", (number, id, block, start, len(chunk)))
            start += len(chunk)
        self.stored += len(data)
        self._waiting, self._size = {}, 0


class BlockReader:
    """Reads chunks; the last block stays decompressed, as the chunks of a file mostly lie in a row."""

    def __init__(self, db: apsw.Connection):
        self._db = db
        self._block = -1
        self._plain = b""

    def chunk(self, number: int) -> bytes:
        """The bytes of a chunk.

        Raises:
            DataDamaged: it is missing, or not what it was.
        """
        row: Any = self._db.execute("SELECT hash, block, start, size FROM chunks WHERE id = ?", (number,)).fetchone()
        if row is None or not all(isinstance(one, int) for one in row[1:]):
            raise DataDamaged("guard: a part of a file is missing from its history")
        id, block, start, size = row
        if block != self._block:
            self._plain, self._block = self.plain(block), block
        data = self._plain[start : start + size]
        if chunk_id(data) != id:
            raise DataDamaged("guard: a part of a file is damaged in its history")
        return data

    def plain(self, block: int) -> bytes:
        """A whole block. Faults as of `chunk`."""
        data: Any = self._db.execute("SELECT data FROM blocks WHERE id = ?", (block,)).get
        try:
            if not isinstance(data, bytes) or not 0 <= zstandard.frame_content_size(data) <= MOST_BLOCK:
                raise DataDamaged("guard: a block of the history is missing or too large")
            return zstandard.ZstdDecompressor().decompress(data, max_output_size=MOST_BLOCK, allow_extra_data=False)
        except zstandard.ZstdError as error:
            raise DataDamaged("guard: a block of the history is damaged") from error


def pack_sparse(db: apsw.Connection) -> None:
    """Compress anew the blocks of which less than half is needed any more. Call it within a transaction."""
    reader = BlockReader(db)
    rows: Any = db.execute("SELECT block, sum(size), max(start + size) FROM chunks GROUP BY block").fetchall()
    for block, needed, end in rows:
        if needed < end // 2:
            _pack_again(db, reader, block)


def _pack_again(db: apsw.Connection, reader: BlockReader, block: int) -> None:
    plain, kept, start = reader.plain(block), [], 0
    sql = "SELECT id, start, size FROM chunks WHERE block = ? ORDER BY start"
    chunks: Any = db.execute(sql, (block,)).fetchall()
    for number, before, size in chunks:
        kept.append(plain[before : before + size])
        db.execute("UPDATE chunks SET start = ? WHERE id = ?", (start, number))
        start += size
    data = zstandard.ZstdCompressor(level=LEVEL).compress(b"".join(kept))
    db.execute("UPDATE blocks SET size = ?, data = ? WHERE id = ?", (len(data), data, block))
