"""A snapshot's tar to the packs of a vault: what the vault lacks is packed, sealed and put; the rest is referred to.

Sealing and putting run in parallel to the cutting: without that a first snapshot takes 1.25 times as long
(`bench/mechanisms.py`). A pack is known here only once the vault has it, so what was
interrupted goes on with the packs that arrived; without a manifest no reader takes them for a snapshot.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from threading import Lock
from typing import Self

import numpy as np

from holdfast.core.errors import SnapshotsBusy
from holdfast.core.ports import Entropy, Upload, Vault
from holdfast.core.system import lower_priority
from holdfast.snapshot.chunks.cache import KnownPacks
from holdfast.snapshot.chunks.chunk_index import ChunkRuns, Refs, runs_of
from holdfast.snapshot.chunks.chunker import QUARTER, STRETCH, Cut
from holdfast.snapshot.chunks.leases import condemned
from holdfast.snapshot.chunks.packfile import BLOCK, PACK, PackEntry, Seal, SealedPack, id_of, ids_of, seal_pack
from holdfast.snapshot.chunks.reader import PACKS

_SEALERS = 2
_WAITING = 3  # packs of at most 24 MB that are sealed or put at a time
_NAME_CHARS = 32
# A pack of which less than half is needed any more is left behind by the next snapshot, so that it goes when the
# snapshots before do; so are the smallest ones when there are many. Of a snapshot's bytes, so much at most each time.
_DENSE = 0.5
_MANY_SMALL, _SMALL = 64, 1 << 20
_MOST_AGAIN = 0.01


@dataclass(frozen=True, slots=True)
class WrittenChunks:
    """What a snapshot consists of, all of it in the vault."""

    packs: tuple[PackEntry, ...]
    runs: ChunkRuns
    new_bytes: int  # of packs that were put


def packs_there(vault: Vault, prefix: str) -> dict[str, int]:
    """The packs that may be referred to, with their sizes: those that are listed and not about to go."""
    going = condemned(vault, prefix)  # first: what is listed afterwards and was not condemned stays
    return {name: size for name, size in _listed(vault, prefix).items() if name not in going}


def _listed(vault: Vault, prefix: str) -> dict[str, int]:
    folder = f"{prefix}{PACKS}/"
    return {one.name.removeprefix(folder): one.size for one in vault.list(folder)}


def check_there(vault: Vault, prefix: str, packs: Iterable[PackEntry]) -> None:
    """Refuse to go on if one of the packs is gone, or is another one.

    Raises:
        SnapshotsBusy: another process removed packs that a new snapshot needs.
    """
    there = _listed(vault, prefix)
    if any(there.get(one.name) != one.size for one in packs):
        raise SnapshotsBusy(
            "vault: packs were removed during the upload",
            hint="Run holdfast vault sync again; it uploads what is missing.",
        )


class ChunkWriter:
    """One snapshot on its way into packs."""

    def __init__(self, vault: Vault, prefix: str, known: KnownPacks, key: bytes, seal: Seal, entropy: Entropy):
        self._vault, self._prefix, self._known = vault, prefix, known
        self._key, self._seal, self._entropy = key, seal, entropy
        self._refs = array("Q")
        self._entries: list[PackEntry | None] = list(known.entries)  # by number; None until the vault has it
        self._stretch_ids: list[bytes] = []
        self._stretch_refs: list[bytes] = []
        self._stretches = 0
        self._size = 0
        self._new_bytes = 0
        self._pack = _PackBuilder(len(self._entries))
        self._pool = ThreadPoolExecutor(_SEALERS, "holdfast-packs", lower_priority)
        self._putting = Lock()
        self._waiting: deque[tuple[int, Future[SealedPack]]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def send(self, cuts: Iterable[Cut]) -> WrittenChunks:
        """Take all of a tar; when it returns the vault has every chunk of it.

        Raises:
            Fault: the vault did not take a pack.
        """
        for data, step in cuts:
            self._size += len(data)
            if step == QUARTER:
                whole = len(data) - len(data) % STRETCH
                self._stretched(data[:whole])
                data = data[whole:]
            self._refs.extend(self._chunks(data, step))
        self._hand_over()
        while self._waiting:
            self._settle()
        return self._sent()

    def _stretched(self, data: memoryview) -> None:
        """Stretches of a database; those that are what they were in the last snapshot are not cut."""
        ids = ids_of(data, STRETCH, self._key)
        words = np.frombuffer(ids, "<u8").reshape(-1, 3)
        start, end = self._stretches, self._stretches + len(words)
        before = self._known.stretch_ids[start:end]
        refs = np.zeros((len(words), STRETCH // QUARTER), dtype="<u8")
        refs[: len(before)] = self._known.stretch_refs[start:end]
        same = (words[: len(before)] == before).all(axis=1)
        for at in (*np.flatnonzero(~same).tolist(), *range(len(before), len(words))):
            refs[at] = self._chunks(data[at * STRETCH : (at + 1) * STRETCH], QUARTER)
        self._stretches = end
        self._stretch_ids.append(ids)
        self._stretch_refs.append(refs.tobytes())
        self._refs.frombytes(self._stretch_refs[-1])

    def _chunks(self, data: memoryview, step: int) -> list[int]:
        places, found = self._known.places, []
        for at in range(0, len(data), step):
            chunk = data[at : at + step]
            id = id_of(chunk, self._key)
            place = places.get(id)
            if place is None:
                place = places[id] = self._pack.add(id, bytes(chunk))
                if self._pack.size >= PACK:
                    self._hand_over()
            found.append(place)
        return found

    def _hand_over(self) -> None:
        """Let the pack be sealed and put while the next one is filled."""
        full = self._pack
        if not full.size:
            return
        self._entries.append(None)
        self._pack = _PackBuilder(len(self._entries))
        while len(self._waiting) >= _WAITING:
            self._settle()
        name = self._entropy.hex(_NAME_CHARS)
        self._waiting.append((full.number, self._pool.submit(self._seal_and_put, name, full)))

    def _seal_and_put(self, name: str, full: _PackBuilder) -> SealedPack:
        sealed = seal_pack(name, full.blocks, b"".join(full.ids), self._key, self._seal)
        parcel = Upload(f"{self._prefix}{PACKS}/{name}", len(sealed.data), lambda: BytesIO(sealed.data))
        with self._putting:  # one after the other: a quota is counted for each
            self._vault.put_all([parcel])
            self._known.add(sealed.entry, sealed.directory)  # at once: after a kill, the next run goes on from here
        return sealed

    def _settle(self) -> None:
        number, future = self._waiting.popleft()
        sealed = future.result()
        self._entries[number] = sealed.entry
        self._new_bytes += sealed.entry.size
        self._known.directories.append(sealed.directory)

    def _sent(self) -> WrittenChunks:
        refs = np.frombuffer(self._refs, dtype=np.uint64)
        numbers, refs = _renumbered(refs)
        entries = [one for one in self._entries if one is not None]
        packs = tuple(entries[number] for number in numbers)
        self._known.save_stretches(b"".join(self._stretch_ids), b"".join(self._stretch_refs), entries)
        self._known.save_sparse(self._sparse(refs, numbers))
        return WrittenChunks(packs, runs_of(refs, self._size), self._new_bytes)

    def _sparse(self, refs: Refs, numbers: list[int]) -> list[str]:
        """The packs that the next snapshot leaves behind."""
        sizes = [self._known.directories[number].sizes for number in numbers]
        starts = np.concatenate(([0], np.cumsum([len(one) for one in sizes])))
        needed = np.zeros(int(starts[-1]), dtype=bool)
        needed[starts[(refs >> np.uint64(32)).astype(np.int64)] + (refs & np.uint64(0xFFFFFFFF)).astype(np.int64)] = (
            True
        )
        bytes_needed = np.add.reduceat(np.concatenate(sizes) * needed, starts[:-1], dtype=np.int64)
        used = dict(zip(numbers, bytes_needed.tolist(), strict=True))
        entries = [one for one in self._entries if one is not None]
        return [entries[number].name for number in left_behind(used, self._whole_sizes(numbers), self._size)]

    def _whole_sizes(self, numbers: list[int]) -> dict[int, int]:
        return {number: self._known.directories[number].size for number in numbers}


def left_behind(used: dict[int, int], whole: dict[int, int], size: int) -> list[int]:
    """Which packs to send again in part, by the bytes that are needed of each, the least first."""
    small = [number for number in used if whole[number] < _SMALL]
    sparse = {number for number in used if used[number] < _DENSE * whole[number]}
    if len(small) > _MANY_SMALL:
        sparse |= set(small)
    found, rest = [], _MOST_AGAIN * size
    for number in sorted(sparse, key=lambda number: (used[number], number)):
        rest -= used[number]
        if rest < 0:
            break
        found.append(number)
    return found


def _renumbered(refs: Refs) -> tuple[list[int], Refs]:
    """The packs in use in the order of their numbers, and the chunks with the packs' places in that list."""
    own = (refs >> np.uint64(32)).astype(np.int64)
    numbers = np.unique(own)
    table = np.zeros(int(numbers[-1]) + 1, dtype=np.uint64)
    table[numbers] = np.arange(len(numbers), dtype=np.uint64)
    return numbers.tolist(), (table[own] << np.uint64(32)) | (refs & np.uint64(0xFFFFFFFF))


class _PackBuilder:
    """A pack that chunks are still added to."""

    def __init__(self, number: int):
        self.number = number
        self.blocks: list[list[bytes]] = []
        self.ids: list[bytes] = []
        self.size = 0
        self._room = 0

    def add(self, id: bytes, chunk: bytes) -> int:
        """Where the chunk is."""
        if self._room <= 0:
            self.blocks.append([])
            self._room = BLOCK
        self.blocks[-1].append(chunk)
        self._room -= len(chunk)
        self.size += len(chunk)
        self.ids.append(id)
        return self.number << 32 | len(self.ids) - 1
