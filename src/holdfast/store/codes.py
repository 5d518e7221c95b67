"""Codes: a vector in four bits a number, and which codes are nearest to a question.

Four bits tell which of sixteen steps a number stands on; their first bit is its sign and is kept once more, packed. A
million codes of 384 numbers take 248 MB with their sequence numbers and are searched whole, in memory: counting
differing signs sifts them, the steps rank what is left, and whoever asks scores the best few hundred by their vectors.
Knows no store.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Seqs = NDArray[np.int64]
Codes = NDArray[np.uint64]  # for each vector a row: the words of the signs, then those of the steps
Places = NDArray[np.intp]
Numbers = NDArray[np.float16] | NDArray[np.float32]
Floats = NDArray[np.float32]

WORD = 64
STEPS_IN_WORD = 16
# Codes compared at once: the working arrays of a block stay in the cache.
BLOCK = 16_384
# The bits of so many words are counted in one byte.
COUNTED_WORDS = 3
# From this share of the codes on it is cheaper to compare all than to pick the allowed ones first.
MOST = 0.3
# The largest sequence number that is worth a table of all numbers up to it: 64 MB.
TABLE = 1 << 26
# What is left after counting signs: this share, but not fewer or more. Of 1,000,000, 12,000 lost up to 0.008 of the
# true ten nearest, 24,000 at most 0.003; see docs/benchmarks/vectors.md.
SIFTED, LEAST, MOST_SIFTED = 0.1, 3_000, 24_000
# A distance in so many is looked at to guess where the nearest end, and as many more than wanted are let through.
SAMPLED, LET_THROUGH = 61, 1.3
# Codes ranked at once: as numbers they stay in the cache.
RANKED_BLOCK = 1_024
# A step, in multiples of the mean size of a number of a vector of length 1: the best for what is normally spread.
STEP = 0.335
MIDDLE, HIGHEST = 8, 15


def words_in(dims: int) -> int:
    """64-bit words in the code of a vector of that many numbers."""
    return _sign_words(dims) + -(-dims // STEPS_IN_WORD)


def _sign_words(dims: int) -> int:
    return -(-dims // WORD)


def code_of(vectors: Numbers) -> Codes:
    """The codes of vectors of length 1, one in each row."""
    count, dims = vectors.shape
    step = np.float32(STEP / np.sqrt(dims))
    steps = np.zeros((count, STEPS_IN_WORD * -(-dims // STEPS_IN_WORD)), dtype=np.uint8)
    steps[:, :dims] = np.clip(np.floor(vectors.astype(np.float32) / step) + MIDDLE, 0, HIGHEST)
    half = steps.shape[1] // 2
    signs = _packed(steps[:, :dims] >= MIDDLE)
    return np.concatenate([signs, _words(steps[:, :half] | (steps[:, half:] << 4))], axis=1)


def _packed(bits: NDArray[np.bool_]) -> Codes:
    packed = np.packbits(bits, axis=1)
    whole = np.zeros((len(bits), _sign_words(bits.shape[1]) * 8), dtype=np.uint8)
    whole[:, : packed.shape[1]] = packed
    return _words(whole)


def _words(bytes: NDArray[np.uint8]) -> Codes:
    return bytes.view("<u8").astype(np.uint64, copy=False)


class CodeTable:
    """Codes of one model by sequence number. One thread at a time appends; any number search meanwhile.

    Each word of all signs lies together, so that comparing is a walk over six long arrays; the steps of a code lie
    together, as only those of a few are looked at.
    """

    def __init__(self, dims: int, room: int = 0):
        """Empty, of codes of vectors of so many numbers, with room for so many codes."""
        self.words = words_in(dims)
        self._arrays = _Arrays(dims, room)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, seqs: Seqs, codes: Codes) -> None:
        """Add codes. A search that runs sees none of them or all."""
        count, more = self._count, len(seqs)
        if count + more > self._arrays.room:
            # The old arrays stay whole for the searches that hold them.
            self._arrays = self._arrays.grown(count, max(count + more, self._arrays.room * 5 // 4, 1_024))
        self._arrays.put(count, seqs, codes)
        self._count = count + more

    def nearest(self, query: Floats, count: int, allowed: Seqs | None = None) -> Seqs:
        """The sequence numbers of up to `count` codes that fit the query best, each once, best first.

        `allowed`, if given, holds the only sequence numbers to look at.
        """
        held = self._count  # before the arrays: they only ever grow
        arrays = self._arrays
        seqs = arrays.seqs[:held]
        places = None if allowed is None else np.flatnonzero(_member(seqs, allowed))
        left = max(min(max(int(SIFTED * held), LEAST), MOST_SIFTED), 10 * count)
        if places is None or len(places) > left:
            signs = code_of(query[None, :])[0, : len(arrays.signs)]
            places = _sift(arrays.signs[:, :held], signs, places, left)
        fit = _fit(arrays.steps, places, query)
        return _distinct(seqs[_best(places, fit, count)])


class _Arrays:
    """What a table holds, of one size."""

    def __init__(self, dims: int, room: int):
        self.dims = dims
        self.room = room
        self.seqs = np.zeros(room, dtype=np.int64)
        self.signs = np.zeros((_sign_words(dims), room), dtype=np.uint64)
        self.steps = np.zeros((room, words_in(dims) - _sign_words(dims)), dtype="<u8").view(np.uint8)

    def put(self, at: int, seqs: Seqs, codes: Codes) -> None:
        upto, signs = at + len(seqs), len(self.signs)
        self.seqs[at:upto] = seqs
        self.signs[:, at:upto] = codes[:, :signs].T
        self.steps.view("<u8")[at:upto] = codes[:, signs:]

    def grown(self, count: int, room: int) -> _Arrays:
        """The first `count` codes with room for more."""
        larger = _Arrays(self.dims, room)
        larger.seqs[:count], larger.steps[:count] = self.seqs[:count], self.steps[:count]
        larger.signs[:, :count] = self.signs[:, :count]
        return larger


def _sift(words: Codes, signs: Codes, places: Places | None, count: int) -> Places:
    """The `count` places, of those given or of all, whose signs differ least."""
    if places is None:
        return _smallest(_distances(words, signs), count)
    if len(places) < MOST * words.shape[1]:
        return places[_smallest(_distances(words[:, places], signs), count)]
    return places[_smallest(_distances(words, signs)[places], count)]


def _distances(words: Codes, signs: Codes) -> NDArray[np.uint16]:
    """How many signs of each code differ."""
    total = words.shape[1]
    apart = np.zeros(total, dtype=np.uint16)
    room = np.empty(BLOCK, dtype=np.uint64), np.empty(BLOCK, dtype=np.uint8), np.empty(BLOCK, dtype=np.uint8)
    for start in range(0, total, BLOCK):
        size = min(BLOCK, total - start)
        differing, bits, few = (array[:size] for array in room)
        sums = apart[start : start + size]
        for number, word in enumerate(signs):
            np.bitwise_xor(words[number, start : start + size], word, out=differing)
            # Bytes are added several times as fast as what is wider: the wide sums are touched once in three words.
            if number % COUNTED_WORDS == 0:
                np.bitwise_count(differing, out=few)
            else:
                np.add(few, np.bitwise_count(differing, out=bits), out=few)
            if number % COUNTED_WORDS == COUNTED_WORDS - 1 or number == len(signs) - 1:
                np.add(sums, few, out=sums)
    return apart


def _smallest(apart: NDArray[np.uint16], count: int) -> Places:
    """Places of the `count` smallest, of equals the newer."""
    if count >= len(apart):
        return np.arange(len(apart))
    # A sample says below which distance surely enough lie; only these are counted.
    sample = np.sort(apart[::SAMPLED])
    guess = sample[min(int(LET_THROUGH * count / SAMPLED) + 1, len(sample) - 1)]
    near = np.flatnonzero(apart <= guess)
    if len(near) < count:
        near = np.arange(len(apart))
    among = apart[near]
    # There are few different distances: counting them beats sorting.
    cut = int(np.searchsorted(np.cumsum(np.bincount(among)), count))
    below, equal = near[among < cut], near[among == cut]
    return np.concatenate([below, equal[len(equal) - (count - len(below)) :]])


def _fit(steps: NDArray[np.uint8], places: Places, query: Floats) -> Floats:
    """How well each place fits: the sum of the query's numbers, each times the step that the place has there."""
    half = steps.shape[1]
    padded = np.zeros(2 * half, dtype=np.float32)
    padded[: len(query)] = query
    fit = np.empty(len(places), dtype=np.float32)
    numbers = np.empty((RANKED_BLOCK, half), dtype=np.float32)
    for start in range(0, len(places), RANKED_BLOCK):
        pairs = steps.take(places[start : start + RANKED_BLOCK], axis=0)
        some = numbers[: len(pairs)]
        some[:] = pairs & HIGHEST
        sums = some @ padded[:half]
        some[:] = pairs >> 4
        fit[start : start + RANKED_BLOCK] = sums + some @ padded[half:]
    return fit


def _best(places: Places, fit: Floats, count: int) -> Places:
    """The `count` places that fit best, best first, of equals the newer."""
    if len(places) > count:
        bound = np.partition(fit, len(fit) - count)[len(fit) - count]
        chosen = np.flatnonzero(fit >= bound)
        places, fit = places[chosen], fit[chosen]
    return places[np.lexsort((-places, -fit))[:count]]


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
