"""A pack: many chunks in one object of a vault, and its directory.

    "holdfast pack 1\\n" 16 · size of the directory 4 · directory · block · block · …

A block is some 256 kB of chunks in one zstd frame, in an encrypted pack inside age. The directory, packed and sealed in
the same way, is

    number of blocks 4 · number of chunks 4 · key 32 · size of each block as stored 4 · number of chunks in each block 4
    · size of each chunk 4 · id of each chunk 24                                       numbers are little-endian

The directory stands first, so that what a pack holds can be known without fetching the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO

import numpy as np
import zstandard
from numpy.typing import NDArray

from holdfast.snapshot.bundle.canonical import Malformed

MAGIC = b"holdfast pack 1\n"
ID = 24  # bytes: finding two chunks of one id takes 2^96 tries
KEY = 32
NO_KEY = bytes(KEY)
BLOCK = 256 * 1024  # plain bytes after which a block is closed
MOST_CHUNK = 64 * 1024
MOST_BLOCK = BLOCK + MOST_CHUNK
# A pack stays below what object storage takes in one request (32 MB), whatever its chunks compress to.
PACK = 24 << 20
MOST_CHUNKS = 1 << 20
MOST_HEAD = 64 << 20
LEVEL = 3  # 7 makes packs of a whole store 2 % smaller and takes more than twice the time
_SIZE = struct.Struct("<I")
_COUNTS = struct.Struct("<II")

Seal = Callable[[bytes], bytes]
Numbers = NDArray[np.uint32]


def id_of(data: bytes | memoryview, key: bytes = b"") -> bytes:
    """The id of a chunk: its SHA-256, with a key the SHA-256 of the key and that; the first 24 bytes."""
    digest = sha256(data).digest()
    return (sha256(key + digest).digest() if key else digest)[:ID]


def ids_of(data: memoryview, size: int, key: bytes = b"") -> bytes:
    """The ids of pieces of that size in a row, one after the other."""
    made = [sha256(data[at : at + size]).digest() for at in range(0, len(data), size)]
    return b"".join([(sha256(key + one).digest() if key else one)[:ID] for one in made])


@dataclass(frozen=True, slots=True)
class PackDirectory:
    """What a pack holds, in its order."""

    key: bytes  # that the ids were made with; empty in a plain pack
    blocks: Numbers  # size of each as stored
    counts: Numbers  # of chunks in each
    sizes: Numbers  # of each chunk
    ids: bytes

    @property
    def size(self) -> int:
        """Plain bytes of all chunks."""
        return int(self.sizes.sum(dtype=np.uint64))

    def each_id(self) -> list[bytes]:
        return [self.ids[at : at + ID] for at in range(0, len(self.ids), ID)]


@dataclass(frozen=True, slots=True)
class PackEntry:
    """A pack as a snapshot names it: enough to check that the bytes are the right ones."""

    name: str
    size: int
    sha256: str
    head: int  # bytes up to the first block
    head_sha256: str


@dataclass(frozen=True, slots=True)
class SealedPack:
    """A pack that is ready to be put."""

    entry: PackEntry
    directory: PackDirectory
    data: bytes


def seal_pack(
    name: str, blocks: Sequence[Sequence[bytes | memoryview]], ids: bytes, key: bytes, seal: Seal
) -> SealedPack:
    """The bytes of a pack with these chunks."""
    compressor = zstandard.ZstdCompressor(level=LEVEL)
    stored = [seal(compressor.compress(b"".join(block))) for block in blocks]
    directory = PackDirectory(
        key=key,
        blocks=_numbers([len(one) for one in stored]),
        counts=_numbers([len(block) for block in blocks]),
        sizes=_numbers([len(chunk) for block in blocks for chunk in block]),
        ids=ids,
    )
    listed = seal(compressor.compress(directory_bytes(directory)))
    head = MAGIC + _SIZE.pack(len(listed)) + listed
    data = b"".join((head, *stored))
    entry = PackEntry(name, len(data), sha256(data).hexdigest(), len(head), sha256(head).hexdigest())
    return SealedPack(entry, directory, data)


def _numbers(values: Sequence[int]) -> Numbers:
    return np.array(values, dtype="<u4")


def directory_bytes(directory: PackDirectory) -> bytes:
    counts = _COUNTS.pack(len(directory.blocks), len(directory.sizes))
    columns = (directory.blocks, directory.counts, directory.sizes)
    return b"".join((counts, directory.key or NO_KEY, *(one.astype("<u4").tobytes() for one in columns), directory.ids))


def read_directory(data: bytes) -> PackDirectory:
    """The directory that these bytes are.

    Raises:
        Malformed: they are none.
    """
    if len(data) < _COUNTS.size + KEY:
        raise Malformed("the directory of a pack is truncated")
    blocks, chunks = _COUNTS.unpack_from(data)
    if not 0 < blocks <= chunks <= MOST_CHUNKS or len(data) != _COUNTS.size + KEY + 8 * blocks + (4 + ID) * chunks:
        raise Malformed("the directory of a pack has the wrong size")
    key = data[_COUNTS.size : _COUNTS.size + KEY]
    numbers = np.frombuffer(data, "<u4", count=2 * blocks + chunks, offset=_COUNTS.size + KEY)
    found = PackDirectory(
        key=b"" if key == NO_KEY else key,
        blocks=numbers[:blocks],
        counts=numbers[blocks : 2 * blocks],
        sizes=numbers[2 * blocks :],
        ids=data[len(data) - ID * chunks :],
    )
    _check(found)
    return found


def _check(directory: PackDirectory) -> None:
    counts, sizes = directory.counts.astype(np.int64), directory.sizes.astype(np.int64)
    if counts.min() < 1 or counts.sum() != len(sizes) or sizes.min() < 1 or sizes.max() > MOST_CHUNK:
        raise Malformed("the directory of a pack is inconsistent")
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    if np.add.reduceat(sizes, starts).max() > MOST_BLOCK:
        raise Malformed("a block of a pack is too large")


def read_head(stream: BinaryIO, entry: PackEntry, unseal: Seal) -> PackDirectory:
    """The directory at the start of a pack, which must be the one that the snapshot names.

    Raises:
        Malformed: it is another one.
    """
    if entry.head > min(entry.size, MOST_HEAD):
        raise Malformed("the directory of a pack is too large")
    head = b""
    while len(head) < entry.head and (piece := stream.read(entry.head - len(head))):
        head += piece
    if len(head) != entry.head or sha256(head).hexdigest() != entry.head_sha256:
        raise Malformed("the directory of a pack was changed after sealing")
    if not head.startswith(MAGIC) or _SIZE.unpack_from(head, len(MAGIC))[0] != len(head) - len(MAGIC) - _SIZE.size:
        raise Malformed("a file is not a pack")
    directory = read_directory(decompressed(unseal(head[len(MAGIC) + _SIZE.size :]), MOST_HEAD))
    if entry.head + int(directory.blocks.sum(dtype=np.uint64)) != entry.size:
        raise Malformed("the size of a pack differs from its directory")
    return directory


def decompressed(data: bytes, most: int) -> bytes:
    """What one whole frame decompresses to.

    Raises:
        Malformed: it is no such frame, or becomes more than it may.
    """
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= most:
            raise Malformed("a compressed block has no size, or is too large")
        return zstandard.ZstdDecompressor().decompress(data, max_output_size=most, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise Malformed("a compressed block is damaged") from error
