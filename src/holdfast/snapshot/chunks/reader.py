"""The tar of a snapshot, gathered from its chunk index and the packs in the folder `packs` beside it.

Nothing in a vault is trusted: the chunk index's bytes are those of the manifest, each directory is the one that the
chunk index names, and every chunk has the id that its directory gives. A block is checked whole when it is first
needed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import disk_faults
from holdfast.core.errors import IdentityNeeded
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.hashed_copy import open_file
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.chunks.chunk_index import MOST_BYTES, read_packs, read_runs
from holdfast.snapshot.chunks.packfile import (
    ID,
    MOST_BLOCK,
    PackDirectory,
    PackEntry,
    Seal,
    decompressed,
    id_of,
    read_head,
)

PACKS = "packs"
# Packs are read side by side, each from its start to its end: so many blocks are enough for some 500 of them.
_MOST_CACHED = 128 << 20
_READ = 1 << 20


def as_stored(data: bytes) -> bytes:
    """What is not encrypted is stored as it is."""
    return data


def pack_path(bundle: Path, name: str) -> Path:
    """Where a pack lies beside the chunk index that names it."""
    return bundle.parent / PACKS / name


def packs_beside(chunk_index: Path) -> tuple[PackEntry, ...]:
    """The packs that a chunk index names, unverified: enough for a quick check, and for keeping those packs.

    Raises:
        Malformed: it is no chunk index.
        OSError: it cannot be read.
    """
    with open_file(chunk_index) as file:
        data = _exactly(file, 0, MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise Malformed("the chunk index is too large")
    return read_packs(data)


def read_chunk_index(bundle: Path, manifest: Manifest) -> bytes:
    """The chunk index of that manifest.

    Raises:
        Malformed: its bytes are not those of the manifest.
    """
    if manifest.bundle_size > MOST_BYTES:
        raise Malformed("the chunk index is too large")
    with disk_faults(f"read {bundle.name}"), open_file(bundle) as file:
        data = _exactly(file, 0, manifest.bundle_size + 1)
    if len(data) != manifest.bundle_size or sha256(data).hexdigest() != manifest.bundle_sha256:
        raise Malformed("the chunk index differs from the manifest")
    return data


def _exactly(file: BinaryIO, at: int, size: int) -> bytes:
    """So many bytes from that place on; fewer if there are no more."""
    file.seek(at)
    found = bytearray()
    while len(found) < size and (piece := file.read(size - len(found))):
        found += piece
    return bytes(found)


@dataclass
class _OpenPack:
    """A pack that is read: its file, its directory, and where its blocks and chunks begin."""

    file: BinaryIO
    entry: PackEntry
    directory: PackDirectory
    blocks: NDArray[np.int64] = field(init=False)  # where each is in the file, and the end
    chunks: NDArray[np.int64] = field(init=False)  # the first chunk of each block, and the end
    places: NDArray[np.int64] = field(init=False)  # where each chunk is among the plain bytes of all, and the end

    def __post_init__(self) -> None:
        self.blocks = self.entry.head + _sums(self.directory.blocks)
        self.chunks, self.places = _sums(self.directory.counts), _sums(self.directory.sizes)


def _sums(numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(numbers, dtype=np.int64)))


def _opened_as_before(unseal: Seal, data: bytes) -> bytes:
    """An identity that opened the chunk index opens its packs: if not, the packs are not its own."""
    try:
        return unseal(data)
    except IdentityNeeded as error:
        raise Malformed("the chunk index opens with an identity that does not open a pack") from error


class ChunkedTar:
    """The bytes of the tar, to be read once from start to end."""

    def __init__(self, bundle: Path, chunk_index: bytes, unseal: Seal = as_stored):
        self._bundle, self._unseal = bundle, partial(_opened_as_before, unseal)
        self.packs = read_packs(chunk_index)
        self._runs = read_runs(chunk_index, len(self.packs), unseal)
        self._open: dict[int, _OpenPack] = {}
        self._blocks: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._cached = 0
        self._left = self._runs.size
        self._pieces = self._each()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._open.values():
            one.file.close()

    def read(self, size: int = -1) -> bytes:
        """The next bytes, about as many as requested; none at the end only.

        Raises: Malformed: a chunk was changed after sealing.
        """
        del size
        found, total = [], 0
        while total < _READ and (piece := next(self._pieces, None)) is not None:
            found.append(piece)
            total += len(piece)
        self._left -= total
        if self._left < 0 or (self._left and not total):
            raise Malformed("the total size of the chunks differs from the chunk index")
        return b"".join(found)

    def _each(self) -> Iterator[memoryview]:
        runs = self._runs
        for pack, first, count in zip(runs.packs.tolist(), runs.firsts.tolist(), runs.counts.tolist(), strict=True):
            yield from self._run(pack, first, first + count)

    def _run(self, number: int, first: int, end: int) -> Iterator[memoryview]:
        pack = self._opened(number)
        if end >= len(pack.places):
            raise Malformed("the chunk index names a chunk that is not in its pack")
        while first < end:
            block = int(np.searchsorted(pack.chunks, first, "right")) - 1
            upto = min(end, int(pack.chunks[block + 1]))
            start = int(pack.places[pack.chunks[block]])
            data = memoryview(self._block(number, pack, block))
            yield data[int(pack.places[first]) - start : int(pack.places[upto]) - start]
            first = upto

    def _opened(self, number: int) -> _OpenPack:
        if number not in self._open:
            entry = self.packs[number]
            with disk_faults(f"read pack {entry.name}"):
                file = open_pack(self._bundle, entry)
                with OnFailure(file.close):
                    self._open[number] = _OpenPack(file, entry, read_head(file, entry, self._unseal))
        return self._open[number]

    def _block(self, number: int, pack: _OpenPack, block: int) -> bytes:
        found = self._blocks.get((number, block))
        if found is None:
            found = self._read_block(pack, block)
            self._blocks[number, block] = found
            self._cached += len(found)
            while self._cached > _MOST_CACHED:
                self._cached -= len(self._blocks.popitem(last=False)[1])
        else:
            self._blocks.move_to_end((number, block))
        return found

    def _read_block(self, pack: _OpenPack, block: int) -> bytes:
        at, end = int(pack.blocks[block]), int(pack.blocks[block + 1])
        with disk_faults(f"read pack {pack.entry.name}"):
            stored = _exactly(pack.file, at, end - at)
        if len(stored) != end - at:
            raise Malformed("a pack is truncated")
        data = decompressed(self._unseal(stored), MOST_BLOCK)
        _check_chunks(pack, block, data)
        return data


def open_pack(bundle: Path, entry: PackEntry) -> BinaryIO:
    """The file of a pack.

    Raises:
        Malformed: it is gone.
    """
    try:
        return open_file(pack_path(bundle, entry.name))
    except FileNotFoundError as error:
        raise Malformed(f"pack {entry.name} is missing") from error


def _check_chunks(pack: _OpenPack, block: int, data: bytes) -> None:
    """Every chunk of the block has the id that the directory gives."""
    first, end = int(pack.chunks[block]), int(pack.chunks[block + 1])
    places = (pack.places[first : end + 1] - pack.places[first]).tolist()
    directory, view = pack.directory, memoryview(data)
    if places[-1] != len(data):
        raise Malformed("a block of the size of a pack differs from its directory")
    made = b"".join(id_of(view[at:to], directory.key) for at, to in pairwise(places))
    if made != directory.ids[first * ID : end * ID]:
        raise Malformed("a chunk was changed after sealing")
