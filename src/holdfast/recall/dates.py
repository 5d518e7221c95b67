"""Which days a question speaks of, in English. Pure: the moment it is asked is handed in."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_SHORT = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name} | {"sept": 9}
_MONTH_OF = {**_MONTHS, **_SHORT}
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_SEASONS = {"spring": (3, 5), "summer": (6, 8), "autumn": (9, 11), "fall": (9, 11), "winter": (12, 2)}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "couple of": 2}

_NAMED = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_DAY = r"(?:(?P<{0}>[0-3]?\d)(?:st|nd|rd|th)?)"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ISO = re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-3]\d))?\b")
_WRITTEN = re.compile(
    rf"\b(?:{_DAY.format('before')}\s+(?:of\s+)?)?(?P<month>{_NAMED})\b\.?"
    rf"(?:\s+{_DAY.format('after')}(?!\d))?(?:,?\s+(?:of\s+)?{_YEAR}\b)?"
)
_SEASON = re.compile(rf"\b(?P<season>{'|'.join(_SEASONS)})(?:\s+of)?\s+{_YEAR}\b")
_YEAR_ALONE = re.compile(rf"\b(?:in|during|since|of|year)\s+{_YEAR}\b")
_AGO = re.compile(rf"\b(?P<count>\d{{1,3}}|{'|'.join(_COUNTS)})\s+(?P<unit>day|week|month|year)s?\s+ago\b")
_LAST = re.compile(rf"\b(?P<which>last|this|past)\s+(?P<unit>week|month|year|night|{'|'.join(_WEEKDAYS)})\b")
_PLAIN_DAY = re.compile(r"\b(?P<word>today|yesterday)\b")

# Names that are words or people's names as well count as months only beside a day, a year or such a word.
_DOUBTFUL = {"may", "march", "august", "april", "june", "mar", "jan", "dec", "sep", "sept", "apr", "jun"}
_BEFORE_MONTH = re.compile(r"\b(?:in|during|since|until|by|of|last|this|early|late|mid|every|from)[ -]$")

MAX_SPANS = 8


@dataclass(frozen=True, slots=True)
class Span:
    """Days of the calendar, both included; no year means of any year."""

    first: date
    last: date
    any_year: bool = False


def spans(question: str, now_ms: int) -> tuple[Span, ...]:
    """The days that the question names; relative words count from now."""
    text = question[:2000].lower()
    found = dict.fromkeys(_spans(text, _day_of(now_ms)))
    return tuple(found)[:MAX_SPANS]


def _day_of(ms: int) -> date:
    # Beyond the calendar's last year a clock is wrong; the nearest day it knows will do.
    return datetime.fromtimestamp(min(max(ms // 1000, 0), 253_402_214_400), UTC).date()


def _spans(text: str, today: date) -> Iterator[Span]:
    for found in _ISO.finditer(text):
        yield from _calendar(int(found["year"]), int(found["month"]), int(found["day"] or 0))
    for found in _WRITTEN.finditer(text):
        yield from _written(found, text)
    for found in _SEASON.finditer(text):
        first, last = _SEASONS[found["season"]]
        year = int(found["year"])
        yield Span(date(year, first, 1), _month_end(year + (last < first), last))
    if not (_ISO.search(text) or _SEASON.search(text) or any(m["year"] for m in _WRITTEN.finditer(text))):
        for found in _YEAR_ALONE.finditer(text):
            yield Span(date(int(found["year"]), 1, 1), date(int(found["year"]), 12, 31))
    yield from _relative(text, today)


def _written(found: re.Match[str], text: str) -> Iterator[Span]:
    name, year = found["month"], int(found["year"] or 0)
    day = int(found["before"] or found["after"] or 0)
    if name in _DOUBTFUL and not (year or day or _BEFORE_MONTH.search(text[: found.start()])):
        return
    if year:
        yield from _calendar(year, _MONTH_OF[name], day)
    else:
        # A leap year, so that 29 February is a day.
        for span in _calendar(2000, _MONTH_OF[name], day):
            yield Span(span.first, span.last, any_year=True)


def _calendar(year: int, month: int, day: int) -> Iterator[Span]:
    """A day, or the whole month for day 0; nothing if there is no such day."""
    if day == 0:
        yield Span(date(year, month, 1), _month_end(year, month))
    elif day <= calendar.monthrange(year, month)[1]:
        yield Span(date(year, month, day), date(year, month, day))


def _month_end(year: int, month: int) -> date:
    return date(year, month, calendar.monthrange(year, month)[1])


def _relative(text: str, today: date) -> Iterator[Span]:
    for found in _PLAIN_DAY.finditer(text):
        day = _back(today, int(found["word"] == "yesterday"))
        yield Span(day, day)
    for found in _AGO.finditer(text):
        count = _COUNTS.get(found["count"]) or int(found["count"])
        yield from _ago(count, found["unit"], today)
    for found in _LAST.finditer(text):
        yield _named(found["which"] == "this", found["unit"], today)


def _ago(count: int, unit: str, today: date) -> Iterator[Span]:
    """As exact as people are: two weeks ago is some day of that week."""
    days = {"day": 1, "week": 7, "month": 30, "year": 365}[unit] * count
    slack = {"day": 0, "week": 3, "month": 15, "year": 183}[unit]
    yield Span(_back(today, days + slack), _back(today, days - slack))


def _named(this: bool, unit: str, today: date) -> Span:
    if unit == "night":
        return Span(_back(today, 1), today)
    if unit in _WEEKDAYS:
        day = _back(today, (today.weekday() - _WEEKDAYS[unit] - 1) % 7 + 1)
        return Span(day, day)
    if unit == "week":
        monday = _back(today, today.weekday() + (0 if this else 7))
        return Span(monday, monday + timedelta(6))
    if unit == "month":
        inside = today if this else _back(today, today.day)
        return Span(inside.replace(day=1), _month_end(inside.year, inside.month))
    year = today.year if this else max(today.year - 1, 1)
    return Span(date(year, 1, 1), date(year, 12, 31))


def _back(day: date, days: int) -> date:
    return date.fromordinal(max(1, day.toordinal() - days))
