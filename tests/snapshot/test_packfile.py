"""Packs and chunk indexes as bytes: what was written is read again, and nothing else is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import zstandard
from flows import READER, STRANGER
from hypothesis import given, strategies as st

from holdfast.core.errors import SnapshotDamaged
from holdfast.snapshot.bundle.canonical import Malformed
from holdfast.snapshot.bundle.encryption import opening, sealing
from holdfast.snapshot.chunks.chunk_index import ChunkRuns, chunk_index_bytes, read_packs, read_runs, runs_of
from holdfast.snapshot.chunks.packfile import (
    ID,
    SealedPack,
    directory_bytes,
    id_of,
    read_directory,
    read_head,
    seal_pack,
)
from holdfast.snapshot.chunks.reader import PACKS, ChunkedTar, as_stored

CHUNKS = [bytes([number]) * (100 + number) for number in range(40)]
KEY = b"k" * 32


def sealed(name: str, chunks: Sequence[bytes], key: bytes = b"", seal=as_stored) -> SealedPack:  # type: ignore[no-untyped-def]
    blocks = [chunks[at : at + 7] for at in range(0, len(chunks), 7)]
    return seal_pack(name, blocks, b"".join(id_of(one, key) for one in chunks), key, seal)


def placed(folder: Path, *packs: SealedPack) -> Path:
    (folder / PACKS).mkdir(exist_ok=True)
    for one in packs:
        (folder / PACKS / one.entry.name).write_bytes(one.data)
    return folder / "x.chunks"


def refs(*places: tuple[int, int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array([pack << 32 | chunk for pack, chunk in places], dtype=np.uint64)


def gathered(bundle: Path, chunk_index: bytes, unseal=as_stored) -> bytes:  # type: ignore[no-untyped-def]
    found = b""
    with ChunkedTar(bundle, chunk_index, unseal) as source:
        while piece := source.read(1):
            found += piece
    return found


NAMES = ["a" * 32, "b" * 32]
places = st.tuples(st.integers(0, 1), st.integers(0, 19))


@given(order=st.lists(places, min_size=1, max_size=60))
def test_any_order_of_chunks_comes_back(order: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory) -> None:
    packs = [sealed(NAMES[0], CHUNKS[:20]), sealed(NAMES[1], CHUNKS[20:])]
    wanted = b"".join(CHUNKS[20 * pack + chunk] for pack, chunk in order)
    bundle = placed(tmp_path_factory.mktemp("packs"), *packs)
    chunk_index = chunk_index_bytes(tuple(one.entry for one in packs), runs_of(refs(*order), len(wanted)), as_stored)

    assert gathered(bundle, chunk_index) == wanted


def test_a_row_of_chunks_is_one_run() -> None:
    runs = runs_of(refs((0, 0), (0, 1), (0, 2), (1, 5), (1, 6), (0, 3), (0, 3)), 9)

    assert list(zip(runs.packs, runs.firsts, runs.counts, strict=True)) == [(0, 0, 3), (1, 5, 2), (0, 3, 1), (0, 3, 1)]


def test_encrypted_packs_and_chunk_index_open_with_the_right_identity_only(tmp_path: Path) -> None:
    seal = sealing([str(READER.to_public())])
    pack = sealed(NAMES[0], CHUNKS[:20], KEY, seal)
    bundle = placed(tmp_path, pack)
    chunk_index = chunk_index_bytes((pack.entry,), runs_of(refs((0, 3)), len(CHUNKS[3])), seal)

    assert gathered(bundle, chunk_index, opening([str(READER)])) == CHUNKS[3]
    with pytest.raises(Exception, match="none of the given identities can decrypt it"):
        gathered(bundle, chunk_index, opening([str(STRANGER)]))
    for one in CHUNKS[:20]:
        for told in (id_of(one), sha256(one).digest(), id_of(one, KEY)):
            assert told not in pack.data + chunk_index


def test_keyed_ids_are_not_those_of_the_content() -> None:
    assert len({id_of(b"x"), id_of(b"x", KEY), id_of(b"x", b"l" * 32), id_of(b"y", KEY)}) == 4
    assert id_of(b"x") == sha256(b"x").digest()[:ID]


@given(at=st.integers(0, 10**9), bit=st.integers(0, 7))
@pytest.mark.parametrize("encrypted", [False, True])
def test_a_flipped_bit_of_a_pack_never_gives_other_bytes(encrypted: bool, at: int, bit: int, tmp_path: Path) -> None:
    seal = sealing([str(READER.to_public())]) if encrypted else as_stored
    unseal = opening([str(READER)]) if encrypted else as_stored
    pack = sealed(NAMES[0], CHUNKS[:20], KEY if encrypted else b"", seal)
    bundle = placed(tmp_path, pack)
    everything = runs_of(refs(*((0, number) for number in range(20))), sum(map(len, CHUNKS[:20])))
    chunk_index = chunk_index_bytes((pack.entry,), everything, seal)
    data = bytearray(pack.data)
    data[at % len(data)] ^= 1 << bit
    (tmp_path / PACKS / pack.entry.name).write_bytes(data)

    try:
        found = gathered(bundle, chunk_index, unseal)
    except (Malformed, SnapshotDamaged):
        return
    assert found == b"".join(CHUNKS[:20]), "a bit that zstd does not look at; the hash of the whole pack does"


def test_packs_and_blocks_that_changed_places_are_noticed(tmp_path: Path) -> None:
    one, other = sealed(NAMES[0], CHUNKS[:14]), sealed(NAMES[1], CHUNKS[20:34])
    bundle = placed(tmp_path, one, other)
    chunk_index = chunk_index_bytes((one.entry, other.entry), runs_of(refs((0, 1), (1, 1)), 0), as_stored)
    (tmp_path / PACKS / NAMES[0]).write_bytes(other.data)
    with pytest.raises(Malformed, match="changed after sealing"):
        gathered(bundle, chunk_index)

    first, second = (int(size) for size in one.directory.blocks)
    blocks = one.data[one.entry.head :]
    assert first + second == len(blocks)
    (tmp_path / PACKS / NAMES[0]).write_bytes(one.data[: one.entry.head] + blocks[first:] + blocks[:first])
    with pytest.raises(Malformed):
        gathered(bundle, chunk_index)


def test_a_missing_pack_is_named(tmp_path: Path) -> None:
    pack = sealed(NAMES[0], CHUNKS[:3])
    chunk_index = chunk_index_bytes((pack.entry,), runs_of(refs((0, 0)), 100), as_stored)
    (tmp_path / PACKS).mkdir()

    with pytest.raises(Malformed, match=f"pack {NAMES[0]} is missing"):
        gathered(tmp_path / "x.chunks", chunk_index)


@pytest.mark.parametrize(("place", "size"), [((0, 20), 100), ((0, 0), 99), ((0, 0), 101), ((0, 0), 0)])
def test_a_chunk_index_that_asks_for_what_is_not_there_is_refused(
    place: tuple[int, int], size: int, tmp_path: Path
) -> None:
    pack = sealed(NAMES[0], CHUNKS[:20])
    bundle = placed(tmp_path, pack)

    with pytest.raises(Malformed):
        gathered(bundle, chunk_index_bytes((pack.entry,), runs_of(refs(place), size), as_stored))


@given(data=st.binary(max_size=400))
def test_what_is_no_directory_or_chunk_index_is_malformed(data: bytes) -> None:
    for read in (read_directory, read_packs, lambda data: read_runs(data, 1, as_stored)):
        with pytest.raises(Malformed):
            read(data)


@given(at=st.integers(0, 10**9), value=st.integers(0, 255))
def test_a_directory_with_another_byte_is_malformed_or_has_the_same_numbers(at: int, value: int) -> None:
    directory = sealed(NAMES[0], CHUNKS[:20]).directory
    data = bytearray(directory_bytes(directory))
    data[at % len(data)] = value
    try:
        found = read_directory(bytes(data))
    except Malformed:
        return
    assert int(found.counts.sum()) == len(found.sizes) == len(found.ids) // ID


def test_a_pack_that_claims_to_become_huge_is_refused_before_it_does(tmp_path: Path) -> None:
    pack = sealed(NAMES[0], [bytes(100)])
    bomb = zstandard.ZstdCompressor().compress(bytes(100 << 20))
    entry = pack.entry
    head = pack.data[: entry.head]
    bundle = placed(tmp_path, replace(pack, data=head + bomb))
    wrong = replace(entry, size=len(head) + len(bomb))
    with pytest.raises(Malformed, match="differs from"):
        gathered(bundle, chunk_index_bytes((wrong,), runs_of(refs((0, 0)), 100), as_stored))
    with (tmp_path / PACKS / NAMES[0]).open("rb") as stream:
        assert read_head(stream, entry, as_stored).sizes.tolist() == [100]


def test_runs_of_no_chunk_or_of_no_pack_are_malformed() -> None:
    pack = sealed(NAMES[0], CHUNKS[:3]).entry
    for packs, counts in (([1], [1]), ([0], [0])):
        columns = (np.array(one, dtype="<u4") for one in (packs, [0], counts))
        with pytest.raises(Malformed):
            read_runs(chunk_index_bytes((pack,), ChunkRuns(*columns, size=1), as_stored), 1, as_stored)
