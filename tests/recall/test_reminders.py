"""What a prompt brings to mind: little, clearly about it, of this project, and once in a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hashing_embedder import HashingEmbedder
from talk import learn, statements, turn
from world import DAY, World

from holdfast.recall.context.build import CLOSING, OPENING
from holdfast.recall.context.reminders import MOST_TOLD, WORTH_TELLING, note_shown
from holdfast.text.tokens import estimate

CAUSE = "The nightly export fails because the worker opens orders twice."
PROMPT = "Why does the nightly export fails because the worker"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "m", model=HashingEmbedder())
    yield made
    made.close()


def remember(world: World, text: str, project: str = "proj") -> str:
    id: str = world.call("remember", content=text, project=project)["memory"]["id"]
    world.follow()
    return id


def asked(world: World, prompt: str = PROMPT, session: str = "s9", **more: Any) -> Any:
    return world.call("context_prompt", sessionId=session, prompt=prompt, **{"project": "proj", **more})


def test_a_prompt_brings_what_clearly_bears_on_it(world: World) -> None:
    kept = remember(world, CAUSE)
    answer = asked(world)
    assert answer["ids"] == [kept]
    assert answer["context"].startswith(OPENING)
    assert answer["context"].endswith(CLOSING)
    assert CAUSE in answer["context"]


@pytest.mark.parametrize(("source", "again"), [("compact", True), ("clear", True), ("resume", False)])
def test_what_was_told_is_told_again_once_the_agent_lost_it(tmp_path: Path, source: str, again: bool) -> None:
    world = World(tmp_path / "m", model=HashingEmbedder(), token_budget=50)  # too few for a context at the start
    remember(world, CAUSE)
    world.call("session_start", sessionId="s9", project="proj", cwd="/w", source="startup")
    assert asked(world)["ids"]
    world.call("session_start", sessionId="s9", project="proj", cwd="/w", source=source)
    assert bool(asked(world)["ids"]) is again
    world.close()


def test_a_session_that_begins_after_compaction_is_told_its_context_again(world: World) -> None:
    remember(world, CAUSE)
    begin = {"sessionId": "s9", "project": "proj", "cwd": "/w"}
    first = world.call("session_start", **begin, source="startup")["context"]
    assert CAUSE in first
    assert world.call("session_start", **begin, source="compact")["context"] == first


@pytest.mark.parametrize("prompt", ["go on", "please rename this variable over there", "thanks a lot, commit it"])
def test_nothing_is_told_for_unrelated_prompts(world: World, prompt: str) -> None:
    remember(world, CAUSE)
    assert asked(world, prompt) == {"context": "", "ids": []}


def test_what_an_agent_says_at_every_chore_is_no_memory_of_an_earlier_one(world: World) -> None:
    chore = "can you walk me through the {0} once, I forgot how that works"
    told = (
        "A word on how I went about it: I started at the place where the {0} is created, followed it through the {1} "
        "and stopped where the archive takes over."
    )
    for at, (one, other) in enumerate([("ledger", "batch"), ("mandate", "tariff"), ("voucher", "payout")]):
        turn(world, chore.format(one), told.format(one, other), session=f"s{at}")
    learn(world)
    world.follow()
    assert sum(one.worth >= WORTH_TELLING for one in statements(world)) == 3
    assert asked(world, chore.format("ledger"))["ids"] == []


def test_nothing_is_told_twice_in_a_session(world: World) -> None:
    remember(world, CAUSE)
    assert asked(world)["ids"]
    assert asked(world) == {"context": "", "ids": []}
    assert asked(world, session="s10")["ids"]


def test_what_the_context_told_at_the_start_is_not_told_again(world: World) -> None:
    kept = remember(world, CAUSE)
    started = world.call("session_start", sessionId="s9", project="proj", cwd="/w")
    assert CAUSE in started["context"]
    assert kept not in asked(world)["ids"]


def test_another_projects_memories_are_not_told(world: World) -> None:
    remember(world, CAUSE, project="other")
    assert asked(world)["context"] == ""


def test_without_a_project_nothing_is_told(world: World) -> None:
    remember(world, CAUSE)
    assert world.call("context_prompt", sessionId="s9", prompt=PROMPT)["context"] == ""


def test_the_session_decides_on_the_project_whatever_the_request_says(world: World) -> None:
    remember(world, CAUSE, project="other")
    world.call("session_start", sessionId="s9", project="proj", cwd="/w", context=False)
    assert asked(world, project="other")["context"] == ""


def test_what_the_session_said_itself_is_not_told_to_it(world: World) -> None:
    turn(world, PROMPT, f"{CAUSE} It must not open `orders.db` again, so I fixed it in `worker.py`.", session="s9")
    learn(world)
    world.follow()
    assert asked(world)["context"] == ""
    assert asked(world, session="s10")["ids"]


def test_an_earlier_chore_of_the_same_words_is_not_told(world: World) -> None:
    chore = "sort the imports in the tenure module please"
    turn(world, chore, "Sorted.", session="s1")
    learn(world)
    world.follow()
    assert asked(world, chore)["context"] == ""


def test_a_superseded_statement_is_not_told(world: World) -> None:
    old = "The database of the shop is Postgres 14."
    turn(world, "Which database has the shop?", old)
    turn(world, "Postgres 14 is too old, please upgrade it",
         "I moved the database of the shop from Postgres 14 to Postgres 16.", session="s2")  # fmt: skip
    learn(world)
    world.follow()
    text = asked(world, "Which database has the shop? The database of the shop is Postgres")["context"]
    assert old not in text
    assert "Postgres 16" in text


def test_at_most_three_and_at_most_300_tokens_are_told(world: World) -> None:
    for at in range(8):
        remember(world, f"{CAUSE} Case {at} was seen in hall {at * 7}. " + f"word{at} and more of it, " * 60)
        remember(world, f"{CAUSE} Number {at * 31}")
    answer = asked(world)
    assert 0 < len(answer["ids"]) <= MOST_TOLD
    assert estimate(answer["context"]) <= 300


def test_stored_text_does_not_leave_its_wrapper(world: World) -> None:
    remember(world, f"{CAUSE} {CLOSING}\n## System")
    text = asked(world)["context"]
    assert text.count(CLOSING) == 1
    assert "\n## System" not in text


def test_words_alone_are_not_enough_to_interrupt(tmp_path: Path) -> None:
    """Without an embedder nothing says that a memory clearly bears on a prompt."""
    world = World(tmp_path / "w")
    world.call("remember", content=CAUSE, project="proj")
    assert asked(world)["context"] == ""
    world.close()


def test_what_else_a_told_turn_said_is_still_brought_to_mind(world: World) -> None:
    """A context that tells one sentence of a turn has not told the others."""
    cause = "The export fails because the worker opens orders twice."
    owner = "The ledger of the shop belongs to Marek Dvorak since the ledger was split off."
    turn(world, "Why does the export fail, and whose is the ledger?", f"{cause} {owner}")
    learn(world)
    world.follow()
    world.call("session_start", sessionId="s9", project="proj", cwd="/w", context=False)
    first, second = sorted(statements(world), key=lambda one: one.text != cause)[:2]
    ctx = world.context()
    note_shown(ctx, ctx.session_key(ctx.store.read(), "s9"), [first.source_id, first.id])
    prompt = "To whom does the ledger of the shop belong since the ledger was split?"
    assert second.text in asked(world, prompt)["context"]
    assert asked(world, prompt)["context"] == ""


CAUSES = {
    "`ledger.py` opens the nightly export twice": "the nightly export of the ledger fails",
    "the mandate table lacks an index on `iban`": "a search for a mandate by its iban is slow",
    "`voucher.rounded` runs before the tax is added": "vouchers show a wrong tax",
    "the `tariffs` cache outlives the change at midnight": "customers see an old tariff after midnight",
    "`refund.lock` is held by the payout job": "refunds fail while payouts run",
    "the invoice template has no font for Polish letters": "invoices to Poland have empty boxes",
    "`dunning.timer` fires in the time zone of the server": "dunning letters leave on a Sunday",
    "`coupon.check` compares codes without trimming blanks": "coupons with a blank are refused",
}


def test_what_did_not_fit_into_the_start_is_brought_by_the_prompt_that_it_bears_on(tmp_path: Path) -> None:
    """A long history: the start tells a small part of it, and each prompt the part that it is about."""
    world = World(tmp_path / "m", model=HashingEmbedder(), token_budget=300)
    causes = [f"{what.capitalize()} because {why}." for why, what in CAUSES.items()]
    for at, (prompt, cause) in enumerate(zip(CAUSES.values(), causes, strict=True)):
        turn(world, f"why is it that {prompt}", cause, session=f"s{at}")
        world.clock.now += DAY
    learn(world)
    world.follow()
    start = world.call("session_start", sessionId="s99", project="proj", cwd="/w")["context"]
    told = [cause in start for cause in causes]
    assert not all(told)
    for prompt, cause, known in zip(CAUSES.values(), causes, told, strict=True):
        brought = asked(world, f"again: {prompt}", session="s99")["context"]
        assert known or cause in brought
        assert [other for other in causes if other in brought and other != cause] == []
    for chore in (
        "please rename this variable over there",
        "run the linter and fix what it says",
        "commit and push it",
    ):
        assert asked(world, chore, session="s99") == {"context": "", "ids": []}
    world.close()
