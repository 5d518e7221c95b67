"""Which sentences count as stock phrases: by runs of words that stand in several messages, never code or wishes."""

from __future__ import annotations

from recall_records import standing

from holdfast.core.model import Statement
from holdfast.recall.context.stock_phrases import MESSAGES, stock_phrases

NOUNS = ("queue", "table", "reader", "socket")


def said(texts: list[str], **fields: object) -> list[Statement]:
    return [standing(text, id=f"stm_{at}", source_id=f"obs_{at}", **fields).statement for at, text in enumerate(texts)]


def test_what_is_said_of_many_things_in_the_same_words_is_one() -> None:
    texts = [f"If you want to try it yourself, open the {noun} and scroll down from there." for noun in NOUNS]
    assert stock_phrases(said(texts)) == {f"stm_{at}" for at in range(len(NOUNS))}


def test_what_two_messages_share_is_none() -> None:
    texts = [f"The {noun} closes its connection after forty seconds without a heartbeat." for noun in NOUNS]
    assert not stock_phrases(said(texts[: MESSAGES - 1]))


def test_a_fact_that_is_said_again_word_for_word_is_none() -> None:
    assert not stock_phrases(said(["The gateway closes its connection after forty seconds without a heartbeat."] * 5))


def test_a_command_that_comes_up_often_is_none() -> None:
    texts = [
        "To release it type `fleet rollout gateway --env prod --canary 20` in the main folder.",
        "The page names `fleet rollout gateway --env prod --canary 20` since this morning, as asked.",
        "Yesterday `fleet rollout gateway --env prod --canary 20` failed because the login had run out.",
    ]
    assert not stock_phrases(said(texts))


def test_a_wish_that_the_user_repeats_is_none() -> None:
    texts = [f"Please never touch the generated files in the {noun} folder by hand." for noun in NOUNS]
    assert not stock_phrases(said(texts, kind="preference"))


def test_several_sentences_of_one_message_are_none() -> None:
    texts = [f"The {noun} service listens on port 70{at} and reports its metrics." for at, noun in enumerate(NOUNS)]
    statements = [standing(text, id=f"stm_{at}", source_id="obs").statement for at, text in enumerate(texts)]
    assert not stock_phrases(statements)
