"""Codes: a vector in four bits a number, and which codes are nearest to a question.

Four bits tell which of sixteen steps a number stands on; their first bit is its sign and is kept once more, packed. A
million codes of 384 numbers take 248 MB with their sequence numbers and are searched whole, in memory: counting
differing signs sifts them, the steps rank what is left, and whoever asks scores the best few hundred by their vectors.
Knows no store.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

Seqs = NDArray[np.int64]
Codes = NDArray[np.uint64]  # for each vector a row: the words of the signs, then those of the steps
Places = NDArray[np.intp]
Numbers = NDArray[np.float16] | NDArray[np.float32]
Floats = NDArray[np.float32]
Distances = NDArray[np.uint8] | NDArray[np.uint16]

WORD = 64
STEPS_IN_WORD = 16
# Codes compared at once: the working arrays of a block stay in the cache (1 MB). Each call of numpy ends with waiting
# for the interpreter: two threads that walk by 16,384 took as long as one, 8 ms for 1,000,000; by so many, 5.
BLOCK = 131_072
# The bits of so many words are counted in one byte.
COUNTED_WORDS = 3
# From this share of the codes on it is cheaper to compare all than to pick the allowed ones first.
MOST = 0.3
# Below this share the allowed are looked up one by one.
FEW_ALLOWED = 0.02
# The largest sequence number that is worth a table of all numbers up to it: 64 MB.
TABLE = 1 << 26
# What is left after counting signs: this share, but not fewer or more. Questions lie far from what is stored: of
# 1,000,000, 12,000 held 0.981 of the true ten nearest, 24,000 0.990, 48,000 0.995; see docs/benchmarks/vectors.md.
SIFTED, LEAST, MOST_SIFTED = 0.1, 3_000, 36_000
# From so many codes on the half of the signs that matters most to the query is counted first, and the other half only
# of this share: half the memory is walked through.
ROUGH_FROM, ROUGH = 200_000, 0.15
# From so many on a second thread walks through half of them. Fewer are walked through before it is awake.
SHARED_FROM = 400_000
# A distance in so many is looked at to guess where the nearest end, and as many more than wanted are let through.
SAMPLED, LET_THROUGH = 61, 1.2
# Codes ranked at once: as numbers they stay in the cache.
RANKED_BLOCK = 1_024
# A step, in multiples of the mean size of a number of a vector of length 1: the best for what is normally spread.
STEP = 0.335
MIDDLE, HIGHEST = 8, 15


_walker = ThreadPoolExecutor(2, "codes")


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
        left = max(min(max(int(SIFTED * held), LEAST), MOST_SIFTED), 10 * count)
        if allowed is None and held >= SHARED_FROM:
            # Two walk faster than one: numpy lets go of the interpreter while it counts.
            other = _walker.submit(_fitting, arrays, query, (0, held // 2), left // 2, count)
            later, fits = _fitting(arrays, query, (held // 2, held), left // 2, count)
            earlier, fit = other.result()
            places, fit = np.concatenate([earlier, later]), np.concatenate([fit, fits])
        else:
            places = np.arange(held) if allowed is None else _places(seqs, allowed, arrays.ascending)
            if len(places) > left:
                places = _sift(arrays.signs[:, :held], query, None if allowed is None else places, left)
            fit = _fit(arrays.steps, places, query)
        return _distinct(seqs[_best(places, fit, count)[0]])


class _Arrays:
    """What a table holds, of one size."""

    def __init__(self, dims: int, room: int):
        self.dims = dims
        self.room = room
        self.ascending = True  # the sequence numbers; records that got their vector late make it false
        self.seqs = np.zeros(room, dtype=np.int64)
        self.signs = np.zeros((_sign_words(dims), room), dtype=np.uint64)
        self.steps = np.zeros((room, words_in(dims) - _sign_words(dims)), dtype="<u8").view(np.uint8)

    def put(self, at: int, seqs: Seqs, codes: Codes) -> None:
        upto, signs = at + len(seqs), len(self.signs)
        self.seqs[at:upto] = seqs
        self.ascending = self.ascending and bool((np.diff(self.seqs[max(at - 1, 0) : upto]) > 0).all())
        self.signs[:, at:upto] = codes[:, :signs].T
        self.steps.view("<u8")[at:upto] = codes[:, signs:]

    def grown(self, count: int, room: int) -> _Arrays:
        """The first `count` codes with room for more."""
        larger = _Arrays(self.dims, room)
        larger.seqs[:count], larger.steps[:count] = self.seqs[:count], self.steps[:count]
        larger.signs[:, :count] = self.signs[:, :count]
        larger.ascending = self.ascending
        return larger


def _fitting(arrays: _Arrays, query: Floats, part: tuple[int, int], left: int, count: int) -> tuple[Places, Floats]:
    """The `count` places in a part of the table that fit best of those left after counting signs, and how well."""
    first, end = part
    places = _sift(arrays.signs[:, first:end], query, None, left) + first
    return _best(places, _fit(arrays.steps, places, query), count)


def _sift(words: Codes, query: Floats, places: Places | None, count: int) -> Places:
    """The `count` places, of those given or of all, whose signs differ least."""
    signs = code_of(query[None, :])[0, : len(words)]
    if places is not None and len(places) < MOST * words.shape[1]:
        return places[_smallest(_distances(words[:, places], signs), count)]
    if places is not None:
        return places[_smallest(_distances(words, signs)[places], count)]
    if words.shape[1] < ROUGH_FROM:
        return _smallest(_distances(words, signs), count)
    return _sift_twice(words, signs, _weight(query, len(words)), count)


def _weight(query: Floats, words: int) -> Floats:
    """How large the query's numbers are, for each word of signs."""
    padded = np.zeros(words * WORD, dtype=np.float32)
    padded[: len(query)] = np.abs(query)
    weight: Floats = padded.reshape(words, WORD).sum(axis=1)
    return weight


