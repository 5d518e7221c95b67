"""LongMemEval's published files: which records and evidence are read from them, and what is told of a ranked list."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import longmemeval


def row(**changed: Any) -> dict[str, Any]:
    turns = [{"role": "user", "content": "My degree is in botany", "has_answer": True}]
    turns += [
        {"role": "assistant", "content": "Congratulations!", "has_answer": False},
        {"role": "user", "content": " "},
    ]
    return {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which degree do I have?",
        "answer": "botany",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21"],
        "haystack_sessions": [[{"role": "user", "content": "How is bread baked?"}], turns],
        "answer_session_ids": ["s2"],
        **changed,
    }


def test_turns_are_records_with_their_role_session_and_time() -> None:
    (one,) = longmemeval.instances([row()])
    assert [(each.text, each.session, each.at) for each in one.collection.documents] == [
        ("user: How is bread baked?", "s1", 1_684_549_260_000),
        ("user: My degree is in botany", "s2", 1_684_627_200_000),
        ("assistant: Congratulations!", "s2", 1_684_627_220_000),
    ]


def test_evidence_is_the_marked_turns_and_the_sessions_that_answer() -> None:
    (one,) = longmemeval.instances([row()])
    (query,) = one.collection.queries
    assert {each.text for each in one.collection.documents if each.id in query.gold} == {"user: My degree is in botany"}
    assert one.sessions == {"s2"}
    assert (query.text, query.category) == ("Which degree do I have?", "single-session-user")


def test_questions_without_an_answer_are_left_out() -> None:
    assert list(longmemeval.instances([row(question_id="q1_abs")])) == []


def test_a_session_that_a_haystack_holds_twice_gives_records_of_their_own() -> None:
    twice = row(haystack_session_ids=["s2", "s2"], haystack_dates=["2023/05/20"] * 2)
    (one,) = longmemeval.instances([twice])
    ids = [each.id for each in one.collection.documents]
    assert len(ids) == len(set(ids)) == 3


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("axb", {"any@5": 1, "all@5": 1, "R@5": 1, "any@10": 1, "all@10": 1, "R@10": 1, "MRR": 1}),
        ("xaxxxxb", {"any@5": 1, "all@5": 0, "R@5": 0.5, "any@10": 1, "all@10": 1, "R@10": 1, "MRR": 0.5}),
        ("xxxxxb", {"any@5": 0, "all@5": 0, "R@5": 0, "any@10": 1, "all@10": 0, "R@10": 0.5, "MRR": 1 / 6}),
        ("", {"any@5": 0, "all@5": 0, "R@5": 0, "any@10": 0, "all@10": 0, "R@10": 0, "MRR": 0}),
    ],
)
def test_any_and_all_of_the_evidence_are_told_apart(found: str, expected: dict[str, float]) -> None:
    assert longmemeval.figures(list(found), frozenset("ab")) == expected


def test_the_first_questions_of_each_type_are_taken() -> None:
    kinds = ["one", "two", "one", "one", "two"]
    every = [one for kind in kinds for one in longmemeval.instances([row(question_type=kind)])]
    assert [one.collection.queries[0].category for one in longmemeval.few(every, 2)] == ["one", "two", "one", "two"]
