"""Rows that are not compacted give the same postings as texts and by term."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given, strategies as st
from rows import each

from holdfast.store.fulltext import parts
from holdfast.store.fulltext.parts import Tail
from holdfast.store.fulltext.postings import WordRow

TERMS = st.text("aà\x01=.b", min_size=1, max_size=3)
ROWS = st.lists(st.dictionaries(TERMS, st.integers(0, 65_535), max_size=6), max_size=8)


def tail_of(rows: list[dict[str, int]], at_once: int = 1) -> Tail:
    tail, stored = Tail(), []
    for number, counts in enumerate(rows):
        terms = sorted(counts)
        weights = array("H", [counts[term] for term in terms]).tobytes()
        stored.append(WordRow(number + 1, number + 1, 0, len(terms), "\n".join(terms), weights))
    for first in range(0, len(stored), at_once):
        tail.add(stored[first : first + at_once])
    return tail


def found(tail: Tail, term: str) -> list[tuple[int, int]]:
    posting = tail.part([term]).postings.get(term)
    return [] if posting is None else list(zip(posting.places.tolist(), posting.weights.tolist(), strict=True))


@given(ROWS, TERMS, st.integers(0, 9), st.integers(1, 9))
def test_a_term_is_found_in_the_rows_that_hold_it_however_many_there_are_or_come_at_once(
    rows: list[dict[str, int]], other: str, kept: int, at_once: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "TEXT_ROWS", kept)
        tail = tail_of(rows, at_once)
    for term in {other, *(term for counts in rows for term in counts)}:
        assert found(tail, term) == [(place, counts[term]) for place, counts in enumerate(rows) if term in counts]


def test_a_row_that_comes_after_a_look_is_found_by_the_next() -> None:
    tail = tail_of([{"amber": 2}])
    assert found(tail, "amber") == [(0, 2)]
    tail.add([WordRow(2, 2, 0, 1, "amber", array("H", [4]).tobytes())])
    assert found(tail, "amber") == [(0, 2), (1, 4)]


@each("term", ["", "amber\nbasalt", "\n", "\ud800"])
def test_what_is_no_term_is_found_nowhere(term: str) -> None:
    assert found(tail_of([{"amber": 2, "basalt": 2}, {}]), term) == []
