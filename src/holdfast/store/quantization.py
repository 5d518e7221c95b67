"""Codes: a vector in four bits a number, and which codes are nearest to a question.

Four bits hold which of sixteen steps a number stands on; their first bit is its sign and is kept once more, packed. A
million codes of 384 numbers take 248 MB with their sequence numbers and are searched whole, in memory: counting
differing signs, each weighted by its size in the query, filters them, the steps rank what is left, and the caller
scores the best few hundred by their vectors. Knows no store.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.store import kernel

Seqs = NDArray[np.int64]
Codes = NDArray[np.uint64]  # for each vector a row: the words of the signs, then those of the steps
Places = kernel.Places
Numbers = NDArray[np.float16] | NDArray[np.float32]
Floats = NDArray[np.float32]

WORD = 64
STEPS_IN_WORD = 16
# Below this share the allowed are looked up one by one.
FEW_ALLOWED = 0.02
# The largest sequence number that is worth a table of all numbers up to it: 64 MB.
TABLE = 1 << 26
# What is left after counting signs: this share, but not fewer or more. Questions may lie far from all that is stored,
# and these too must find 0.99 of the true ten nearest: docs/benchmarks/vectors.md. Of a million,
# half of these 80,000 found 0.98.
SIFTED, LEAST, MOST_SIFTED = 0.1, 5_000, 80_000
# Signs weigh 0 to 3, in steps of this many times the mean size of the question's numbers: a sign of a number near
# zero means nothing.
WEIGHT_STEP, HEAVIEST = 0.82, 3
# The question's numbers as whole ones, for ranking.
LARGEST = 127
# From so many on a second thread walks through half of them: one alone takes 1.7 times as long (bench/mechanisms.py).
# Fewer are done before it has started.
SHARED_FROM = 400_000
# One distance in so many is sampled to estimate where the nearest end, and as many more than wanted pass.
SAMPLED, LET_THROUGH = 61, 1.2
# A step, in multiples of the mean size of a number of a vector of length 1: the best for what is normally spread.
STEP = 0.335
MIDDLE, HIGHEST = 8, kernel.STEP_MASK
TINY = 1e-30  # no vector is so short; what is divided by must not be zero


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
    return np.concatenate([signs, _words(steps[:, :half] | (steps[:, half:] << kernel.STEP_BITS))], axis=1)


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
    together, as only those of a few are read.
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
        asked = _asked(query, len(arrays.signs), arrays.steps.shape[1])
        if allowed is None and held >= SHARED_FROM:
            other = _walker.submit(_fitting, arrays, asked, (0, held // 2), left // 2, count)
            later, fits = _fitting(arrays, asked, (held // 2, held), left // 2, count)
            earlier, fit = other.result()
            places, fit = np.concatenate([earlier, later]), np.concatenate([fit, fits])
        else:
            among = None if allowed is None else _places(seqs, allowed, arrays.ascending)
            places = _sifted(arrays.signs[:, :held], asked, among, left)
            fit = kernel.fit(arrays.steps, places, asked.numbers)
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
        self.ascending = self.ascending and bool((np.diff(self.seqs[max(at - 1, 0) : upto]) >= 0).all())
        self.signs[:, at:upto] = codes[:, :signs].T
        self.steps.view("<u8")[at:upto] = codes[:, signs:]

    def grown(self, count: int, room: int) -> _Arrays:
        """The first `count` codes with room for more."""
        larger = _Arrays(self.dims, room)
        larger.seqs[:count], larger.steps[:count] = self.seqs[:count], self.steps[:count]
        larger.signs[:, :count] = self.signs[:, :count]
        larger.ascending = self.ascending
        return larger


@dataclass(frozen=True, slots=True)
class _QueryCode:
    """A query as codes are compared with it."""

    signs: Codes
    weights: Codes  # of the signs: their low bits, then their high ones
    numbers: kernel.WholeNumbers


def _asked(query: Floats, words: int, half: int) -> _QueryCode:
    size = np.abs(query)
    heavy = np.minimum(np.rint(size / max(WEIGHT_STEP * size.mean(), TINY)), HEAVIEST).astype(np.uint8)
    numbers = np.zeros(2 * half, dtype=np.int8)
    numbers[: len(query)] = np.rint(query * (LARGEST / max(size.max(), TINY)))
    return _QueryCode(code_of(query[None, :])[0, :words], _packed(np.stack([heavy & 1, heavy >> 1]) > 0), numbers)


def _fitting(
    arrays: _Arrays, asked: _QueryCode, part: tuple[int, int], left: int, count: int
) -> tuple[Places, kernel.Fits]:
    """The `count` places in a part of the table that fit best of those left after counting signs, and how well."""
    first, end = part
    places = _sift(arrays.signs[:, first:end], asked, left) + first
    return _best(places, kernel.fit(arrays.steps, places, asked.numbers), count)


def _sifted(words: Codes, asked: _QueryCode, among: Places | None, count: int) -> Places:
    """The `count` places, of those given or of all, whose signs differ least."""
    if among is None:
        return _sift(words, asked, count)
    if len(among) <= count:
        return among
    return among[_sift(words.take(among, axis=1), asked, count)]


def _sift(words: Codes, asked: _QueryCode, count: int) -> Places:
    """The `count` places whose signs differ least, of equals the newer."""
    if count >= words.shape[1]:
        return np.arange(words.shape[1])
    _, sample = kernel.within(words[:, ::SAMPLED], asked.signs, asked.weights)
    places, apart = kernel.within(words, asked.signs, asked.weights, _bound(sample, count))
    if len(places) < count:
        places, apart = kernel.within(words, asked.signs, asked.weights)
    return _smallest(places, apart, count)


def _bound(sample: kernel.Apart, count: int) -> int:
    """A distance within which most likely at least `count` of all lie, by those that were sampled."""
    upto = np.cumsum(np.bincount(sample))
    return min(int(np.searchsorted(upto, LET_THROUGH * count / SAMPLED + 1)), len(upto) - 1)


def _smallest(places: Places, apart: kernel.Apart, count: int) -> Places:
    """The `count` places of the smallest distances, of equals the later ones."""
    # There are few different distances: counting them beats sorting.
    cut = int(np.searchsorted(np.cumsum(np.bincount(apart)), count))
    below, equal = places[apart < cut], places[apart == cut]
    return np.concatenate([below, equal[len(equal) - (count - len(below)) :]])


def _best(places: Places, fit: kernel.Fits, count: int) -> tuple[Places, kernel.Fits]:
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
        first, end = np.searchsorted(seqs, wanted), np.searchsorted(seqs, wanted, "right")
        counts = end - first
        held: Places = np.repeat(end - np.cumsum(counts), counts) + np.arange(counts.sum())
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
    """Each once, in the order of first mention: a record has a code for each part of its text, and older ones too."""
    _, first = np.unique(seqs, return_index=True)
    return seqs[np.sort(first)]
