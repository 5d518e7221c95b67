"""Texts are put together by length: none lost, none twice, little padding, bounded work."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from holdfast.index.batches import BATCH_TOKENS, batches

pytestmark = pytest.mark.quick

lengths = st.lists(st.integers(2, 256), max_size=200)


@given(lengths)
def test_every_text_is_in_exactly_one_batch(sizes: list[int]) -> None:
    assert sorted(place for batch in batches(sizes) for place in batch) == list(range(len(sizes)))


@given(lengths)
def test_no_batch_is_larger_than_the_limit_with_its_padding(sizes: list[int]) -> None:
    assert all(max(sizes[place] for place in batch) * len(batch) <= BATCH_TOKENS for batch in batches(sizes))


@given(lengths)
def test_batches_go_from_long_to_short(sizes: list[int]) -> None:
    order = [sizes[place] for batch in batches(sizes) for place in batch]
    assert order == sorted(sizes, reverse=True)


def test_a_text_beyond_the_limit_is_alone() -> None:
    assert batches([5, 900, 5], limit=100) == [[1], [0, 2]]
