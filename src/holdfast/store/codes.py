"""Binary codes: a vector as the signs of its numbers, and which codes are nearest to a question.

A code is 1/16 of a float16 vector, so a million of them are searched whole, in memory, in about 10 ms. The nearest
few hundred hold the true nearest ones almost always; whoever asks scores those by their vectors. Knows no store.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Seqs = NDArray[np.int64]
Codes = NDArray[np.uint64]  # a row of 64-bit words for each vector
Numbers = NDArray[np.float16] | NDArray[np.float32]

WORD = 64
# Codes compared at once: the working arrays of a block stay in the cache (1M codes: 6.9 ms; 65,536 at once: 11 ms).
BLOCK = 16_384
# From this share of the codes on it is cheaper to compare all than to pick the allowed ones first.
MOST = 0.3
# The largest sequence number that is worth a table of all numbers up to it: 64 MB.
TABLE = 1 << 26


def words_in(dims: int) -> int:
    """64-bit words in the code of a vector of that many numbers."""
    return -(-dims // WORD)


def code_of(vectors: Numbers) -> Codes:
    """The codes of vectors, one in each row: a bit for every number above zero."""
    bits = np.packbits(vectors > 0, axis=1)
    whole = np.zeros((len(vectors), words_in(vectors.shape[1]) * 8), dtype=np.uint8)
    whole[:, : bits.shape[1]] = bits
    return whole.view("<u8").astype(np.uint64, copy=False)


class CodeTable:
    """Codes of one model by sequence number. One thread at a time appends; any number search meanwhile.

    Each word of all codes lies together, so that comparing is a walk over six long arrays.
    """

    def __init__(self, seqs: Seqs, codes: Codes):
        self._seqs = np.ascontiguousarray(seqs)
        self._words = np.ascontiguousarray(codes.T)
        self._count = len(seqs)

    def __len__(self) -> int:
        return self._count

    @property
    def words(self) -> int:
        return len(self._words)

    def append(self, seqs: Seqs, codes: Codes) -> None:
        """Add codes. A search that runs sees none of them or all."""
        count, more = self._count, len(seqs)
        if count + more > len(self._seqs):
            self._grow(count + more)
        self._seqs[count : count + more] = seqs
        self._words[:, count : count + more] = codes.T
        self._count = count + more

    def _grow(self, need: int) -> None:
        room = max(need, len(self._seqs) * 5 // 4, 1_024)
        seqs, words = np.zeros(room, dtype=np.int64), np.zeros((self.words, room), dtype=np.uint64)
        seqs[: self._count], words[:, : self._count] = self._seqs[: self._count], self._words[:, : self._count]
        # The old arrays stay whole for the searches that hold them.
        self._words, self._seqs = words, seqs

    def nearest(self, code: Codes, count: int, allowed: Seqs | None = None) -> Seqs:
        """The sequence numbers of up to `count` codes with the fewest differing bits, each once.

        `allowed`, if given, holds the only sequence numbers to look at.
        """
        held = self._count  # before the arrays: they only ever grow
        seqs, words = self._seqs[:held], self._words[:, :held]
        if allowed is None:
            return _distinct(seqs[_smallest(_distances(words, code), count)])
        mask = _member(seqs, allowed)
        if np.count_nonzero(mask) > MOST * held:
            apart = _distances(words, code)
            apart[~mask] = len(code) * WORD + 1
            places = _smallest(apart, count)
            return _distinct(seqs[places[mask[places]]])
        places = np.flatnonzero(mask)
        return _distinct(seqs[places[_smallest(_distances(words[:, places], code), count)]])


def _distances(words: Codes, code: Codes) -> NDArray[np.uint16]:
    """How many bits of each code differ."""
    total = words.shape[1]
    apart = np.empty(total, dtype=np.uint16)
    differing, bits = np.empty(BLOCK, dtype=np.uint64), np.empty(BLOCK, dtype=np.uint8)
    for start in range(0, total, BLOCK):
        size = min(BLOCK, total - start)
        sums = apart[start : start + size]
        sums[:] = 0
        for number, word in enumerate(code):
            np.bitwise_xor(words[number, start : start + size], word, out=differing[:size])
            np.bitwise_count(differing[:size], out=bits[:size])
            np.add(sums, bits[:size], out=sums)
    return apart


def _smallest(apart: NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    """Places of the `count` smallest, in order; of equals the later. Distances are few: counting beats sorting."""
    if count < len(apart):
        tally = np.zeros(int(apart.max()) + 1, dtype=np.int64)
        for start in range(0, len(apart), BLOCK):
            tally += np.bincount(apart[start : start + BLOCK], minlength=len(tally))
        cut = int(np.searchsorted(np.cumsum(tally), count))
        places = np.flatnonzero(apart <= cut)
    else:
        places = np.arange(len(apart))
    order = np.lexsort((-places, apart[places]))
    return places[order[:count]]


def _member(seqs: Seqs, allowed: Seqs) -> NDArray[np.bool_]:
    """Which of `seqs` are among `allowed`, by a table of every number up to the highest."""
    top = int(seqs.max(initial=0))
    if top > TABLE:
        return np.isin(seqs, allowed)
    table = np.zeros(top + 1, dtype=bool)
    table[allowed[(allowed >= 0) & (allowed <= top)]] = True
    return table[seqs]


def _distinct(seqs: Seqs) -> Seqs:
    """Each once, in the order of first mention: a record whose text changed has an older code too."""
    _, first = np.unique(seqs, return_index=True)
    return seqs[np.sort(first)]
