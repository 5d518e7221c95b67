"""The two loops in which a search by meaning spends its time: in C where that was built, in numpy where not.

Both give the same bits: all numbers are whole. The C (kernel.c, built by an installation that finds a C compiler) takes
a third of the time and runs without the interpreter's lock, so that two threads share a search. Without it a search of
a million vectors takes 1.6 times as long, of 100,000 1.2 times (bench/vectors.py).
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Apart = NDArray[np.uint16]
Places = NDArray[np.intp]
Steps = NDArray[np.uint8]
WholeNumbers = NDArray[np.int8]
Fits = NDArray[np.int32]

# Rows per numpy step: its working arrays stay in the cache.
BLOCK, FITTED_BLOCK = 131_072, 1_024
STEP_BITS, STEP_MASK = 4, 15
NO_PLACE = "there is no such place"
EVERY = (1 << 16) - 1  # a bound that none is beyond

_size, _pointer = ctypes.c_size_t, ctypes.c_void_p


def _built() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(str(Path(__file__).with_suffix(".native")))
        words = (_pointer, _size, _size, _size)
        library.holdfast_within_1.argtypes = (*words, _pointer, _pointer, ctypes.c_uint64, _pointer, _pointer)
        library.holdfast_within_1.restype = _size
        library.holdfast_fit_1.argtypes = (_pointer, _size, _size, _pointer, _size, _pointer, _pointer)
        library.holdfast_fit_1.restype = _size
    except (OSError, AttributeError):  # not there, of another machine, or of another version
        return None
    return library


_library = _built()


def is_built() -> bool:
    """Whether the loops run in C here."""
    return _library is not None


def within(words: Words, signs: Words, weights: Words, bound: int = EVERY) -> tuple[Places, Apart]:
    """The codes that are no further from the query than the bound, in order, and how far they are.

    How far is how many signs differ, each counted by what the query's number weighs there. A row of `words` is one word
    of the signs of all codes. `weights` has two rows: the low bits of the weights, 0 to 3, then the high ones.
    """
    if _library is None:
        return numpy_within(words, signs, weights, bound)
    if words.strides[1] != words.itemsize:
        words = np.ascontiguousarray(words)
    signs, weights, (count, rows) = np.ascontiguousarray(signs), np.ascontiguousarray(weights), words.shape
    _check(signs.shape == (count,) and weights.shape == (2, count))
    _check(words.dtype == signs.dtype == weights.dtype == np.uint64)
    places, apart = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.uint16)
    table = words.ctypes.data, words.strides[0] // words.itemsize, rows, count
    query = signs.ctypes.data, weights.ctypes.data, bound
    found = _library.holdfast_within_1(*table, *query, places.ctypes.data, apart.ctypes.data)
    return places[:found], apart[:found]


def fit(steps: Steps, places: Places, numbers: WholeNumbers) -> Fits:
    """How well each place fits: the sum of the query's numbers, each times the step that the place has there.

    A byte of `steps` holds the step of one number, then in its high bits that of the number half of them further on.

    Raises:
        IndexError: there is no such place.
    """
    if _library is None:
        return numpy_fit(steps, places, numbers)
    places, fits = np.ascontiguousarray(places, dtype=np.int64), np.empty(len(places), dtype=np.int32)
    numbers, (held, half) = np.ascontiguousarray(numbers), steps.shape
    _check(steps.dtype == np.uint8 and steps.flags.c_contiguous)
    _check(numbers.dtype == np.int8 and numbers.shape == (2 * half,))
    given = places.ctypes.data, len(places), numbers.ctypes.data, fits.ctypes.data
    if _library.holdfast_fit_1(steps.ctypes.data, held, half, *given) != len(places):
        raise IndexError(NO_PLACE)
    return fits


def _check(fits: bool) -> None:
    """Refuse arguments that are not what the C code expects: nothing there would notice."""
    if not fits:
        raise ValueError("arrays of other sizes or types than are compared")


def numpy_within(words: Words, signs: Words, weights: Words, bound: int = EVERY) -> tuple[Places, Apart]:
    """`within` in numpy."""
    count, rows = words.shape
    apart = np.zeros(rows, dtype=np.uint16)
    size = min(BLOCK, rows)
    differing, weighing = np.empty(size, dtype=np.uint64), np.empty(size, dtype=np.uint64)
    for start in range(0, rows, BLOCK):
        some, sums = slice(min(BLOCK, rows - start)), apart[start : start + BLOCK]
        for number in range(count):
            np.bitwise_xor(words[number, start : start + BLOCK], signs[number], out=differing[some])
            np.bitwise_and(differing[some], weights[1, number], out=weighing[some])
            heavy = np.bitwise_count(weighing[some])
            heavy += heavy
            np.bitwise_and(differing[some], weights[0, number], out=weighing[some])
            heavy += np.bitwise_count(weighing[some])  # at most 3 for each of 64 bits: a byte holds it
            sums += heavy
    places = np.flatnonzero(apart <= bound)
    return places, apart[places]


def numpy_fit(steps: Steps, places: Places, numbers: WholeNumbers) -> Fits:
    """`fit` in numpy, by floats: they are multiplied several times as fast, and exact for whole numbers below 2^24."""
    half = steps.shape[1]
    low, high = numbers[:half].astype(np.float32), numbers[half:].astype(np.float32)
    if places.min(initial=0) < 0:
        raise IndexError(NO_PLACE)
    fits = np.empty(len(places), dtype=np.int32)
    cut = np.empty((FITTED_BLOCK, half), dtype=np.float32)
    pairs = steps.take(places, axis=0)
    for start in range(0, len(places), FITTED_BLOCK):
        some = pairs[start : start + FITTED_BLOCK]
        # Cut out and made a float in one call: a quarter less time, and half the calls that wait for the interpreter.
        sums = np.bitwise_and(some, STEP_MASK, out=cut[: len(some)], casting="unsafe") @ low
        sums += np.right_shift(some, STEP_BITS, out=cut[: len(some)], casting="unsafe") @ high
        fits[start : start + FITTED_BLOCK] = sums
    return fits
