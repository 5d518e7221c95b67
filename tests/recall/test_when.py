"""Words for time: what they mean on a given day, what they are mistaken for, and that nothing breaks them."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import example, given, settings, strategies as st

from holdfast.recall.when import parse_moment, window_in
from holdfast.times import iso


def ms(text: str) -> int:
    when = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return int(when.timestamp() * 1000)


NOW = ms("2026-09-21T14:13:20")  # a Monday


def days(question: str, now: int = NOW) -> tuple[str, str] | None:
    """The window as two texts without needless zeros."""
    window = window_in(question, now)
    return (_short(window.after), _short(window.before)) if window else None


def _short(at: int) -> str:
    return iso(at).removesuffix(".000Z").removesuffix(":00").removesuffix("T00:00")


@pytest.mark.parametrize(
    ("question", "after", "before"),
    [
        ("what did we fix today?", "2026-09-21", "2026-09-22"),
        ("yesterday's deploy", "2026-09-20", "2026-09-21"),
        ("why did it fail yesterday", "2026-09-20", "2026-09-21"),
        ("the day before yesterday", "2026-09-19", "2026-09-20"),
        ("yesterday morning", "2026-09-20T04:00", "2026-09-20T12:00"),
        ("this morning", "2026-09-21T04:00", "2026-09-21T12:00"),
        ("last night", "2026-09-20T18:00", "2026-09-21T06:00"),
        ("last week", "2026-09-14", "2026-09-21"),
        ("this  week", "2026-09-21", "2026-09-28"),
        ("last weekend", "2026-09-19", "2026-09-21"),
        ("LAST MONTH", "2026-08-01", "2026-09-01"),
        ("this month", "2026-09-01", "2026-10-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("this year", "2026-01-01", "2027-01-01"),
        ("last friday", "2026-09-18", "2026-09-19"),
        ("last monday", "2026-09-14", "2026-09-15"),
        ("on Monday", "2026-09-21", "2026-09-22"),
        ("on sunday", "2026-09-20", "2026-09-21"),
        ("3 days ago", "2026-09-18", "2026-09-19"),
        ("two weeks ago", "2026-09-04", "2026-09-11"),
        ("a couple of months ago", "2026-07-01", "2026-08-01"),
        ("a year ago", "2025-01-01", "2026-01-01"),
        ("5 hours ago", "2026-09-21T08:13:20", "2026-09-21T10:13:20"),
        ("in the last 5 minutes", "2026-09-21T14:08:20", "2026-09-21T14:13:20"),
        ("over the past few days", "2026-09-18T14:13:20", "2026-09-21T14:13:20"),
        ("the past week", "2026-09-14T14:13:20", "2026-09-21T14:13:20"),
        ("in May", "2026-05-01", "2026-06-01"),
        ("during november", "2025-11-01", "2025-12-01"),
        ("last september", "2025-09-01", "2025-10-01"),
        ("in September", "2026-09-01", "2026-10-01"),
        ("in may 2023", "2023-05-01", "2023-06-01"),
        ("Dec 2024", "2024-12-01", "2025-01-01"),
        ("in 2023", "2023-01-01", "2024-01-01"),
        ("on 12 May 2023", "2023-05-12", "2023-05-13"),
        ("the 12th of May, 2023", "2023-05-12", "2023-05-13"),
        ("May 12th", "2026-05-12", "2026-05-13"),
        ("Nov. 3, 2024", "2024-11-03", "2024-11-04"),
        ("3 october", "2025-10-03", "2025-10-04"),
        ("29 February", "2024-02-29", "2024-03-01"),
        ("30 February 2024", "2024-02-01", "2024-03-01"),
        ("2023-05-12", "2023-05-12", "2023-05-13"),
        ("at 2023-05-12T10:15:00Z it broke", "2023-05-12", "2023-05-13"),
        ("2023/05/12", "2023-05-12", "2023-05-13"),
        ("2024-02", "2024-02-01", "2024-03-01"),
        ("since 2025", "2025-01-01", "2026-09-21T14:13:20"),
        ("since yesterday", "2026-09-20", "2026-09-21T14:13:20"),
        ("after June 2026", "2026-07-01", "2026-09-21T14:13:20"),
        ("before june 2025", "1970-01-01", "2025-06-01"),
        ("until last month", "1970-01-01", "2026-09-01"),
        ("between March and May", "2026-03-01", "2026-06-01"),
        ("between March and May 2024", "2024-03-01", "2024-06-01"),
        ("between november and february", "2025-11-01", "2026-03-01"),
        ("from 2023-05-01 to 2023-05-12", "2023-05-01", "2023-05-13"),
        ("from monday", "2026-09-21", "2026-09-21T14:13:20"),
        ("recently, in may", "2026-05-01", "2026-06-01"),
    ],
)
def test_a_question_names_a_window(question: str, after: str, before: str) -> None:
    assert days(question) == (after, before)


@pytest.mark.parametrize(
    "question",
    [
        "may I use it",
        "you may march on",
        "the march of progress",
        "second",
        "last",
        "the last one",
        "at last",
        "version 2023.1",
        "v2023",
        "release-2023-05-12-rc1",
        "in 5 minutes",
        "in 2000 rows",
        "after 2048 tokens",
        "in 3024",
        "port 2024",
        "between 3 and 5",
        "on 2023-02-30",
        "a monday person",
        "sat on the sun",
        "next week",
        "days ago",
        "0.1 days",
        "",
        "\n",
    ],
)
def test_false_friends_name_none(question: str) -> None:
    assert window_in(question, NOW) is None


def test_vague_words_only_lean() -> None:
    window = window_in("What broke recently?", NOW)
    assert window is not None
    assert window.soft
    assert window.words == "recently"
    hard = window_in("recently, or was it yesterday", NOW)
    assert hard is not None
    assert not hard.soft


def test_the_words_that_were_read_are_told() -> None:
    window = window_in("What did we decide between  March and May 2024 about tea?", NOW)
    assert window is not None
    assert window.words == "between march and may 2024"


@pytest.mark.parametrize(
    ("now", "question", "after", "before"),
    [
        ("2026-01-01T00:00:00", "yesterday", "2025-12-31", "2026-01-01"),
        ("2026-01-01T00:00:00", "last month", "2025-12-01", "2026-01-01"),
        ("2026-01-01T00:00:00", "last week", "2025-12-22", "2025-12-29"),
        ("2024-03-01T12:00:00", "yesterday", "2024-02-29", "2024-03-01"),
        ("2024-02-29T12:00:00", "a year ago", "2023-01-01", "2024-01-01"),
        ("2024-03-31T12:00:00", "a month ago", "2024-02-01", "2024-03-01"),
        ("2024-12-31T23:59:59", "this week", "2024-12-30", "2025-01-06"),
        ("2025-01-02T03:00:00", "last night", "2025-01-01T18:00", "2025-01-02T06:00"),
        ("2023-02-28T00:00:00", "29 february", "2020-02-29", "2020-03-01"),
    ],
)
def test_years_and_leap_days_have_borders(now: str, question: str, after: str, before: str) -> None:
    assert days(question, ms(now)) == (after, before)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2026-11-15T20:41:34Z", "2026-11-15T20:41:34"),
        ("2026-11-15t20:41:34+02:00", "2026-11-15T18:41:34"),
        ("2026-11-15", "2026-11-15"),
        ("1790000000000", "2026-09-21T14:13:20"),
        ("now", "2026-09-21T14:13:20"),
        (" Last  Week ", "2026-09-14"),
        ("2 days ago", "2026-09-19T14:13:20"),
        ("an hour ago", "2026-09-21T13:13:20"),
        ("a month ago", "2026-08-21T14:13:20"),
        ("yesterday", "2026-09-20"),
        ("monday", "2026-09-21"),
        ("last friday", "2026-09-18"),
        ("may", "2026-05-01"),
        ("may 2023", "2023-05-01"),
        ("12 May 2023", "2023-05-12"),
        ("2023", "2023-01-01"),
        ("the end of last month", "2026-09-01"),
        ("start of 2025", "2025-01-01"),
        ("last 3 days", "2026-09-18T14:13:20"),
    ],
)
def test_a_moment_is_the_beginning_of_its_words(text: str, meant: str) -> None:
    at = parse_moment(text, NOW)
    assert at is not None
    assert _short(at) == meant


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "soon",
        "may be",
        "5",
        "-1",
        "last",
        "2023.1",
        "yesterday or so",
        "300 years ago",
        "0001-01-01",
        "x" * 500,
    ],
)
def test_nonsense_is_no_moment(text: str) -> None:
    assert parse_moment(text, NOW) is None


WORDS = st.sampled_from(
    "in on since before after between and from to the last this past may march monday 2023 29 31 february 1st "
    "2023-05-12 2024-02-30 ago days weeks months years 3 999 9999 yesterday today week month of end , recently".split()
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=12).map(" ".join))
MOMENTS = st.one_of(st.integers(0, 253_402_300_799_999), st.integers(-(10**18), 10**18))


@settings(deadline=None)
@given(TEXTS, MOMENTS)
@example("between 31 may and 29 february 2024", 0)
@example("last year", 0)
@example("9999 years ago", NOW)
@example("this year", 253_402_300_799_999)
@example("tonight", 253_402_300_799_999)
def test_any_text_gives_an_ordered_window_or_none(text: str, now: int) -> None:
    window = window_in(text, now)
    assert window is None or 0 <= window.after < window.before


@settings(deadline=None)
@given(TEXTS, MOMENTS)
def test_any_text_is_a_moment_or_none(text: str, now: int) -> None:
    at = parse_moment(text, now)
    assert at is None or at >= 0 or at == now


DATES = st.dates(date(1990, 1, 1), date(2090, 1, 1))
TIMES = st.integers(ms("1990-01-01T00:00:00"), ms("2090-01-01T00:00:00"))


@settings(deadline=None)
@given(DATES, TIMES)
def test_a_written_date_is_that_day_in_utc_whenever_it_is_read(day: date, now: int) -> None:
    start = ms(f"{day:%Y-%m-%d}T00:00:00")
    for text in (f"{day:%Y-%m-%d}", f"{day:%d %B %Y}", f"{day:%B} {day.day}, {day.year}"):
        window = window_in(f"what happened on {text}?", now)
        assert window is not None
        assert (window.after, window.before) == (start, start + 86_400_000)
        assert parse_moment(text, now) == start


@settings(deadline=None)
@given(TIMES)
def test_days_gone_by_lie_side_by_side(now: int) -> None:
    windows = [window_in(words, now) for words in ("the day before yesterday", "yesterday", "today")]
    older, old, new = [(window.after, window.before) for window in windows if window]
    assert (older[1], old[1]) == (old[0], new[0])
    assert new[0] <= now < new[1]


@settings(deadline=None)
@given(st.text(alphabet=" \t,amy2034-", max_size=3_000))
def test_long_runs_of_almost_dates_come_to_an_end(text: str) -> None:
    window_in(f"12 may{text}", NOW)
