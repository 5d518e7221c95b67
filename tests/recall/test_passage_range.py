"""The passage of a hit is a part of its record's text, and its range says which."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from rows import each
from world import World

from holdfast.recall.passage import passage_range

FILLER = "The crew talked of other things for a while. "
FACT = "The loader listens on port 7171."


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@each("before", [0, 40, 4_000])
def test_the_passage_of_a_long_text_holds_the_answer(before: int) -> None:
    text = FILLER * before + FACT + "\n" + FILLER * 40
    start, end = passage_range(text, "which port has the loader", 200)
    assert FACT in text[start:end]
    assert end - start <= 200


def test_a_text_that_fits_is_its_own_passage_and_one_without_a_word_begins_at_its_beginning() -> None:
    assert passage_range(f" {FACT} {FILLER}\n", "which port has the loader", 480) == (1, len(FACT) + 1 + len(FILLER))
    start, end = passage_range(FILLER * 40, "zebra", 200)
    assert (start, end <= 200, (FILLER * 40)[end - 1]) == (0, True, ".")


@given(
    text=st.text(alphabet="ab .!\n。\u4e2d\U0001f389", max_size=300),
    query=st.text("ab \u4e2d", max_size=20),
    chars=st.integers(1, 90),
)
def test_a_range_lies_within_any_text_and_is_no_longer_than_wanted(text: str, query: str, chars: int) -> None:
    start, end = passage_range(text, query, chars)
    assert 0 <= start <= end <= len(text)
    assert end - start <= chars
    assert (end > start) == bool(text.strip())
    assert text[start:end] == text[start:end].strip()


@pytest.mark.parametrize("operation", ["search", "smart_search"])
def test_every_hit_has_its_passage_and_the_range_in_its_text(world: World, operation: str) -> None:
    long = FILLER * 40 + "\U0001f389 " + FACT + " " + FILLER * 40
    world.call("remember", content=long)
    world.observe(hook="assistant_message", message=long)
    hits = world.call(operation, query="which port has the loader")["results"]
    assert len(hits) == 2
    for hit in hits:
        assert FACT in hit["passage"]
        assert hit["passage"] == long[hit["start"] : hit["end"]]


def test_the_passages_that_agents_read_say_where_they_stand(world: World) -> None:
    long = FILLER * 40 + FACT + " " + FILLER * 40
    world.call("remember", content=long)
    (hit,) = world.call("search", query="which port has the loader", format="passages")["results"]
    assert FACT in hit["text"]
    assert FACT in long[hit["start"] : hit["end"]]


def test_enrich_tells_the_passage_of_a_long_memory(world: World) -> None:
    world.call("remember", content=FILLER * 40 + "See loader.py: it listens on port 7171. " + FILLER * 40)
    assert "listens on port 7171" in world.call("enrich", terms=["loader.py", "port"])["context"]
