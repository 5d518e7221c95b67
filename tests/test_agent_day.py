"""The gold of bench/agent_day fits its scenarios, and its scores tell right from wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from agent_day.fit_turns import DATA, projects
from agent_day.gold import as_current, fact, says, value
from agent_day.scenarios import SETS, Half, load
from agent_day.score import Record, marked, noticed, score_context, score_question, wrongly_superseded
from agent_day.script import Scenario, session, turn
from agent_day.selfcheck import of_questions, problems

WATCHDOG = fact("watchdog", "changed", "The timeout is 30 s.", (r"timeout", r"\b30 s"), was=((r"timeout", r"\b8 s"),))
SMALL = Scenario(
    name="small", client="claude", place="small", facts=(WATCHDOG,), questions=(),
    sessions=(session(turn("set it", "The timeout is 30 s.")),), stands=(value("interval", (r"interval", r"15 s")),),
)  # fmt: skip


@pytest.mark.parametrize("half", SETS)
def test_the_gold_of_every_scenario_fits_what_was_said(half: str) -> None:
    assert problems(load(half)) == []


def test_the_gold_of_the_projects_for_the_ranking_fits_what_was_said() -> None:
    own = [
        one for one in projects() if one.name in {row["name"] for row in json.loads(DATA.read_text(encoding="utf-8"))}
    ]
    assert len(own) == 5
    for one in own:
        said = [text for turn in one.turns() for text in (turn.prompt, *turn.said)]
        assert list(of_questions(one, said)) == []


def test_gold_that_nothing_in_the_scenario_says_is_a_problem() -> None:
    assert "small: no message says what stands: interval" in problems([SMALL])


def test_each_set_has_six_projects_and_three_clients_play() -> None:
    assert all(len(load(half)) >= 6 for half in SETS)
    assert {one.client for half in SETS for one in load(half)} == {"claude", "codex", "gemini"}


def test_two_projects_of_each_set_share_a_folder_name() -> None:
    for half in SETS:
        names = [one.place.rpartition("/")[2] for one in load(half)]
        assert len(set(names)) < len(names)


def test_loading_twice_gives_the_same_days() -> None:
    assert load("dev") == load("dev")


@pytest.mark.parametrize("half", SETS)
def test_the_gold_wordings_are_worth_everything_and_nothing_is_worth_nothing(half: Half) -> None:
    for scenario in load(half):
        told = score_context(scenario, "\n".join(one.wording for one in scenario.facts))
        assert (told.missed, told.outdated, told.foreign) == ((), (), ()), scenario.name
        assert score_context(scenario, "").known == (), scenario.name
        assert all(score_question(one, [one.answer]).rank == 1 for one in scenario.questions), scenario.name
        assert all(score_question(one, [one.text]).rank == 0 for one in scenario.questions), scenario.name


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("The timeout is 8 s.", True),
        ("The timeout was 8 s until Monday.", False),
        ("The timeout went from 8 s to 30 s.", False),
        ("The timeout is 30 s (8 s was too short).", False),
        ("The sample takes 8 s.", False),
    ],
)
def test_an_old_value_counts_only_when_it_is_told_as_current(line: str, counts: bool) -> None:
    assert bool(as_current(line, WATCHDOG.was, WATCHDOG.any_of)) is counts


def test_words_far_from_each_other_say_nothing() -> None:
    assert says("The timeout is 30 s.", WATCHDOG.any_of)
    assert not says("timeout" + " and so on" * 100 + " 30 s", WATCHDOG.any_of)


@pytest.mark.parametrize(
    ("record", "wrong"),
    [
        (Record("The timeout is 30 s.", True), ["watchdog"]),
        (Record("The timeout is 30 s.", True, ("The linter is quiet.",)), ["watchdog"]),
        (Record("The timeout is 30 s.", True, ("We keep the timeout at 30 s.",)), []),
        (Record("The interval is 15 s.", True, ("The timeout is 30 s.",)), ["interval"]),
        (Record("The timeout is 8 s.", True, ("The timeout is 30 s.",)), []),
        (Record("The timeout is 30 s.", False), []),
    ],
)
def test_a_fact_in_force_that_is_replaced_by_something_else_is_seen(record: Record, wrong: list[str]) -> None:
    assert wrongly_superseded(SMALL, [record, Record("The interval is 15 s.", False)]) == wrong


@pytest.mark.parametrize(
    ("hit", "superseded"),
    [
        ("content: The timeout is 8 s.\nisLatest: false", True),
        ("content: The timeout is 8 s.\nsupersededBy: mem_2", True),
        ("The timeout is 8 s. (superseded by: the timeout is 30 s)", True),
        ("content: The timeout is 30 s.\nisLatest: true\nsupersedes: mem_1", False),
    ],
)
def test_a_hit_says_of_itself_whether_it_is_superseded(hit: str, superseded: bool) -> None:
    assert marked(hit) is superseded


def test_a_change_is_noticed_when_the_earlier_value_is_superseded() -> None:
    old = "The timeout is 8 s."
    assert noticed(SMALL, [Record(old, True)]) == ["watchdog"]
    assert noticed(SMALL, [Record(old, False)]) == []
