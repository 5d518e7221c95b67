"""How much a sentence is worth, and of what kind it is."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import numpy as np
from hashing_embedder import HashingEmbedder
from rows import each

from holdfast.core.model import CleanText
from holdfast.index import GTE_SMALL, MINILM, LocalModel
from holdfast.learn.statements.sentence_features import NAMES, SentencePosition, signs
from holdfast.learn.statements.worth import KINDS, OF_THE_USER, SentenceWorth, weigh
from holdfast.text.sentences import Sentence


def table(name: str) -> Any:
    return json.loads((resources.files("holdfast.learn.statements") / name).read_text(encoding="utf-8"))


def weighed(text: str, *, in_prompt: bool = False, asked: str = "Why does it fail?") -> SentenceWorth:
    return weigh([(Sentence(text), SentencePosition(text if in_prompt else asked, in_prompt, 3))], None)[0]


@each("model", ["all-MiniLM-L6-v2", "gte-small", "signs alone"])
@each("head", ["worth", *KINDS])
def test_the_table_weighs_the_signs_that_there_are(model: str, head: str) -> None:
    """A sign of weight zero is not in the table; one that was renamed would be, under its old name."""
    weighed_signs = set(table("worth.json")["models"][model][head]["signs"])
    assert weighed_signs <= set(NAMES)
    assert len(weighed_signs) >= 0.8 * len(NAMES)


def test_a_sentence_has_a_value_for_every_sign() -> None:
    assert signs(Sentence("Port 80 is open."), SentencePosition("", False, 1)).shape == (len(NAMES),)


def test_a_conclusion_is_worth_more_than_what_is_said_on_the_way() -> None:
    found = weighed("The export fails because the worker opens `orders.csv` twice.")
    assert found.worth > 2 * weighed("Let me look at the file.").worth
    assert found.worth > 2 * weighed("Done.").worth


def test_a_wish_of_the_user_is_a_preference() -> None:
    assert weighed("Always use pytest, never unittest.", in_prompt=True).kind == OF_THE_USER


@each(
    "text",
    ["Always use pytest, never unittest.", "Never push to main from now on.", "Please always ask before you delete."],
)
def test_what_an_agent_read_somewhere_is_never_the_users_wish(text: str) -> None:
    assert weighed(text).kind != OF_THE_USER


def test_nothing_said_is_nothing_weighed() -> None:
    assert weigh([], None) == []


def test_vectors_of_another_model_are_not_read_with_this_table() -> None:
    said = [(Sentence("The cache lives in Redis."), SentencePosition("Where is it?", False, 1))]
    other = HashingEmbedder().embed([CleanText("The cache lives in Redis.")])
    assert weigh(said, other, "another-model") == weigh(said, None)


@each("model", [MINILM, GTE_SMALL])
def test_meaning_counts_where_the_model_is_one_of_the_table(model: LocalModel) -> None:
    said = [(Sentence("The cache lives in Redis."), SentencePosition("Where is it?", False, 1))]
    assert len(table("worth.json")["models"][model.label]["worth"]["meaning"]) == model.dims
    vectors = np.ones((1, model.dims), np.float32)
    assert weigh(said, vectors, model.name) != weigh(said, None)


def prompt_signs(prompt: str, *, in_prompt: bool = False, total: int = 3) -> set[str]:
    """Which of the signs that speak of the prompt an answer's sentence has."""
    found = signs(Sentence("It is the third one."), SentencePosition(prompt, in_prompt, total))
    names = NAMES[NAMES.index("asked to do") :]
    return {name for name in names if found[NAMES.index(name)]}


@each(
    "prompt, found",
    [
        ("sort the imports", {"asked to do", "told in few words"}),
        ("Which port?", set()),  # a short question is no chore
        ("Why is the export empty?", {"asked why", "told what fails"}),
        (" ".join(["word"] * 25), {"asked at length"}),
    ],
)
def test_a_sentence_has_the_signs_of_the_prompt_it_answers(prompt: str, found: set[str]) -> None:
    assert prompt_signs(prompt) == found
    assert prompt_signs(prompt, in_prompt=True) == set()


def test_one_of_many_sentences_has_a_sign_of_it() -> None:
    assert prompt_signs("Which port?", total=12) == {"long answer"}
