"""How sure a search is: probabilities that follow from what matches, and what a caller is told where nothing does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import warm
from engines import store_of
from hypothesis import given, strategies as st
from patience import WAIT_SECONDS
from processes import environment
from rows import each
from world import DAY, World, running

from holdfast.core.errors import InvalidRequest
from holdfast.index import LOCAL_MODELS
from holdfast.recall.confidence import HitSigns, calibration_of, confidences, signs_of
from holdfast.recall.confidence.signs import answered, chosen
from holdfast.recall.rank import Corpus
from holdfast.recall.time.dates import day_of

PORT = "The staging gateway listens on port 8443"
FACTS = (
    PORT,
    "Invoices are written in Zurich every Friday",
    "The nightly build takes forty minutes",
    "Marta prefers tabs over spaces",
    "The museum closes its doors at six",
    "Backups are kept for ninety days",
)
ANSWERED = "which port does the staging gateway listen on"
NOT_ANSWERED = "who feeds the tortoise while the museum director travels abroad"

signs = st.builds(HitSigns, st.none() | st.floats(-1, 1), st.floats(0, 1))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "m")
    for fact in FACTS:
        made.call("remember", content=fact)
    yield made
    made.close()


# What it follows from


@given(hits=st.lists(signs, max_size=20), documents=st.integers(0, 10**9), read=st.floats(0, 1))
def test_every_confidence_is_a_probability_and_a_hit_is_never_surer_than_the_memory(
    hits: list[HitSigns], documents: int, read: float
) -> None:
    found = confidences(signs_of(("a", "b"), Corpus(documents, 9.0, {"a": 3}), read), hits, "all-MiniLM-L6-v2/1")
    assert len(found) == len(hits)
    assert all(0 <= one.hit <= one.memory <= 1 for one in found)


@each("model", [*(one.name for one in LOCAL_MODELS.values()), None])
def test_a_better_match_is_surer_and_a_later_hit_less_sure_with_each_model(model: str | None) -> None:
    scale = calibration_of(model)
    assert answered(0.2, 500, scale) < 0.3 < 0.7 < answered(1.2, 500, scale)
    assert chosen(-0.2, 0, scale) < chosen(0.0, 0, scale)
    assert chosen(0.0, 5, scale) < chosen(0.0, 0, scale)


def test_a_rare_word_of_the_question_counts_more_than_a_usual_one() -> None:
    known = signs_of(("usual", "rare"), Corpus(100, 9.0, {"usual": 60, "rare": 1}), 1.0)
    assert known.covered({"rare": 1.0}) > 0.8
    assert known.covered({"usual": 1.0, "rare": 1.0}) == pytest.approx(1.0)


def test_hits_without_a_vector_are_judged_by_their_words(world: World) -> None:
    known = signs_of(("port",), Corpus(100, 9.0, {"port": 1}), 1.0)
    fresh = confidences(known, [HitSigns(None, 1.0), HitSigns(0.2, 0.0)], "all-MiniLM-L6-v2/1")
    assert fresh == confidences(known, [HitSigns(None, 1.0), HitSigns(None, 0.0)], None)


# What a caller gets


def test_a_search_says_whether_anything_answers(world: World) -> None:
    found = world.call("search", query=ANSWERED)
    assert found["answerable"]
    assert found["confidence"] > 0.5
    assert found["results"][0]["content"] == PORT
    sure = [hit["confidence"] for hit in found["results"]]
    assert sure[0] == max(sure) > 0.3
    other = world.call("search", query=NOT_ANSWERED)
    assert not other["answerable"]
    assert other["results"], "the nearest are returned all the same"
    assert other["results"][0]["confidence"] < sure[0]
    assert world.call("search", query="xylophone")["answerable"] is False


def test_the_smart_search_has_the_confidence_of_each_hit(world: World) -> None:
    whole = world.call("search", query=ANSWERED)["results"][0]["confidence"]
    assert world.call("smart_search", query=ANSWERED)["results"][0]["confidence"] == whole


def test_hits_below_the_least_confidence_are_left_out(world: World) -> None:
    every = world.call("search", query=ANSWERED)["results"]
    least = every[0]["confidence"] - 0.01
    some = world.call("search", query=ANSWERED, minConfidence=least)["results"]
    assert [one["id"] for one in some] == [one["id"] for one in every if one["confidence"] > least]
    none = world.call("search", query=NOT_ANSWERED, minConfidence=0.9)
    assert (none["results"], none["answerable"]) == ([], False)
    assert "No hit is that sure" in none["hint"]


@each("model", [*(one.name for one in LOCAL_MODELS.values()), None])
def test_no_hit_is_surer_than_the_description_of_the_least_confidence_says(model: str | None) -> None:
    assert chosen(0.0, 0, calibration_of(model)) < 0.5


@pytest.mark.parametrize("value", [-0.1, 1.1, "much", float("nan"), [0.5], {}])
def test_a_least_confidence_that_is_no_probability_is_refused(world: World, value: Any) -> None:
    with pytest.raises(InvalidRequest, match="minConfidence"):
        world.call("search", query=ANSWERED, minConfidence=value)


def test_what_was_on_a_day_answers_a_question_for_that_day(world: World) -> None:
    world.clock.now += 40 * DAY
    world.observe("s1", hook="user_prompt_submit", prompt="The crane arrived and was put up behind the hall")
    day = day_of(world.clock.now)
    world.clock.now += 40 * DAY
    found = world.call("search", query=f"what happened on {day}")
    assert "crane" in found["results"][0]["title"]
    assert found["answerable"]


def test_an_explained_hit_tells_what_its_confidence_follows_from(world: World) -> None:
    hit = world.call("search", query=ANSWERED, explain=True)["results"][0]
    assert hit["why"]["covered"] > 0.9
    assert round(hit["why"]["confidence"], 2) == hit["confidence"]


def test_an_agent_and_a_person_are_told_when_nothing_clearly_answers(tmp_path: Path) -> None:
    def recall(query: str) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        params = {"name": "memory_recall", "arguments": {"query": query}}
        headers = {"Accept": "application/json, text/event-stream"}
        answer = http.post("/mcp", json={**body, "params": params}, headers=headers).json()
        return json.loads(answer["result"]["content"][0]["text"])

    with running(tmp_path / "m") as http:
        for fact in FACTS:
            http.post("/agentmemory/remember", json={"content": fact}).raise_for_status()
        assert "Nothing here clearly answers" in recall(NOT_ANSWERED)["hint"]
        assert "hint" not in recall(ANSWERED)
        for query, words in ((NOT_ANSWERED, "Nothing here clearly answers"), (ANSWERED, PORT)):
            place = environment(HOLDFAST_STORE=store_of(tmp_path / "m"))
            done = warm.run(("recall", query, "--url", str(http.base_url)), place, WAIT_SECONDS, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            assert ("Nothing here" in done.stdout) == (query == NOT_ANSWERED)
            assert words in done.stdout
        bad = ("recall", ANSWERED, "--min-confidence", "2", "--url", str(http.base_url))
        assert "minConfidence" in warm.run(bad, place, WAIT_SECONDS, cwd=tmp_path).stderr
