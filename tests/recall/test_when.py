"""Words for time: what they mean on a given day, what they are mistaken for, and that nothing breaks them."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import example, given, strategies as st
from rows import each

from holdfast.core.times import DAY_MS, iso
from holdfast.recall.time.moments import parse_moment

pytestmark = pytest.mark.quick


def ms(text: str) -> int:
    when = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return int(when.timestamp() * 1000)


NOW = ms("2026-09-21T14:13:20")  # a Monday


def _short(at: int) -> str:
    return iso(at).removesuffix(".000Z").removesuffix(":00").removesuffix("T00:00")


@each(
    "text, meant",
    [
        ("2026-11-15T20:41:34Z", "2026-11-15T20:41:34"),
        ("2026-11-15t20:41:34+02:00", "2026-11-15T18:41:34"),
        ("2026-11-15", "2026-11-15"),
        ("2026/11/15", "2026-11-15"),
        ("2024-02", "2024-02-01"),
        ("1790000000000", "2026-09-21T14:13:20"),
        ("now", "2026-09-21T14:13:20"),
        (" Last  Week ", "2026-09-14"),
        ("this week", "2026-09-21"),
        ("LAST MONTH", "2026-08-01"),
        ("previous year", "2025-01-01"),
        ("last weekend", "2026-09-19"),
        ("2 days ago", "2026-09-19T14:13:20"),
        ("an hour ago", "2026-09-21T13:13:20"),
        ("a month ago", "2026-08-21T14:13:20"),
        ("a couple of weeks ago", "2026-09-07T14:13:20"),
        ("today", "2026-09-21"),
        ("yesterday", "2026-09-20"),
        ("the day before yesterday", "2026-09-19"),
        ("yesterday morning", "2026-09-20T04:00"),
        ("this afternoon", "2026-09-21T12:00"),
        ("last night", "2026-09-20T18:00"),
        ("tonight", "2026-09-21T18:00"),
        ("monday", "2026-09-21"),
        ("sunday", "2026-09-20"),
        ("last monday", "2026-09-14"),
        ("last friday", "2026-09-18"),
        ("this friday", "2026-09-25"),
        ("may", "2026-05-01"),
        ("november", "2025-11-01"),
        ("september", "2026-09-01"),
        ("last september", "2025-09-01"),
        ("this november", "2026-11-01"),
        ("may 2023", "2023-05-01"),
        ("Dec 2024", "2024-12-01"),
        ("12 May 2023", "2023-05-12"),
        ("the 12th of May, 2023", "2023-05-12"),
        ("Nov. 3, 2024", "2024-11-03"),
        ("May 12th", "2026-05-12"),
        ("3 october", "2025-10-03"),
        ("29 February", "2024-02-29"),
        ("2023", "2023-01-01"),
        ("summer of 2023", "2023-06-01"),
        ("the end of last month", "2026-09-01"),
        ("end of february", "2026-03-01"),
        ("start of 2025", "2025-01-01"),
        ("last 3 days", "2026-09-18T14:13:20"),
        ("the past few days", "2026-09-18T14:13:20"),
        ("past week", "2026-09-14T14:13:20"),
        ("recently", "2026-09-07T14:13:20"),
    ],
)
def test_a_moment_is_the_beginning_of_its_words(text: str, meant: str) -> None:
    at = parse_moment(text, NOW)
    assert at is not None
    assert _short(at) == meant


@each(
    "now, text, meant",
    [
        ("2026-01-01T00:00:00", "yesterday", "2025-12-31"),
        ("2026-01-01T00:00:00", "last month", "2025-12-01"),
        ("2026-01-01T00:00:00", "last week", "2025-12-22"),
        ("2026-01-01T00:00:00", "last january", "2025-01-01"),
        ("2024-03-01T12:00:00", "yesterday", "2024-02-29"),
        ("2024-02-29T12:00:00", "a year ago", "2023-02-28T12:00"),
        ("2024-03-31T12:00:00", "a month ago", "2024-02-29T12:00"),
        ("2024-12-31T23:59:59", "the end of this week", "2025-01-06"),
        ("2023-02-28T00:00:00", "29 february", "2020-02-29"),
    ],
)
def test_years_and_leap_days_have_borders(now: str, text: str, meant: str) -> None:
    at = parse_moment(text, ms(now))
    assert at is not None
    assert _short(at) == meant


@each(
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
        "2048 tokens",
        "30 february 2024",
        "12 may 13",
        "last yesterday",
        "last week morning",
        "next week",
        "in 5 minutes",
        "between 3 and 5",
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
    "2023-05-12 2024-02-30 ago days weeks months years 3 999 9999 yesterday today week month of end , recently night".split()
)
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=12).map(" ".join))
MOMENTS = st.one_of(st.integers(0, 253_402_300_799_999), st.integers(-(10**18), 10**18))


@given(TEXTS, MOMENTS)
@example("last year", 0)
@example("9999 years ago", NOW)
@example("the end of this week", 253_402_300_799_999)
@example("tonight", 253_402_300_799_999)
def test_any_text_is_a_moment_or_none(text: str, now: int) -> None:
    at = parse_moment(text, now)
    assert at is None or at >= 0 or at == now


DATES = st.dates(date(1990, 1, 1), date(2090, 1, 1))
TIMES = st.integers(ms("1990-01-01T00:00:00"), ms("2090-01-01T00:00:00"))


@given(DATES, TIMES)
def test_a_written_date_is_that_day_in_utc_whenever_it_is_read(day: date, now: int) -> None:
    start = ms(f"{day:%Y-%m-%d}T00:00:00")
    for text in (f"{day:%Y-%m-%d}", f"{day:%d %B %Y}", f"{day:%B} {day.day}, {day.year}"):
        assert parse_moment(text, now) == start
        assert parse_moment(f"the end of {text}", now) == start + DAY_MS


@given(TIMES)
def test_days_gone_by_lie_side_by_side(now: int) -> None:
    days = [parse_moment(words, now) for words in ("the day before yesterday", "yesterday", "today", "end of today")]
    older, old, new, end = [day for day in days if day is not None]
    assert older + 2 * DAY_MS == old + DAY_MS == new == end - DAY_MS
    assert new <= now < end
