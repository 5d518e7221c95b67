"""A search over both kinds of records: what is rare, and how much is compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hashing_embedder import HashingEmbedder
from world import DAY, World

from holdfast.core.model import CleanText
from holdfast.core.ports import Vectors
from holdfast.recall import dedupe, flow
from holdfast.recall.time.dates import day_of


class CountingEmbedder(HashingEmbedder):
    """Counts the questions."""

    def __init__(self) -> None:
        super().__init__()
        self.questions = 0

    def embed_query(self, text: CleanText) -> Vectors:
        self.questions += 1
        return super().embed_query(text)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_a_day_does_not_decide_what_is_rare(world: World) -> None:
    """Its sessions bring more candidates along than all the others, and two of the three words were not said on it."""
    for number in range(150):
        world.observe(f"a{number}", hook="user_prompt_submit", prompt=f"granite basalt for wall x{number}y")
        world.observe(f"b{number}", hook="user_prompt_submit", prompt=f"only gravel m{number}p for us all")
    world.clock.now += 60 * DAY
    day = day_of(world.clock.now)
    for session in range(25):
        for turn in range(9):
            text = f"granite for wall z{session}y" if turn == 4 else f"crew talk q{session}w{turn}"
            world.observe(f"c{session}", hook="user_prompt_submit", prompt=text)
    world.clock.now += 60 * DAY

    found = world.call("search", query=f"granite basalt gravel {day}")["results"][:6]
    assert [" z" in one["title"] for one in found] == [True] * 6


def test_a_single_memory_does_not_decide_what_is_rare_among_observations(world: World) -> None:
    world.observe("s0", hook="user_prompt_submit", prompt="basalt in some wall of another house over there")
    for number in range(1, 30):
        world.clock.now += DAY
        world.observe(f"s{number}", hook="user_prompt_submit", prompt=f"granite in wall {number}")
    world.call("remember", content="Nothing about stones at all")
    assert world.found("granite basalt")[0] == world.found("basalt")[0]


def test_answers_from_several_sessions_compare_no_more_than_are_wanted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        world.observe(f"s{number}", hook="user_prompt_submit", prompt=f"granite of quarry {number}")
    compared = list[Any]()
    alike = dedupe._is_similar
    monkeypatch.setattr(dedupe, "_is_similar", lambda *pair: compared.append(pair) or alike(*pair))
    assert len(world.found("granite", limit=3, perSession=1)) == 3
    looked_at = 3 * 3 + flow.TURNS_MORE  # more than wanted: some may be of one turn
    assert len(compared) == looked_at * (looked_at - 1) / 2


def test_a_question_is_embedded_once_and_not_where_there_is_nothing_to_find(tmp_path: Path) -> None:
    embedder = CountingEmbedder()
    world = World(tmp_path, model=embedder)
    world.call("remember", content="granite of the quarry", project="stones")
    world.observe("s1", hook="user_prompt_submit", prompt="granite in the wall")
    assert world.found("granite", project="another") == []
    assert embedder.questions == 0
    assert len(world.found("granite")) == 2
    assert embedder.questions == 1
    world.close()
