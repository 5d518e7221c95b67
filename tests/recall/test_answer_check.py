"""Questions that are kept as ids, and what is reported of them when recall would answer otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hashing_embedder import HashingEmbedder
from rows import each
from world import DAY, NOON, World

from holdfast.core.background import AnsweredRecord
from holdfast.core.model import Caller
from holdfast.recall.check.answer_check import _is_same
from holdfast.recall.check.kept_questions import MOST_KEPT, KeptQuestion, read_questions, with_new
from holdfast.recall.check.question_intake import keep_questions
from holdfast.serve.background.drill_schedule import DrillSchedule

pytestmark = pytest.mark.engines

FUSES = "The amber cabinet holds the spare fuses"
FERRY = "The ferry to the island leaves at noon"
PROMPTS = ("which cabinet holds the spare fuses", "when does the ferry leave the island")


def prompt(world: World, text: str, session: str) -> str:
    """A user's prompt as the hooks send it: kept as an observation, then asked. The observation's id."""
    world.clock.now += 1_000
    seen = world.observe(session=session, hook="prompt_submit", prompt=text)["observationId"]
    world.call("context_prompt", sessionId=session, prompt=text, project="proj", cwd="/w")
    return str(seen)


def keep(world: World) -> None:
    keep_questions(world.context(), world.engine.questions.take())


def filled(home: Path, **settings: Any) -> tuple[World, dict[str, str]]:
    """A memory with two facts that were asked for; the ids of all by what they say."""
    world = World(home, **settings)
    ids = {text: world.call("remember", content=text, project="proj")["memory"]["id"] for text in (FUSES, FERRY)}
    ids |= {text: prompt(world, text, f"s{number}") for number, text in enumerate(PROMPTS)}
    keep(world)
    return world, ids


def files_of(home: Path) -> str:
    return "".join(path.read_text() for path in (home / "questions").rglob("*.json"))


def test_prompts_are_kept_by_the_id_of_their_observation_and_never_as_text(tmp_path: Path) -> None:
    world, ids = filled(tmp_path)
    world.call("search", query="island ferry at noon", project="proj")
    keep(world)
    kept = read_questions(tmp_path, "default")
    assert [one.source for one in kept] == [ids[text] for text in PROMPTS]
    assert [one.answer[0].id for one in kept] == [ids[FUSES], ids[FERRY]]
    assert not any(word in files_of(tmp_path).lower() for word in ("fuses", "cabinet", "ferry", "island"))
    assert world.call("recall_check")["summary"] == "0 of 2 questions would now be answered differently"
    world.close()


def test_a_check_also_asks_what_was_asked_just_now(tmp_path: Path) -> None:
    world, _ = filled(tmp_path)
    prompt(world, "at which hour can one leave for the island", "s9")
    assert world.call("recall_check")["asked"] == 3
    world.close()


def test_a_setting_keeps_none_or_also_the_redacted_text_of_other_searches(tmp_path: Path) -> None:
    world, _ = filled(tmp_path / "off", recall_keep="off")
    assert read_questions(tmp_path / "off", "default") == []
    assert "off" in world.call("recall_check")["summary"]
    world.close()

    world, ids = filled(tmp_path / "all", recall_keep="all")
    secret = "ghp_" + "x7Kq2LmZ9vTr4WnB8yHc3JdF6sGp1QeUaXoV"
    world.call("search", query=f"which cabinet holds fuses {secret}", project="proj")
    keep(world)
    (searched,) = [one for one in read_questions(tmp_path / "all", "default") if one.text]
    assert "cabinet" in searched.text
    assert secret not in files_of(tmp_path / "all")
    assert searched.answer[0].id == ids[FUSES]
    assert world.call("recall_check")["different"] == 0
    world.call("forget", memoryId=ids[FUSES])
    assert world.call("recall_check")["forgotten"] == 1, "the text goes with what it asked for"
    assert "cabinet" not in files_of(tmp_path / "all")
    world.close()


def test_what_the_setting_no_longer_keeps_is_removed(tmp_path: Path) -> None:
    world, _ = filled(tmp_path, recall_keep="all")
    world.call("search", query="which cabinet holds fuses", project="proj")
    keep(world)
    world.close()
    assert "cabinet" in files_of(tmp_path)

    world = World(tmp_path, recall_keep="prompts")
    DrillSchedule(world.engine).run_once()
    assert "cabinet" not in files_of(tmp_path)
    assert len(read_questions(tmp_path, "default")) == len(PROMPTS)
    world.close()

    world = World(tmp_path, recall_keep="off")
    DrillSchedule(world.engine).run_once()
    assert read_questions(tmp_path, "default") == []
    world.close()


def test_what_is_learnt_or_forgotten_later_is_no_difference(tmp_path: Path) -> None:
    world, ids = filled(tmp_path)
    world.clock.now += DAY
    world.call("remember", content="Which cabinet holds the spare fuses: the green one since Monday", project="proj")
    world.call("forget", memoryId=ids[FERRY])
    checked = world.call("recall_check")
    assert (checked["asked"], checked["different"]) == (2, 0)

    world.call("forget", memoryId=ids[PROMPTS[0]])
    checked = world.call("recall_check")
    assert (checked["asked"], checked["forgotten"]) == (1, 1)
    world.close()


def test_a_restore_that_lacks_an_answer_is_reported_by_id_until_it_is_accepted(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.call("remember", content=FUSES, project="proj")
    prompt(world, PROMPTS[0], "s0")
    asked = world.observe(session="s1", hook="prompt_submit", prompt=PROMPTS[1])["observationId"]
    before = world.call("snapshot_create")["id"]
    ferry = world.call("remember", content=FERRY, project="proj")["memory"]["id"]
    world.call("context_prompt", sessionId="s1", prompt=PROMPTS[1], project="proj", cwd="/w")
    keep(world)
    drills = DrillSchedule(world.engine)
    drills.run_once()
    assert world.call("overview")["warnings"] == [
        one for one in world.call("overview")["warnings"] if one["code"] != "recall_changed"
    ]

    world.call("snapshot_restore", id=before, yes=True)
    world.clock.now += 60_000
    drills.run_once()

    warned = next(one for one in world.call("overview")["warnings"] if one["code"] == "recall_changed")
    assert (warned["level"], warned["values"]) == ("warning", {"count": 1, "asked": 2})
    checked = world.call("recall_check")
    assert checked["summary"] == "1 of 2 questions would now be answered differently"
    (changed,) = checked["changed"]
    assert (changed["source"], changed["before"], changed["missing"]) == (asked, [ferry], [ferry])

    world.clock.now += 2 * DAY
    drills.run_once()
    assert world.call("recall_check")["different"] == 1, "time alone does not make it right"

    assert world.call("recall_check", accept=True)["changed"] == []
    assert world.call("recall_check")["different"] == 0
    assert "recall_changed" not in [one["code"] for one in world.call("overview")["warnings"]]
    world.close()


def test_a_change_of_the_embedder_is_checked_once_its_vectors_are_there(tmp_path: Path) -> None:
    """What was found by its meaning alone is found no more by an embedder that knows other meanings."""

    class Related(HashingEmbedder):
        def _word(self, word: str) -> Any:
            return super()._word("ship" if word in ("ferry", "boat", "vessel") else word)

    world = World(tmp_path, model=Related())
    boat = world.call("remember", content="vessel", project="proj")["memory"]["id"]
    world.call("remember", content=FUSES, project="proj")
    world.follow()
    prompt(world, "boat ferry ship", "s0")
    prompt(world, PROMPTS[0], "s1")
    world.follow()
    keep(world)
    DrillSchedule(world.engine).run_once()
    world.close()

    world = World(tmp_path, model=HashingEmbedder("words-2"))
    drills = DrillSchedule(world.engine)
    drills.run_once()
    assert "recall_changed" not in [one["code"] for one in world.call("overview")["warnings"]], "vectors are missing"
    world.follow()
    drills.run_once()
    assert "recall_changed" in [one["code"] for one in world.call("overview")["warnings"]]
    (changed,) = world.call("recall_check")["changed"]
    assert changed["before"] == [boat]
    assert not changed["missing"]
    world.close()


@each(
    "before, now, same",
    [
        ("abcde", "abcdf", True),  # the fifth is as good as the sixth
        ("abcde", "acbed", True),
        ("abcde", "bacde", False),
        ("abcde", "abcfg", False),
        ("ab", "ac", False),
        ("ab", "a", False),
        ("", "ab", True),
    ],
)
def test_another_first_hit_or_another_set_is_a_difference(before: str, now: str, same: bool) -> None:
    assert _is_same(before, now, is_full=False) is same


def test_consolidation_loses_no_answer(tmp_path: Path) -> None:
    world, _ = filled(tmp_path)
    world.call("session_end", sessionId="s0")
    world.call("consolidate")
    assert world.call("recall_check")["different"] == 0
    world.close()


def test_isolated_agents_are_asked_for_as_themselves(tmp_path: Path) -> None:
    world = World(tmp_path, agent_scope="isolated")
    ids = {}
    for name in ("ada", "bob"):
        caller = Caller(agent=name, name=name)
        ids[name] = world.call("remember", caller, content=f"{FUSES} of {name}", project="proj")["memory"]["id"]
        seen = {"sessionId": name, "hookType": "prompt_submit", "timestamp": world.clock.now, "project": "proj"}
        world.call("observe", caller, **seen, cwd="/w", data={"prompt": PROMPTS[0]})
        world.call("context_prompt", caller, sessionId=name, prompt=PROMPTS[0], project="proj", cwd="/w")
    keep(world)
    kept = {one.agent: one.answer[0].id for one in read_questions(tmp_path, "default")}
    assert kept == ids
    assert world.call("recall_check", Caller(agent="ada", name="ada"))["different"] == 0
    world.close()


def test_what_is_kept_is_bounded_and_spread_over_time() -> None:
    def question(at: int) -> KeptQuestion:
        hit = AnsweredRecord("mem_1", "mem_1", "0")
        return KeptQuestion(f"q_{at}", at, f"obs_{at}", "", "proj", None, None, ("memory",), 8, (hit,), 1)

    day = [question(NOON + minute * 60_000) for minute in range(700)]
    long_ago = [question(NOON - number * DAY) for number in range(1, 101)]
    kept = with_new(long_ago, day)
    assert len(kept) == MOST_KEPT
    assert {one.id for one in long_ago} <= {one.id for one in kept}, "a busy day must not push out all others"
    assert kept[-1] == day[-1]