def _sift_twice(words: Codes, signs: Codes, weight: Floats, count: int) -> Places:
    """The same of all places: first by the heavier half of the words, then by all."""
    order = np.argsort(-weight, kind="stable").tolist()
    half = -(-len(order) // 2)
    apart = _distances(words, signs, order[:half])
    places = np.flatnonzero(apart <= _bound(apart, max(int(ROUGH * len(apart)), 2 * count)))
    whole = apart.take(places).astype(np.uint16)
    for number in order[half:]:
        whole += np.bitwise_count(words[number].take(places) ^ signs[number])
    return places[_smallest(whole, count)]


def _distances(words: Codes, signs: Codes, numbers: list[int] | None = None) -> Distances:
    """How many signs of each code differ, in the words of these numbers or in all."""
    chosen = list(range(len(signs))) if numbers is None else numbers
    apart: Distances = _few_distances(words, signs, chosen[:COUNTED_WORDS])
    for first in range(COUNTED_WORDS, len(chosen), COUNTED_WORDS):
        apart = apart.astype(np.uint16, copy=False)
        apart += _few_distances(words, signs, chosen[first : first + COUNTED_WORDS])
    return apart


def _few_distances(words: Codes, signs: Codes, numbers: list[int]) -> NDArray[np.uint8]:
    """The same in so few words that a byte holds the number: bytes are added several times as fast as what is wider."""
    total = words.shape[1]
    apart = np.zeros(total, dtype=np.uint8)
    differing, bits = np.empty(BLOCK, dtype=np.uint64), np.empty(BLOCK, dtype=np.uint8)
    for start in range(0, total, BLOCK):
        size = min(BLOCK, total - start)
        sums = apart[start : start + size]
        for number in numbers:
            np.bitwise_xor(words[number, start : start + size], signs[number], out=differing[:size])
            np.add(sums, np.bitwise_count(differing[:size], out=bits[:size]), out=sums)
    return apart


def _bound(apart: Distances, count: int) -> int:
    """A distance within which most likely at least `count` lie, by a sample."""
    upto = np.cumsum(np.bincount(apart[::SAMPLED]))
    return min(int(np.searchsorted(upto, LET_THROUGH * count / SAMPLED + 1)), len(upto) - 1)


def _smallest(apart: Distances, count: int) -> Places:
    """Places of the `count` smallest, of equals the newer."""
    if count >= len(apart):
        return np.arange(len(apart))
    near = np.flatnonzero(apart <= _bound(apart, count))  # only these are counted
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
    pairs = steps.take(places, axis=0)
    for start in range(0, len(places), RANKED_BLOCK):
        some = pairs[start : start + RANKED_BLOCK]
        # Cut out and made a float in one call: a quarter less time, and half the calls that wait for the interpreter.
        low = np.bitwise_and(some, HIGHEST, out=numbers[: len(some)], casting="unsafe") @ padded[:half]
        high = np.right_shift(some, 4, out=numbers[: len(some)], casting="unsafe") @ padded[half:]
        fit[start : start + RANKED_BLOCK] = low + high
    return fit


def _best(places: Places, fit: Floats, count: int) -> tuple[Places, Floats]:
    """The `count` places that fit best, best first, of equals the newer, and how well each fits."""
    if len(places) > count:
        bound = np.partition(fit, len(fit) - count)[len(fit) - count]
        chosen = np.flatnonzero(fit >= bound)
        places, fit = places[chosen], fit[chosen]
    order = np.lexsort((-places, -fit))[:count]
    return places[order], fit[order]


def _places(seqs: Seqs, allowed: Seqs, ascending: bool) -> Places:
    """Where the allowed stand among `seqs`."""
    if ascending and len(seqs) and len(allowed) < FEW_ALLOWED * len(seqs):
        wanted = np.unique(allowed)
        at = np.searchsorted(seqs, wanted)
        held: Places = at[seqs.take(at, mode="clip") == wanted]
        return held
    return np.flatnonzero(_member(seqs, allowed))


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
