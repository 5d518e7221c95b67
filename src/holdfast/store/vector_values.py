"""Values of vectors: what one was made from, as a hash, those of records, and how near they are to a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# How much the parts of a text differ in nearness to a question that has nothing to do with it.
PARTS_SPREAD = 0.05


def luck(parts: NDArray[np.int64]) -> NDArray[np.float64]:
    """How much nearer the nearest of so many parts is expected to be than a single one, by their number alone:
    without this, long texts rank before the short ones that hold the answer (docs/benchmarks/quality.md)."""
    expected: NDArray[np.float64] = PARTS_SPREAD * np.sqrt(2 * np.log(parts))
    return expected


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """Vectors of records: a row for each part of a record's text, those of one record side by side."""

    seqs: Sequence[int]
    rows: NDArray[np.float16]
    first: NDArray[np.intp]  # the place of each record's first row

    def cosines(self, query: NDArray[np.float32]) -> dict[int, float]:
        """How near the nearest part of each record is to the query, less its luck.

        The same whatever rows were read with it: sums of float32 would depend on that.
        """
        if not len(self.seqs):
            return {}
        near = np.maximum.reduceat(self.rows.astype(np.float64) @ query, self.first)
        parts = np.diff(self.first, append=len(self.rows))
        return dict(zip(self.seqs, (near - luck(parts)).tolist(), strict=True))


class VectorHit(NamedTuple):
    """A record and how near in meaning its text is: the cosine of the angle, 1 at most."""

    seq: int
    cosine: float


def nearest_first(cosines: Mapping[int, float], limit: int) -> list[VectorHit]:
    """The nearest of scored records, the newer first of equals."""
    best = sorted(cosines, key=lambda seq: (-cosines[seq], -seq))[:limit]
    return [VectorHit(seq, cosines[seq]) for seq in best]


def text_hash(tenant: str, model: str, text: str) -> bytes:
    """What equal texts of one tenant have in common, for one model; discloses no other tenant's text."""
    digest = blake2b(digest_size=16)
    for part in (tenant, model, text):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.digest()
