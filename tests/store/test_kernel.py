"""The loops of a search by meaning: what C says, numpy says, and what either says is so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from rows import each

from holdfast.store import kernel
from holdfast.store.quantization import CodeTable, code_of

SEEDS = st.integers(0, 2**32)


def test_the_loops_are_built_here() -> None:
    """The other tests compare numpy with itself otherwise."""
    assert kernel.is_built(), "no C compiler was found when Holdfast was installed: install one, then holdfast again"


def bits(words: np.ndarray) -> np.ndarray:
    """The bits of words, one in each column."""
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=-1)


@settings(max_examples=60)
@given(SEEDS, st.integers(0, 5_000), st.integers(1, 20), st.sampled_from([0, 3, 500]), st.floats(0, 1))
def test_signs_that_differ_are_counted_by_their_weight(
    seed: int, rows: int, words: int, beside: int, share: float
) -> None:
    """Also in a part of a larger table, whose words lie further apart; those beyond a bound are left out."""
    chance = np.random.default_rng(seed)
    table = chance.integers(0, 2**64, (words, rows + beside), dtype=np.uint64)
    part = table[:, beside // 2 : beside // 2 + rows]
    signs = chance.integers(0, 2**64, words, dtype=np.uint64)
    weights = chance.integers(0, 2**64, (2, words), dtype=np.uint64)
    weight = bits(weights[0]).astype(int) + 2 * bits(weights[1])
    want = (bits(part.T ^ signs).reshape(rows, 64 * words) * weight).sum(axis=1)
    bound = int(np.quantile(want, share)) if rows else 7
    near = np.flatnonzero(want <= bound)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kernel, "BLOCK", 1_000)
        for within in (kernel.within, kernel.numpy_within):
            for held in (part, np.asfortranarray(part)):
                places, apart = within(held, signs, weights)
                assert (places.tolist(), apart.tolist()) == (list(range(rows)), want.tolist())
                places, apart = within(held, signs, weights, bound)
                assert (places.tolist(), apart.tolist()) == (near.tolist(), want[near].tolist())


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 300), st.integers(1, 40), st.integers(0, 3_000))
def test_places_fit_by_the_sum_of_numbers_times_steps(seed: int, rows: int, words: int, count: int) -> None:
    chance = np.random.default_rng(seed)
    steps = chance.integers(0, 256, (rows, 8 * words), dtype=np.uint8)
    numbers = chance.integers(-127, 128, 16 * words, dtype=np.int8)
    places = chance.integers(0, rows, count)
    taken = np.concatenate([steps & 15, steps >> 4], axis=1)[places].astype(int)
    want = (taken * numbers).sum(axis=1)
    for fit in (kernel.fit, kernel.numpy_fit):
        assert fit(steps, places, numbers).tolist() == want.tolist()


@each("position", [-5, -1, 4, 2**62])
def test_a_place_that_is_not_there_is_refused(position: int) -> None:
    steps, numbers = np.zeros((4, 8), np.uint8), np.ones(16, np.int8)
    for fit in (kernel.fit, kernel.numpy_fit):
        with pytest.raises(IndexError):
            fit(steps, np.array([0, position, 3]), numbers)


def test_what_c_would_take_for_something_else_is_refused() -> None:
    words, signs, weights = np.zeros((2, 5), np.uint64), np.zeros(2, np.uint64), np.zeros((2, 2), np.uint64)
    steps, places, numbers = np.zeros((4, 8), np.uint8), np.arange(3), np.ones(16, np.int8)
    for wrong in (
        lambda: kernel.within(words, signs[:1], weights),
        lambda: kernel.within(words, signs, weights[:1]),
        lambda: kernel.within(words.astype(np.int64), signs, weights),
        lambda: kernel.fit(steps, places, numbers[:3]),
        lambda: kernel.fit(steps, places, numbers.astype(np.int16)),
        lambda: kernel.fit(steps[:, ::2], places, numbers[:8]),
    ):
        with pytest.raises(ValueError, match="other sizes or types"):
            wrong()


def test_queries_may_lie_apart_in_memory() -> None:
    chance = np.random.default_rng(1)
    words, wide = chance.integers(0, 2**64, (3, 50), dtype=np.uint64), chance.integers(0, 2**64, 6, dtype=np.uint64)
    weights = chance.integers(0, 2**64, (2, 3), dtype=np.uint64)
    steps, numbers = chance.integers(0, 256, (9, 8), dtype=np.uint8), chance.integers(-127, 128, 32, dtype=np.int8)
    for signs in (wide[::2], wide[::-2]):
        assert (
            kernel.within(words, signs, weights)[1].tolist() == kernel.numpy_within(words, signs, weights)[1].tolist()
        )
    for some in (numbers[::2], numbers[::-2]):
        assert kernel.fit(steps, np.arange(9), some).tolist() == kernel.numpy_fit(steps, np.arange(9), some).tolist()


def found(table: CodeTable, queries: np.ndarray) -> list[list[int]]:
    few = np.arange(0, 9_000, 3)
    return [table.nearest(one, 40, allowed).tolist() for one in queries for allowed in (None, few)]


def test_a_search_finds_the_same_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(4).standard_normal((9_000, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    table = CodeTable(384)
    table.append(np.arange(9_000), code_of(rows))
    in_c = found(table, rows[:30])
    monkeypatch.setattr(kernel, "_library", None)
    assert not kernel.is_built()
    assert found(table, rows[:30]) == in_c
