"""Codes: a vector in two bits a number, and which codes are nearest to a question.

The first bit of a number is its sign, the second whether it is large. A million codes of 384 numbers take 104 MB with
their sequence numbers and are searched whole, in memory: counting differing signs sifts them, both bits rank what is
left, and whoever asks scores the best few hundred by their vectors. Knows no store.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Seqs = NDArray[np.int64]
Codes = NDArray[np.uint64]  # for each vector a row: the words of the first bits, then those of the second
Numbers = NDArray[np.float16] | NDArray[np.float32]

WORD = 64
# Codes compared at once: the working arrays of a block stay in the cache (1M codes: 6.9 ms; 65,536 at once: 11 ms).
BLOCK = 16_384
# From this share of the codes on it is cheaper to compare all than to pick the allowed ones first.
MOST = 0.3
# The largest sequence number that is worth a table of all numbers up to it: 64 MB.
TABLE = 1 << 26
# What is left after counting signs: this share, but not fewer or more. 4,000 of 100,000 lost 0.012 of the true ten
# nearest, 10,000 lost 0.003; at 1,000,000 more than 24,000 found at most 0.002 more.
SIFTED, LEAST, MOST_SIFTED = 0.1, 3_000, 24_000
# What is left after weighing the signs by the query's numbers, before the second bits are looked at.
RANKED = 3_000
# Numbers of a vector of length 1 are large from this many times their mean size on.
LARGE = 1.25

# The bits of every byte, first bit first, as packbits lays them.
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)


def words_in(dims: int) -> int:
    """64-bit words in the code of a vector of that many numbers."""
    return 2 * -(-dims // WORD)


def code_of(vectors: Numbers) -> Codes:
    """The codes of vectors of length 1, one in each row."""
    dims = vectors.shape[1]
    large = np.float32(LARGE / np.sqrt(dims))
    # Four steps from low to high: 00, 01, 10, 11. Then both bits are worth what their place says, in any number.
    above = np.where(vectors > 0, vectors > large, vectors > -large)
    return np.concatenate([_packed(vectors > 0), _packed(above)], axis=1)


def _packed(bits: NDArray[np.bool_]) -> Codes:
    packed = np.packbits(bits, axis=1)
    whole = np.zeros((len(bits), -(-bits.shape[1] // WORD) * 8), dtype=np.uint8)
    whole[:, : packed.shape[1]] = packed
    return whole.view("<u8").astype(np.uint64, copy=False)


class CodeTable:
    """Codes of one model by sequence number. One thread at a time appends; any number search meanwhile.

    Each word of all codes lies together, so that comparing is a walk over six long arrays.
    """

    def __init__(self, words: int, room: int = 0):
        """Empty, of codes of so many 64-bit words, with room for so many codes."""
        self._seqs = np.zeros(room, dtype=np.int64)
        self._words = np.zeros((words, room), dtype=np.uint64)
        self._count = 0

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

    def nearest(self, query: NDArray[np.float32], count: int, allowed: Seqs | None = None) -> Seqs:
        """The sequence numbers of up to `count` codes that fit the query best, each once, best first.

        `allowed`, if given, holds the only sequence numbers to look at.
        """
        held = self._count  # before the arrays: they only ever grow
        seqs, words = self._seqs[:held], self._words[:, :held]
        signs = code_of(query[None, :])[0, : self.words // 2]
        places = None if allowed is None else np.flatnonzero(_member(seqs, allowed))
        left = max(min(max(int(SIFTED * held), LEAST), MOST_SIFTED), 10 * count)
        if places is None or len(places) > left:
            places = _sift(words, signs, places, left)
        return _distinct(seqs[_rank(words, places, query, count)])


def _sift(words: Codes, signs: Codes, places: NDArray[np.intp] | None, count: int) -> NDArray[np.intp]:
    """The `count` places, of those given or of all, whose signs differ least."""
    total = words.shape[1]
    if places is None:
        return _smallest(_distances(words, signs), count)
    if len(places) < MOST * total:
        return places[_smallest(_distances(words[: len(signs), places], signs), count)]
    return places[_smallest(_distances(words, signs)[places], count)]


def _distances(words: Codes, signs: Codes) -> NDArray[np.uint16]:
    """How many signs of each code differ."""
    total = words.shape[1]
    apart = np.empty(total, dtype=np.uint16)
    differing, bits = np.empty(BLOCK, dtype=np.uint64), np.empty(BLOCK, dtype=np.uint8)
    for start in range(0, total, BLOCK):
        size = min(BLOCK, total - start)
        sums = apart[start : start + size]
        sums[:] = 0
        for number, word in enumerate(signs):
            np.bitwise_xor(words[number, start : start + size], word, out=differing[:size])
            np.bitwise_count(differing[:size], out=bits[:size])
            np.add(sums, bits[:size], out=sums)
    return apart


def _smallest(apart: NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    """Places of the `count` smallest. There are few different distances: counting them beats sorting."""
    if count >= len(apart):
        return np.arange(len(apart))
    tally = np.zeros(int(apart.max()) + 1, dtype=np.int64)
    for start in range(0, len(apart), BLOCK):
        tally += np.bincount(apart[start : start + BLOCK], minlength=len(tally))
    cut = int(np.searchsorted(np.cumsum(tally), count))
    below, equal = np.flatnonzero(apart < cut), np.flatnonzero(apart == cut)
    return np.concatenate([below, equal[len(equal) - (count - len(below)) :]])  # of equals the newer


def _rank(words: Codes, places: NDArray[np.intp], query: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """The `count` places that fit the query best, best first. A first bit is worth twice a second one."""
    half = len(words) // 2
    fit = 2 * _sums(words[:half], places, query)
    ranked = max(RANKED, 10 * count)
    if len(places) > ranked:
        best = np.argpartition(-fit, ranked)[:ranked]
        places, fit = places[best], fit[best]
    fit += _sums(words[half:], places, query)
    return places[np.lexsort((-places, -fit))[:count]]


def _sums(words: Codes, places: NDArray[np.intp], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """For each place, the sum of the query's numbers where its bits are set.

    A byte is looked up in what its eight numbers can add up to: 8,000 places take 0.7 ms, by unpacked bits 1.4.
    """
    padded = np.zeros(len(words) * WORD, dtype=np.float32)
    padded[: len(query)] = query
    known = np.ascontiguousarray(padded.reshape(-1, 8) @ _BITS.T)  # for each byte of a code, by its value
    sums = np.zeros(len(places), dtype=np.float32)
    for number, word in enumerate(words):
        eight = word.take(places).astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
        for byte in range(8):
            sums += known[number * 8 + byte].take(eight[:, byte], mode="clip")  # no byte is out of range
    return sums


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
