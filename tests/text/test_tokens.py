"""The estimate of tokens beside what published vocabularies counted for the same texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rows import each

from holdfast.text.tokens import estimate

pytestmark = pytest.mark.quick

COUNTED = json.loads((Path(__file__).parent / "counted_tokens.json").read_text(encoding="utf-8"))
# What hardly occurs in memories may be overcounted more: no budget is spent on it.
EMPTY = {"spaces", "tabs", "newlines"}


@each("sample", COUNTED)
def test_the_estimate_is_near_the_dearest_count(sample: dict[str, Any]) -> None:
    dearest = max(sample["counts"].values())
    assert 0.93 * dearest <= estimate(sample["text"]) <= (1.7 if sample["kind"] in EMPTY else 1.35) * dearest + 1


def test_nothing_costs_nothing() -> None:
    assert estimate("") == 0


@given(st.text(max_size=300))
def test_any_text_costs_something_and_at_most_its_bytes(text: str) -> None:
    tokens = estimate(text)
    assert tokens <= 2 * len(text.encode("utf-8", "surrogatepass"))
    if text.strip():
        assert tokens > 0


@given(st.text(max_size=100), st.text(max_size=100))
def test_more_text_of_the_same_kind_costs_no_less(first: str, second: str) -> None:
    assert estimate(first + first) + 1 >= estimate(first)
    assert estimate(f"{first}\n{second}") <= 3 * (estimate(first) + estimate(second) + 2)


@each("piece", ["a", "A", "Aa", "1", " ", "\n", "-", "-=", "<a>", "é", "中", "\U0001f680", "aB3x"])
def test_long_runs_come_to_an_end(piece: str) -> None:
    assert estimate(piece * 50_000) > 0
