"""Which older statements a newer one is held against, and what it may say of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hashing_embedder import HashingEmbedder
from world import World

from holdfast.core.errors import EmbedderUnavailable
from holdfast.core.model import CleanText
from holdfast.core.ports import Vectors
from holdfast.learn.statements.changes import Verdict
from holdfast.learn.statements.session_turns import Turn
from holdfast.learn.statements.supersession import (
    LEAST_NEAR,
    NEAR_WITH_VALUE,
    READ_TOGETHER,
    WORTH_COMPARING,
    Candidate,
    Comparer,
)
from holdfast.recall.context.statement_lines import LEAST_WORTH
from holdfast.store.tables import OBSERVATIONS

ALERTS = "Source freshness is checked hourly; alerts go to #data-noise."
PHONE = "Stale feeds ring the duty phone from now on."


class OneMeaning(HashingEmbedder):
    """All texts mean the same."""

    def embed(self, texts: Sequence[CleanText]) -> Vectors:
        return np.tile(self.embed_query(CleanText("same")), (len(texts), 1))


class Halfway(HashingEmbedder):
    """All texts are a little like each other, less than what is compared by its meaning alone."""

    def likeness(self, one: Vectors, rows: Vectors) -> Vectors:
        return np.full(len(rows), (LEAST_NEAR + NEAR_WITH_VALUE) / 2, np.float32)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "m")
    yield made
    made.close()


def compared(world: World, old: Candidate, new: Candidate, model: HashingEmbedder | None = None) -> Verdict:
    ctx = world.context()
    found = Comparer(ctx, model).compare(ctx.store.read(), new, Turn(None), [old])
    return found.get(old.id, "apart")


def older(text: str, **more: bool) -> Candidate:
    return Candidate("old", text, 1, "a", **more)


def newer(text: str, **more: bool) -> Candidate:
    return Candidate("new", text, 2, "b", **more)


def test_statements_without_a_common_word_are_compared_if_they_are_near_in_meaning(world: World) -> None:
    assert compared(world, older(ALERTS), newer(PHONE), OneMeaning()) == "related"


def test_a_person_whom_the_prompt_names_is_compared_with_the_answer(world: World) -> None:
    ctx = world.context()
    old = Candidate("old", "The sticker on the box says Halvorsen, phone number underneath.", 1, "a")
    asked = world.observe("s2", hook="prompt_submit", prompt="Halvorsen is closing shop")["observationId"]
    turn = Turn(ctx.store.read().get(OBSERVATIONS, "default", asked))
    found = Comparer(ctx, None).compare(
        ctx.store.read(), newer("Lindqvist services the pumps from May on."), turn, [old]
    )
    assert found == {"old": "newer"}


FRIDGE = "The fridge alarm still goes to Wiebke, who is ill."


def asked(world: World, prompt: str) -> Turn:
    id = world.observe("s2", hook="prompt_submit", prompt=prompt)["observationId"]
    return Turn(world.context().store.read().get(OBSERVATIONS, "default", id))


def after(world: World, prompt: str, answer: str, old: Candidate) -> Verdict:
    ctx = world.context()
    return Comparer(ctx, None).compare(ctx.store.read(), newer(answer), asked(world, prompt), [old]).get("old", "apart")


def test_an_answer_to_a_prompt_that_asks_after_open_work_is_told_first(world: World) -> None:
    rings = "It rings at your phone now and at the front desk."
    assert after(world, "fridge alarm?", rings, older(FRIDGE)) == "related"
    assert after(world, "alarm?", rings, older(FRIDGE, left_open=True)) == "related"
    assert after(world, "alarm?", rings, older(FRIDGE)) == "apart"
    assert after(world, "fridge door?", rings, older(FRIDGE, left_open=True)) == "apart"


def test_what_the_user_says_later_puts_the_users_wish_below_it_but_never_hides_it(world: World) -> None:
    ctx, turn = world.context(), asked(world, BETA_MOVED)
    assert turn.prompt is not None
    said = Candidate("new", BETA_MOVED, 2, turn.prompt.id)
    found = Comparer(ctx, None).compare(ctx.store.read(), said, turn, [older(BETA, wish=True)])
    assert found == {"old": "newer"}


def test_statements_without_a_common_word_and_meaning_are_apart(world: World) -> None:
    assert compared(world, older(ALERTS), newer(PHONE), HashingEmbedder()) == "apart"
    assert compared(world, older(ALERTS), newer(PHONE)) == "apart"


def test_what_was_said_later_is_not_outdated_by_what_was_said_before(world: World) -> None:
    assert compared(world, Candidate("old", ALERTS, 3, "a"), newer(PHONE), OneMeaning()) == "apart"


BETA, BETA_MOVED = "Ship the beta on Thursdays.", "The beta no longer ships on Thursdays, it ships on Mondays now."


def test_a_report_of_another_day_puts_a_wish_below_it_and_replaces_none(world: World) -> None:
    assert compared(world, older(BETA), newer(BETA_MOVED)) in ("replaced", "newer")
    assert compared(world, older(BETA, wish=True), newer(BETA_MOVED)) == "related"


def test_a_report_without_another_number_leaves_a_wish_as_it_is(world: World) -> None:
    wish = "Keep the beta notes in Markdown, not in HTML."
    report = "The beta notes are no longer in HTML, they are in Markdown now."
    assert compared(world, older(wish, wish=True), newer(report), OneMeaning()) == "apart"


def test_whatever_a_context_may_tell_is_compared() -> None:
    assert WORTH_COMPARING <= LEAST_WORTH


class Answers:
    """A reranker to which some texts are an answer to one other."""

    name = "answers"

    def __init__(self, question: str, *answers: str) -> None:
        self.question, self.answers = question, answers
        self.asked = 0

    def reads(self, question: str) -> bool:
        return True

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        self.asked += 1
        return [1.0 if question == self.question and text in self.answers else -11.0 for text in texts]


HAND = "The dispatcher drags them, and the planner only warns of a missing licence."
ITSELF = "Each driver gets a truck overnight."


def test_what_the_newer_turn_answers_is_told_below_it(world: World) -> None:
    world.engine.reranker = Answers(HAND, ITSELF)  # type: ignore[assignment]
    assert compared(world, older(HAND), newer(ITSELF), Halfway()) == "related"
    assert compared(world, older(HAND), newer("Is each driver given a truck?"), Halfway()) == "apart"


def test_the_users_wish_is_below_no_report_that_seems_to_answer_it(world: World) -> None:
    world.engine.reranker = Answers(HAND, ITSELF)  # type: ignore[assignment]
    assert compared(world, older(HAND, wish=True), newer(ITSELF), Halfway()) == "apart"


def test_only_the_nearest_are_read_together(world: World) -> None:
    model = Answers("")
    world.engine.reranker = model  # type: ignore[assignment]
    ctx = world.context()
    old = [Candidate(f"old{at}", f"Crane {at} waits.", 1, f"a{at}") for at in range(READ_TOGETHER + 3)]
    assert Comparer(ctx, Halfway()).compare(ctx.store.read(), newer(ITSELF), Turn(None), old) == {}
    assert model.asked == READ_TOGETHER


def test_a_reranker_that_fails_changes_nothing(world: World) -> None:
    class Failing(Answers):
        def scores(self, question: str, texts: Sequence[str]) -> list[float]:
            raise EmbedderUnavailable("out of memory")

    world.engine.reranker = Failing(HAND, ITSELF)  # type: ignore[assignment]
    assert compared(world, older(HAND), newer(ITSELF), Halfway()) == "apart"
