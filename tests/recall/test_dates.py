"""Which days a question names."""

from __future__ import annotations

from datetime import date

from hypothesis import example, given, settings, strategies as st
from rows import each

from holdfast.recall.signals import asks_for_days_alone
from holdfast.recall.time.dates import MAX_SPANS, beside_days, day_of, spans

MONDAY = 1_763_337_600_000  # Monday, 17 November 2025


def found(question: str) -> list[tuple[str, str]]:
    return [(str(span.first), str(span.last)) for span in spans(question, MONDAY)]


@each(
    "question, first, last",
    [
        ("on 12 May, 2023", "2023-05-12", "2023-05-12"),
        ("on May 12th 2023", "2023-05-12", "2023-05-12"),
        ("the 3rd of June 2024", "2024-06-03", "2024-06-03"),
        ("in May 2023", "2023-05-01", "2023-05-31"),
        ("on 2024-02-29", "2024-02-29", "2024-02-29"),
        ("during 2024-02", "2024-02-01", "2024-02-29"),
        ("in 2021", "2021-01-01", "2021-12-31"),
        ("summer of 2022", "2022-06-01", "2022-08-31"),
        ("winter 2022", "2022-12-01", "2023-02-28"),
        ("today", "2025-11-17", "2025-11-17"),
        ("yesterday", "2025-11-16", "2025-11-16"),
        ("last night", "2025-11-16", "2025-11-17"),
        ("last Friday", "2025-11-14", "2025-11-14"),
        ("last monday", "2025-11-10", "2025-11-10"),
        ("last week", "2025-11-10", "2025-11-16"),
        ("this week", "2025-11-17", "2025-11-23"),
        ("last month", "2025-10-01", "2025-10-31"),
        ("this year", "2025-01-01", "2025-12-31"),
        ("3 days ago", "2025-11-14", "2025-11-14"),
        ("two weeks ago", "2025-10-31", "2025-11-06"),
        ("eight days ago", "2025-11-09", "2025-11-09"),
        ("the day before yesterday", "2025-11-15", "2025-11-15"),
        ("in early May 2023", "2023-05-01", "2023-05-10"),
        ("in mid-march 2024", "2024-03-11", "2024-03-20"),
        ("in the middle of May 2024", "2024-05-11", "2024-05-20"),
        ("at the end of February 2024", "2024-02-21", "2024-02-29"),
        ("in the second half of june 2024", "2024-06-16", "2024-06-30"),
        ("in the second week of March 2025", "2025-03-08", "2025-03-14"),
        ("in the last week of February 2024", "2024-02-23", "2024-02-29"),
        ("on the first weekend of August 2023", "2023-08-05", "2023-08-06"),
        ("on the last Friday in February", "2025-02-28", "2025-02-28"),
        ("on the first monday of May 2024", "2024-05-06", "2024-05-06"),
        ("in the week of 6 April", "2025-03-31", "2025-04-06"),
        ("in the week starting the 11th of June 2025", "2025-06-11", "2025-06-17"),
        ("in the week beginning on 6 April", "2025-04-06", "2025-04-12"),
        ("in the week of December 24", "2024-12-23", "2024-12-29"),
    ],
)
def test_days_are_read(question: str, first: str, last: str) -> None:
    assert found(f"What happened {question}?") == [(first, last)]


@each(
    "question",
    ["may I march?", "", "1999 bottles", "on 30 February 2023", "Ask April about it", "in 3 days", "5 hours ago"],
)
def test_other_words_are_no_days(question: str) -> None:
    assert found(question) == []


@each("part, first, last", [("at the end", 21, 31), ("in the second week", 8, 14), ("in the last week", 25, 31)])
def test_a_part_of_a_month_without_a_year_is_of_any_year(part: str, first: int, last: int) -> None:
    (span,) = spans(f"What did we do {part} of May?", MONDAY)

    assert span.any_year
    assert (span.first.month, span.first.day, span.last.day) == (5, first, last)


@each(
    "question, alone",
    [
        ("2026-05-12", True),
        ("What happened last week?", True),
        ("what did we do on the 12th of May 2026", True),
        ("anything new since yesterday", False),
        ("the deploy of last week", False),
        ("what did Anna say yesterday", False),
        ("May 2026 invoices", False),
    ],
)
def test_a_question_for_days_alone_is_told_from_one_that_asks_for_more(question: str, alone: bool) -> None:
    assert spans(question, MONDAY)
    assert asks_for_days_alone(question, MONDAY) is alone


@given(st.text(max_size=60))
def test_what_a_question_says_beside_its_days_stays(question: str) -> None:
    beside = beside_days(f"{question} yesterday", MONDAY)
    assert "yesterday" not in beside
    if not spans(question, MONDAY):
        assert beside.split() == question.lower().split()


def test_a_month_beside_a_part_of_it_is_read_as_well() -> None:
    assert [span.first.day for span in spans("in late March or in March", MONDAY)] == [21, 1]


def test_two_days_side_by_side_are_both_read() -> None:
    assert [span.first.day for span in spans("between 12 March 29 April", MONDAY)] == [12, 29]


def test_a_month_without_a_year_is_of_any_year() -> None:
    (span,) = spans("What did we do in March?", MONDAY)

    assert span.any_year
    assert (span.first.month, span.last.day) == (3, 31)


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            "last this week 2 days ago may 2023 31 of 29 february 0001 year 999 late mid end first second friday weekend in starting".split()
        )
    ).map(" ".join),
    st.integers(),
)
@example("this week", 253_402_300_799_999)
@settings(max_examples=200)
def test_any_text_at_any_moment_gives_days_in_order(question: str, now: int) -> None:
    named = spans(question, now)

    assert len(named) <= MAX_SPANS
    assert all(date.min <= span.first <= span.last <= date.max for span in named)
    for span in named:
        first, end = span.latest(day_of(now)).window
        assert 0 <= first < end


@given(st.text(alphabet=" \t,amy2034-", max_size=3_000))
def test_long_runs_of_almost_dates_come_to_an_end(text: str) -> None:
    assert len(spans(f"12 may{text}", MONDAY)) <= MAX_SPANS
