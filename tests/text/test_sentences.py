"""Text in sentences: whole ones, as they were said, with what they stand under."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st
from rows import each

from holdfast.text.sentences import SENTENCE_CHARS, sentences

pytestmark = pytest.mark.quick


def texts(text: str) -> list[str]:
    return [one.text for one in sentences(text)]


@each(
    "text, found",
    [
        ("The port is 80. It moves soon!", ["The port is 80.", "It moves soon!"]),
        ("it broke again. no idea why", ["it broke again.", "no idea why"]),
        ("Use a queue, e.g. Redis. Keep it small.", ["Use a queue, e.g. Redis.", "Keep it small."]),
        ("Python 3. and later works.", ["Python 3. and later works."]),
        ("Run `make test. now` first. Then push.", ["Run `make test. now` first.", "Then push."]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("This is **very** *odd*.", ["This is very odd."]),
        ("One line\nthat goes on.", ["One line that goes on."]),
        ("> quoted words here", ["quoted words here"]),
        ("Try SELECT ... FOR UPDATE first. It locks.", ["Try SELECT ... FOR UPDATE first.", "It locks."]),
        ("Well... That was slow.", ["Well...", "That was slow."]),
        ("---\n***\n", []),
    ],
)
def test_a_text_is_cut_where_its_sentences_end(text: str, found: list[str]) -> None:
    assert texts(text) == found


def test_an_item_of_a_list_keeps_the_line_that_introduces_it() -> None:
    found = sentences("Left to do:\n\n- write the docs\n- [ ] tag the release\n\nThat is all.")
    assert [(one.text, one.lead, one.listed) for one in found] == [
        ("write the docs", "Left to do:", True),
        ("tag the release", "Left to do:", True),
        ("That is all.", "", False),
    ]


def test_a_sentence_stands_under_its_heading() -> None:
    found = sentences("# Open work\nThe docs are missing.\n**Notes**\nNone.")
    assert [(one.text, one.heading) for one in found] == [("The docs are missing.", "Open work"), ("None.", "Notes")]


def test_a_short_command_belongs_to_the_line_that_announces_it() -> None:
    assert texts("Start it with:\n```sh\nmake run\n```\nThen wait.") == ["Start it with: `make run`", "Then wait."]


def test_other_code_is_no_sentence() -> None:
    code = "\n".join(f"line {number}" for number in range(5))
    assert texts(f"It works.\n```\n{code}\n```\nSee:\n```\n{code}\n```") == ["It works.", "See:"]


def test_a_row_of_a_table_is_told_with_its_first_cell() -> None:
    assert texts("| name | port |\n|---|---|\n| api | 80 |") == ["name: port", "api: 80"]


def test_sentences_are_numbered_in_their_order() -> None:
    assert [one.place for one in sentences("A house. A garden. A tree.")] == [0, 1, 2]


def test_an_endless_sentence_is_cut_between_words() -> None:
    (found,) = texts("word " * 1_000)
    assert len(found) <= SENTENCE_CHARS + 1
    assert found.endswith("word…")


MARKDOWN = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "\n",
                "\n\n",
                "- ",
                "1. ",
                "# ",
                "```",
                "`",
                "**",
                "*",
                ": ",
                ". ",
                "? ",
                "| a | b |\n",
                "---\n",
                "> ",
                "e.g. ",
            ]
        ),
        st.text(max_size=12),
    ),
    max_size=40,
).map("".join)


@given(MARKDOWN)
def test_any_text_is_read_and_no_word_is_made_up(text: str) -> None:
    known = set(re.findall(r"\w+", text))
    for one in sentences(text):
        assert set(re.findall(r"\w+", one.text)) <= known
