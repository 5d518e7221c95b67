"""A chunk index: the bundle of a snapshot that is kept as chunks. It lists the packs, and which of their chunks.

    canonical JSON and a newline: format, version, packs with name, size, SHA-256, size and SHA-256 of their heads
    one zstd frame, of an encrypted snapshot inside age:
        bytes of the tar 8 · number of runs 4 · pack of each run 4 · its first chunk 4 · how many chunks 4

The list of packs is never encrypted: names are random and sizes are seen anyway, and a garbage collector must know
what is needed without being able to read the memory.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from holdfast.snapshot.bundle import canonical
from holdfast.snapshot.bundle.canonical import Fields, Malformed
from holdfast.snapshot.bundle.contents import SHA256
from holdfast.snapshot.chunks.packfile import PackEntry, Seal, decompressed

MOST_BYTES = 64 << 20
MOST_PACKS = 100_000
MOST_RUNS = 1 << 24
_FORMAT, _VERSION = "holdfast-chunks", 1
_NAME = re.compile(r"[0-9a-f]{32}")
_START = struct.Struct("<QI")

Refs = NDArray[np.uint64]
"""Chunks in a row: the number of the pack times 2^32, plus the number of the chunk in it."""


@dataclass(frozen=True, slots=True)
class ChunkRuns:
    """Stretches of chunks that lie in a row in one pack."""

    packs: NDArray[np.uint32]
    firsts: NDArray[np.uint32]
    counts: NDArray[np.uint32]
    size: int  # of the tar


def is_pack(name: str) -> bool:
    """Whether a file of that name may be a pack."""
    return _NAME.fullmatch(name) is not None


def runs_of(refs: Refs, size: int) -> ChunkRuns:
    """The chunks of a snapshot as runs."""
    starts = np.flatnonzero(np.diff(refs, prepend=refs[:1] - np.uint64(2)) != 1)
    counts = np.diff(starts, append=len(refs))
    first = refs[starts]
    return ChunkRuns(
        (first >> np.uint64(32)).astype("<u4"),
        (first & np.uint64(0xFFFFFFFF)).astype("<u4"),
        counts.astype("<u4"),
        size,
    )


def chunk_index_bytes(packs: tuple[PackEntry, ...], runs: ChunkRuns, seal: Seal) -> bytes:
    columns = b"".join(one.tobytes() for one in (runs.packs, runs.firsts, runs.counts))
    plain = _START.pack(runs.size, len(runs.packs)) + columns
    return _head(packs) + seal(zstandard.ZstdCompressor(level=9).compress(plain))


def _head(packs: tuple[PackEntry, ...]) -> bytes:
    listed = [
        {"name": one.name, "size": one.size, "sha256": one.sha256, "head": one.head, "headSha256": one.head_sha256}
        for one in packs
    ]
    return canonical.dumps({"format": _FORMAT, "version": _VERSION, "packs": listed}, newline=True)


def read_packs(data: bytes) -> tuple[PackEntry, ...]:
    """The packs that a chunk index names; its runs are not looked at.

    Raises:
        Malformed: it is no chunk index.
    """
    end = data.find(b"\n") + 1
    if not end:
        raise Malformed("the chunk index is truncated")
    fields = Fields(canonical.loads(data[:end], newline=True), "chunk index")
    if fields.text("format") != _FORMAT or fields.number("version") != _VERSION:
        raise Malformed("the chunk index has an unknown format")
    packs = tuple(_entry(one) for one in fields.items("packs", MOST_PACKS))
    fields.end()
    if not packs or len({one.name for one in packs}) != len(packs):
        raise Malformed("the chunk index names no pack, or one pack twice")
    return packs


def _entry(value: Any) -> PackEntry:
    fields = Fields(value, "a pack")
    entry = PackEntry(
        name=fields.text("name", _NAME),
        size=fields.number("size", 1),
        sha256=fields.text("sha256", SHA256),
        head=fields.number("head", 1),
        head_sha256=fields.text("headSha256", SHA256),
    )
    fields.end()
    return entry


def read_runs(data: bytes, packs: int, unseal: Seal) -> ChunkRuns:
    """The runs of a chunk index whose list of packs has that length.

    Raises:
        Malformed: there are none, or they name packs that are not listed.
    """
    plain = decompressed(unseal(data[data.find(b"\n") + 1 :]), _START.size + 12 * MOST_RUNS)
    if len(plain) < _START.size:
        raise Malformed("the runs in the chunk index are truncated")
    size, count = _START.unpack_from(plain)
    if not count or len(plain) != _START.size + 12 * count:
        raise Malformed("the number of runs in the chunk index is wrong")
    columns = np.frombuffer(plain, "<u4", offset=_START.size).reshape(3, count)
    if columns[0].max() >= packs or not columns[2].min():
        raise Malformed("a run in the chunk index names an unlisted pack, or no chunk")
    return ChunkRuns(columns[0], columns[1], columns[2], size)
