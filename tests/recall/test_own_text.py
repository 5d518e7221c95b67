"""Every stored record is found by its own words, itself or in the group of a hit that says the same."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from world import DAY, World

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import lookalikes
from sets import Collection

ROOT = Path(__file__).parents[2]
FIRST = 3
OWN = lookalikes.own_sets()
OTHERS = lookalikes.other_sets(Path(os.environ.get("BENCH_DATA", ROOT.parent / "shared" / "bench")))
# How many records of a set are asked for; bench/lookalikes.py asks for each.
MOST, MOST_OF_OTHERS = 250, 50


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def shown(world: World, query: str, limit: int = FIRST, **bounds: Any) -> set[str]:
    return lookalikes.shown_ids(world.call("search", query=query, limit=limit, **bounds)["results"])


@pytest.mark.parametrize("collection", OWN, ids=lambda one: one.name)
def test_a_record_is_found_by_its_own_text(collection: Collection) -> None:
    assert lookalikes.lost(collection, most=MOST) == []


@pytest.mark.parametrize("collection", OTHERS, ids=lambda one: one.name)
def test_a_record_of_other_data_is_found_by_its_own_text(collection: Collection) -> None:
    assert lookalikes.lost(collection, most=MOST_OF_OTHERS) == []


@pytest.mark.parametrize("half", ["tuned", "held"])
def test_turns_that_differ_in_a_name_a_number_or_a_not_are_no_versions(half: str) -> None:
    pairs = [one for one in lookalikes.pairs(half) if not one.same]
    assert {kind: count for kind, (count, _) in lookalikes.became_versions(pairs).items() if count} == {}
    assert len(pairs) > 500


def test_many_records_of_one_short_text_are_one_group(world: World) -> None:
    ids = []
    for day in range(130):
        told = world.call("remember", content="Yes, last Friday!", sessionId=f"s{day}", createdAt=world.clock.now)
        ids.append(told["memory"]["id"])
        world.clock.now += DAY
    for number in range(30):
        world.call("remember", content=f"Friday was yes yes last last last week, friday number {number}")
    hits = world.call("search", query="yes, last friday", limit=FIRST)["results"]
    (group,) = [hit for hit in hits if hit["id"] in ids]
    assert {group["id"], *group["also"]} == set(ids)
    assert len(group["also"]) == len(ids) - 1


def test_a_prompt_and_each_message_of_its_turn_are_found_by_their_own_text(world: World) -> None:
    texts = ["which port has the loader", "the loader listens on 7171", "and the reader on 7172"]
    hooks = ("user_prompt_submit", "assistant_message", "assistant_message")
    world.observe(hook=hooks[0], prompt=texts[0])
    for hook, text in zip(hooks[1:], texts[1:], strict=True):
        world.clock.now += 1_000
        world.observe(hook=hook, message=text)
    world.clock.now += DAY
    for number in range(20):
        world.observe(f"o{number}", hook="user_prompt_submit", prompt=f"which port has the loader of site {number}")
    stored = {one["narrative"]: one["id"] for one in world.call("observations", sessionId="s1")["observations"]}
    for text in texts:
        assert stored[text] in shown(world, text)


def test_an_earlier_version_is_found_through_its_line(world: World) -> None:
    first = world.call("remember", content="the deploy of the loader runs on friday at noon")["memory"]["id"]
    world.clock.now += DAY
    second = world.call("remember", content="the deploy of the loader runs on friday at noon sharp")["memory"]
    assert second["version"] == 2
    third = world.call("evolve", memoryId=second["id"], newContent="deploys of the loader run by themselves")["memory"]
    assert world.call("search", query="deploys of the loader")["results"][0]["also"] == [second["id"], first]
    assert third["id"] not in shown(world, "friday at noon", asOf=world.clock.now - DAY // 2)
    assert first in shown(world, "friday at noon", asOf=world.clock.now - DAY // 2)


def test_a_question_asked_again_does_not_take_the_first_place_from_its_answers(world: World) -> None:
    for number in range(6):
        world.call("remember", content=f"the loader of site {number} listens on port 717{number}, as the loader should")
    asked = world.call("remember", content="on which port does the loader listen?")["memory"]["id"]
    assert asked in world.found("on which port does the loader listen?", limit=FIRST)


def test_a_text_of_marks_and_pictures_is_found(world: World) -> None:
    id = world.call("remember", content="\U0001f389 !!")["memory"]["id"]
    for number in range(9):
        world.call("remember", content=f"\U0001f389 what a party number {number}")
    assert id in shown(world, "\U0001f389 !!")


def test_what_the_caller_may_not_see_is_in_no_group(tmp_path: Path) -> None:
    world = World(tmp_path, agent_scope="isolated")
    theirs = world.call("remember", content="the loader runs on friday", agentId="b")["memory"]["id"]
    ours = world.call("remember", content="the loader runs on friday", agentId="a")["memory"]["id"]
    hits = world.call("search", query="the loader runs on friday", agentId="a")["results"]
    assert [(hit["id"], hit["also"]) for hit in hits] == [(ours, [])]
    assert theirs not in str(hits)
    world.close()


def test_a_memory_of_no_project_is_found_from_the_folder_of_another(world: World) -> None:
    for number in range(9):
        world.call("remember", content=f"the loader runs on friday, says page {number} of the loader", project="here")
    id = world.call("remember", content="the loader runs on friday")["memory"]["id"]
    assert id in shown(world, "the loader runs on friday", here="here")
