"""The moment an argument names: an ISO time, milliseconds, or English words such as "3 days ago" and "last week".

It must be understood or refused. Days are read as in questions; the caller passes the current time.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta

from holdfast.core.errors import InvalidRequest
from holdfast.core.times import DAY_MS, parse_time
from holdfast.recall.time.dates import AGO, AMOUNT, UNIT, WEEKDAYS, Span, amount, back, begin_of, day_of, whole

MOMENT_CHARS = 80

_HOUR_MS = 3_600_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_MS = 253_402_300_799_999
_UNIT_MS = {"second": 1_000, "minute": 60_000, "hour": _HOUR_MS, "day": DAY_MS, "week": 7 * DAY_MS}
_PART_BEGINS = {"morning": 4, "afternoon": 12, "evening": 17, "night": 18}
_MEANT = {
    "recently": "past 2 weeks",
    "lately": "past 2 weeks",
    "tonight": "today night",
    "last night": "yesterday night",
} | {f"this {part}": f"today {part}" for part in _PART_BEGINS}

# Without a number only "past": "last week" is a week of the calendar.
_LATELY = re.compile(rf"(?:past|last(?! \w+$)) (?:{AMOUNT})?{UNIT}")
_PART = re.compile(rf"(?P<day>.+) (?P<part>{'|'.join(_PART_BEGINS)})")
_OF_DAY = re.compile(r"(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,3}))?)?(?: ?utc|z)?")
_EDGE = re.compile(r"(?P<edge>start|beginning|end) of (?:the )?")


def parse_moment(text: str, now: int) -> int | None:
    """The moment a text names; words mean the beginning of their time. None if it names none.

    "2 days ago" counts back from this very moment; "last week" is Monday of last week, 00:00 UTC.
    """
    text = " ".join(text[: MOMENT_CHARS + 1].lower().split())
    if len(text) > MOMENT_CHARS:
        return None
    if text == "now":
        return now
    if (hour := _OF_DAY.fullmatch(text)) and (moment := _last_at(hour, now)) is not None:
        return moment
    try:
        return parse_time(text.replace("/", "-").upper(), "time")
    except InvalidRequest:
        text = text.removeprefix("the ").replace("previous ", "last ")
        return _moment_of_words(_MEANT.get(text, text), min(max(now, 0), _MOST_MS))


def _last_at(found: re.Match[str], now: int) -> int | None:
    """When a clock in UTC last showed that time."""
    hour, minute, second = int(found[1]), int(found[2]), int(found[3] or 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    today = now - now % DAY_MS
    moment = today + ((hour * 60 + minute) * 60 + second) * 1_000 + int((found[4] or "0").ljust(3, "0"))
    return moment if moment <= now else max(0, moment - DAY_MS)


def _moment_of_words(text: str, now: int) -> int | None:
    if ago := AGO.fullmatch(text) or _LATELY.fullmatch(text):
        return _before(now, amount(ago["count"] or "a"), ago["unit"])
    today = day_of(now)
    if part := _PART.fullmatch(text):
        span = _days(part["day"], today)
        hours = _PART_BEGINS[part["part"]]
        return begin_of(span.first) + hours * _HOUR_MS if span and span.first == span.last else None
    edge = _EDGE.match(text)
    span = _days(text[edge.end() :] if edge else text, today)
    if span is None:
        return None
    return begin_of(span.last) + DAY_MS if edge and edge["edge"] == "end" else begin_of(span.first)


def _before(now: int, many: int, unit: str) -> int | None:
    """That long before now; a month back from the 31st is the last day of the month before."""
    if unit in _UNIT_MS:
        at = now - many * _UNIT_MS[unit]
        return at if at >= 0 else None
    when = _EPOCH + timedelta(milliseconds=now)
    year, month = divmod(when.year * 12 + when.month - 1 - many * (12 if unit == "year" else 1), 12)
    if year < _EPOCH.year:
        return None
    day = min(when.day, monthrange(year, month + 1)[1])
    return (when.replace(year=year, month=month + 1, day=day) - _EPOCH) // timedelta(milliseconds=1)


def _days(text: str, today: date) -> Span | None:
    """The days that a text names: without a year the last ones that have begun, except after "this"."""
    this, name = text.startswith("this "), text.removeprefix("this ")
    if name in WEEKDAYS:
        ago = today.weekday() - WEEKDAYS.index(name)
        day = back(today, ago if this else ago % 7)
        return Span(day, day)
    span = whole(text.removesuffix("end") if text.endswith(" weekend") else text, today)
    if span is None:
        return _month(name, this, today)
    if text.endswith(" weekend"):
        return Span(back(span.last, 1), span.last)
    return span.latest(today)


def _month(name: str, this: bool, today: date) -> Span | None:
    """This May is of this year; last May is not the month that is now."""
    span = whole(name.removeprefix("last "), today)
    if span is None or not span.any_year:
        return None
    return span.of_year(today.year) if this else span.latest(back(today, today.day))
