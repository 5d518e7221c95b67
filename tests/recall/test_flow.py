"""A search over both kinds of records: what is rare, and how much is compared."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hashing_embedder import HashingEmbedder
from patience import WAIT_SECONDS
from world import DAY, World

from holdfast.core.model import CleanText
from holdfast.core.ports import Vectors
from holdfast.recall import candidates, dedupe, flow
from holdfast.recall.time.dates import day_of


class SlowEmbedder(HashingEmbedder):
    """Gives a question's vector once it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.gave_up = False

    def embed_query(self, text: CleanText) -> Vectors:
        self.gave_up = not self.go_on.wait(WAIT_SECONDS)
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


def test_all_that_needs_no_meaning_is_read_while_the_vector_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder, read = SlowEmbedder(), list[int]()
    world = World(tmp_path, model=embedder)
    world.call("remember", content="granite of the quarry")
    world.observe("s1", hook="user_prompt_submit", prompt="granite in the wall")
    look = flow.match_words

    def noted(*asked: Any) -> Any:
        looked = look(*asked)
        read.append(len(looked.rows))
        if len(read) == 2:
            embedder.go_on.set()
        return looked

    monkeypatch.setattr(flow, "match_words", noted)
    assert len(world.found("granite")) == 2
    assert read == [1, 1]
    assert not embedder.gave_up
    world.close()


def test_what_is_read_while_the_vector_is_made_answers_as_what_is_read_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder, early = SlowEmbedder(), candidates._prefetch
    embedder.go_on.set()
    world = World(tmp_path, model=embedder)
    for number in range(8):
        world.call("remember", content=f"granite of quarry {number} {'in the wall ' * number}")
    world.follow()
    world.call("remember", content="granite without a vector yet")
    read = list[Any]()

    def noted(*asked: Any) -> Any:
        read.append(early(*asked))
        embedder.go_on.set()
        return read[-1]

    def why() -> list[Any]:
        return [(hit["id"], hit["why"]) for hit in world.call("search", query="granite wall", explain=True)["results"]]

    monkeypatch.setattr(candidates, "_nearest", lambda *asked: {})  # these would be scored on the way
    monkeypatch.setattr(candidates, "_prefetch", noted)
    embedder.go_on.clear()
    first = why()
    assert [len(one.vectors.seqs) for one in read] == [8]
    monkeypatch.setattr(candidates, "_prefetch", lambda *asked: None)
    assert first == why()
    assert len(first) == 9
    world.close()


def test_nobody_waits_for_a_vector_where_there_is_nothing_to_find(tmp_path: Path) -> None:
    embedder = SlowEmbedder()
    world = World(tmp_path, model=embedder)
    world.call("remember", content="granite of the quarry", project="stones")
    assert world.found("granite", project="another") == []
    assert not embedder.gave_up
    embedder.go_on.set()
    world.close()
