"""Which records share words with a text: the sketches of the store, by hash, in memory.

On disk a sketch is one small row in the order of writes. Eight rows by hash instead cost 270 of 1,000 µs of every
write, because each lay on a page of its own. Read on first use: 100,000 sketches take a tenth of a second.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any
from zlib import crc32

import apsw
import numpy as np

from holdfast.store.minhash import NEWEST, most_alike

# Entries since the last sort are kept in a dictionary; past this many they are sorted in.
UNSORTED = 100_000


def pack(sketch: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(sketch)}I", *sketch)


class MinhashIndex:
    """Look-up from hash to sequence numbers, fed by every write. A removed record may still be named."""

    def __init__(self, db: apsw.Connection):
        self._fresh: dict[int, dict[int, None]] = {}  # in order of writing, each record once
        self._count = 0
        rows: Any = db.execute("SELECT tenant, seq, hashes FROM sketches").fetchall()
        parts = [np.frombuffer(hashes, dtype="<u4") ^ np.uint32(_salt(tenant)) for tenant, _, hashes in rows]
        counts = [len(part) for part in parts]
        hashes = np.concatenate(parts) if parts else np.empty(0, dtype=np.uint32)
        seqs = np.repeat(np.array([seq for _, seq, _ in rows], dtype=np.int64), counts)
        self._sort(hashes, seqs)

    def _sort(self, hashes: Any, seqs: Any) -> None:
        order = np.lexsort((seqs, hashes))
        self._hashes, self._seqs = hashes[order], seqs[order]

    def add(self, tenant: str, seq: int, sketch: Sequence[int]) -> None:
        salt = _salt(tenant)
        for one in sketch:
            bucket = self._fresh.setdefault(one ^ salt, {})
            bucket.pop(seq, None)
            bucket[seq] = None
        self._count += len(sketch)
        if self._count > UNSORTED:
            self._sort_in()

    def _sort_in(self) -> None:
        counts = [len(seqs) for seqs in self._fresh.values()]
        hashes = np.repeat(np.array(list(self._fresh), dtype=np.uint32), counts)
        seqs = np.array([seq for seqs in self._fresh.values() for seq in seqs], dtype=np.int64)
        self._sort(np.concatenate([self._hashes, hashes]), np.concatenate([self._seqs, seqs]))
        self._fresh, self._count = {}, 0

    def near(self, tenant: str, sketch: Sequence[int], limit: int) -> list[int]:
        """The records that have most hashes in common with the sketch, the newer first where it is as many."""
        salt = _salt(tenant)
        keys = [one ^ salt for one in sketch]
        return most_alike(list(map(self._holders, keys, self._sorted_in(keys))), limit)

    def _holders(self, key: int, known: list[int]) -> Collection[int]:
        """The newest records that have the hash, each once."""
        fresh = self._fresh.get(key, {})
        if len(fresh) <= NEWEST and not known:
            return fresh
        return {*islice(reversed(fresh), NEWEST), *known}

    def _sorted_in(self, keys: list[int]) -> list[list[int]]:
        """For each key, the newest records among those that are sorted in."""
        if not len(self._hashes):
            return [[] for _ in keys]
        wanted = np.array(keys, dtype=np.uint32)
        lows = np.searchsorted(self._hashes, wanted, "left").tolist()
        highs = np.searchsorted(self._hashes, wanted, "right").tolist()
        return [self._seqs[max(low, high - NEWEST) : high].tolist() for low, high in zip(lows, highs, strict=True)]


def _salt(tenant: str) -> int:
    """Keeps tenants apart: the same word has another hash in each."""
    return crc32(tenant.encode())
