"""What was stored a moment ago and has no vector yet is found as well as anything else, by its words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hashing_embedder import HashingEmbedder
from talk import turn
from world import World

PARTS = ("harbour crane", "ferry engine", "tide gauge", "signal lamp", "mooring winch")
ACTS = ("was oiled", "was painted", "failed its check", "got a new cable", "was moved inland")
WHY = (
    "after the storm in March",
    "because the keeper had complained",
    "before the inspector came",
    "once the spare parts had arrived",
    "though no one had asked for it",
    "when the new season began",
    "while the pier was closed",
    "as the handbook says",
)
OTHERS = [f"The {part} {act} {why}." for part in PARTS for act in ACTS for why in WHY]

FRESH = {
    "The north gate of the lock sticks at low water since the hinge was bent.": "why does the north gate stick",
    "Diesel for the ferry is ordered from Olsen on the first of the month.": "where do we order diesel for the ferry",
    "The signal lamp runs on 24 volts; 12 volts burnt the relay of the lamp.": "how many volts does the signal lamp take",
    "Ferry engine oil is changed every 250 hours, not every 400.": "how often is the oil of the ferry engine changed",
}


@pytest.fixture
def harbour(tmp_path: Path) -> World:
    world = World(tmp_path / "memory", model=HashingEmbedder())
    for text in OTHERS:
        world.call("remember", content=text)
    world.follow()
    return world


@pytest.mark.parametrize("text", FRESH)
def test_a_record_stands_without_its_vector_where_it_stands_with_it(harbour: World, text: str) -> None:
    made = harbour.call("remember", content=text)["memory"]["id"]

    without = harbour.found(FRESH[text], limit=20)
    harbour.follow()
    with_vector = harbour.found(FRESH[text], limit=20)

    assert len(OTHERS) == 200
    assert with_vector.index(made) <= 1
    assert without.index(made) <= with_vector.index(made) + 1
    harbour.close()


def test_a_new_record_that_shares_a_chance_word_does_not_push_out_the_answer(harbour: World) -> None:
    answer = harbour.call("remember", content="The north gate of the lock sticks at low water since the hinge bent.")
    harbour.follow()
    harbour.call("remember", content="A north wind blew on Tuesday and the market was nearly empty.")

    assert harbour.found("why does the north gate of the lock stick")[0] == answer["memory"]["id"]
    harbour.close()


def test_a_new_record_stands_above_a_turn_that_matches_less(tmp_path: Path) -> None:
    world = World(tmp_path / "memory", model=HashingEmbedder())
    for at, said in enumerate(OTHERS[:20]):
        turn(world, f"What about number {at}?", said)
    world.call("remember", content="Release tags are cut on Thursdays.")
    world.follow()
    made = world.call("remember", content="Zebra crossing fonts are cut on Thursdays.")["memory"]["id"]

    assert world.found("when are zebra crossing fonts cut", limit=1) == [made]
    world.close()
