"""Words for time: "last week", "3 days ago", "in May 2023", "between Monday and yesterday", in English, in UTC.

A moment is what a caller passes as `before` or `after`; it must be understood or refused. A window is what a question
hints at in passing; it may raise a score and never excludes anything. Nothing here knows a clock: now is handed in.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from holdfast.errors import InvalidRequest
from holdfast.times import parse_time

READ_CHARS = 2_000  # of a question: whoever writes more does not name a time in passing
MOMENT_CHARS = 80
EARLIEST_YEAR = 1990  # a smaller number is rather an amount than a year
RECENT_DAYS = 14

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_MS = 253_402_300_799_999
_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Window:
    """after <= t < before, in milliseconds UTC; `soft` if the words only lean towards it."""

    after: int
    before: int
    words: str
    soft: bool = False


@dataclass(frozen=True, slots=True)
class _Span:
    start: datetime
    end: datetime
    soft: bool = False


_Read = Callable[[re.Match[str], datetime], _Span | None]


def parse_moment(text: str, now: int) -> int | None:
    """The moment a text names: an ISO time, milliseconds, or words, which mean the beginning of their time.

    "2 days ago" counts back from this very moment; "last week" is Monday of last week, 00:00.
    None if it is none of these.
    """
    text = " ".join(text[: MOMENT_CHARS + 1].lower().split())
    if len(text) > MOMENT_CHARS:
        return None
    try:
        return parse_time(text.upper(), "time")
    except InvalidRequest:
        return _moment_of_words(text, now)


def _moment_of_words(text: str, now: int) -> int | None:
    if text == "now":
        return now
    today = _datetime(now)
    if ago := _AGO.fullmatch(text):
        back = _back(today, _amount(ago["many"]), ago["unit"])
        return _ms(back) if back and back >= _EPOCH else None
    edge = _EDGE.match(text)
    rest = text[edge.end() :] if edge else text
    span, end = _period_at(rest, 0, today, named=True)
    if span is None or end != len(rest):
        return None
    return _ms(span.end if edge and edge["edge"] == "end" else span.start)


def window_in(question: str, now: int) -> Window | None:
    """The time a question speaks of, or None. The first one counts; vague words only if there is no other."""
    text = " ".join(question[:READ_CHARS].lower().split())
    vague: Window | None = None
    for window in _windows(text, _datetime(now)):
        if not window.soft:
            return window
        vague = vague or window
    return vague


def _windows(text: str, now: datetime) -> Iterator[Window]:
    at = 0
    while start := _WORD_START.search(text, at):
        at = start.start() + 1
        span, end = _phrase_at(text, start.start(), now)
        if span is None:
            continue
        at = end
        window = Window(_ms(span.start), _ms(span.end), text[start.start() : end], span.soft)
        if window.after < window.before:
            yield window


_Found = tuple[_Span | None, int]
_NOTHING: _Found = (None, 0)


def _phrase_at(text: str, at: int, now: datetime) -> _Found:
    """A period and the word before it, if one begins here: since, before, between, in."""
    lead = _LEAD.match(text, at)
    if lead is None:
        return _period_at(text, at, now)
    word = lead["lead"]
    span, end = _period_at(text, lead.end(), now, named=True, numbers=True)
    if word in ("between", "from"):
        both, far = _until(text, span, end, now)
        if both is not None or word == "between":
            return both, far
        word = "since"
    return (_bounded(word, span, now), end) if span else _NOTHING


def _until(text: str, first: _Span | None, end: int, now: datetime) -> _Found:
    """The rest of "between X and Y"; a year said only with Y holds for X as well."""
    joint = _JOINT.match(text, end) if first else None
    if first is None or joint is None:
        return _NOTHING
    last, far = _period_at(text, joint.end(), now, named=True, numbers=True)
    if last is None:
        return _NOTHING
    if first.start > last.start:
        first = replace(first, start=_years_before(first.start, first.start.year - last.start.year))
        if first.start > last.start:
            first = replace(first, start=_years_before(first.start, 1))
    return _Span(first.start, last.end), far


def _years_before(moment: datetime, years: int) -> datetime:
    year = max(1970, moment.year - years)
    return moment.replace(year=year, day=min(moment.day, monthrange(year, moment.month)[1]))


def _bounded(word: str, span: _Span, now: datetime) -> _Span:
    if word == "since":
        return _Span(span.start, now)
    if word == "after":
        return _Span(span.end, now)
    if word == "before":
        return _Span(_EPOCH, span.start)
    if word in ("until", "till", "by"):
        return _Span(_EPOCH, span.end)
    return span


def _period_at(text: str, at: int, now: datetime, *, named: bool = False, numbers: bool = False) -> _Found:
    """The longest period that begins here. Bare names, as May or Monday, count only where a word leads to them."""
    best = _NOTHING
    for pattern, read in (*_PERIODS, *(_NAMED if named else ())):
        found = pattern.match(text, at)
        if found is None or found.end() <= best[1] or (numbers and _AMOUNT.match(text, at)):
            continue
        try:
            span = read(found, now)
        except (ValueError, OverflowError):  # the 30th of February, the year 0
            continue
        if span is not None and span.start < span.end:
            best = (span, found.end())
    return best


# Reading one period


def _day(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _one_day(day: date) -> _Span:
    return _Span(_day(day), _day(day) + _DAY)


def _month(year: int, month: int) -> _Span:
    start = datetime(year, month, 1, tzinfo=UTC)
    return _Span(start, start + timedelta(days=monthrange(year, month)[1]))


def _year(year: int) -> _Span:
    return _Span(datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))


def _week(day: date) -> _Span:
    start = _day(day - timedelta(days=day.weekday()))
    return _Span(start, start + _WEEK)


def _back(now: datetime, many: int, unit: str) -> datetime | None:
    """That long before now; a month back from the 31st is the last day of the month before."""
    try:
        if unit in ("month", "year"):
            months = now.year * 12 + now.month - 1 - many * (12 if unit == "year" else 1)
            year, month = months // 12, months % 12 + 1
            return now.replace(year=year, month=month, day=min(now.day, monthrange(year, month)[1]))
        return now - many * _UNITS[unit]
    except (ValueError, OverflowError):
        return None


def _iso_date(found: re.Match[str], now: datetime) -> _Span:
    year, month = int(found["year"]), int(found["month"])
    return _one_day(date(year, month, int(found["day"]))) if found["day"] else _month(year, month)


def _date(found: re.Match[str], now: datetime) -> _Span | None:
    """A day of a month; without a year the last one that is not to come."""
    month, day = _MONTHS[found["month"][:3]], int(found["day"])
    if found["year"]:
        return _one_day(date(int(found["year"]), month, day))
    for year in range(now.year, now.year - 9, -1):  # eight years back there is a leap day, even around 1900
        if day <= monthrange(year, month)[1] and date(year, month, day) <= now.date():
            return _one_day(date(year, month, day))
    return None


def _month_name(found: re.Match[str], now: datetime) -> _Span:
    month = _MONTHS[found["month"][:3]]
    if found["year"]:
        return _month(int(found["year"]), month)
    which = found["which"] or ""
    past = month < now.month or (month == now.month and which not in ("last ", "previous "))
    return _month(now.year if past or which == "this " else now.year - 1, month)


def _bare_year(found: re.Match[str], now: datetime) -> _Span | None:
    year = int(found["year"])
    return _year(year) if EARLIEST_YEAR <= year <= now.year + 1 else None


def _day_word(found: re.Match[str], now: datetime) -> _Span:
    back = 2 if "before" in found["day"] else 1 if "yesterday" in found["day"] else 0
    return _part(now.date() - back * _DAY, found["part"])


def _this_part(found: re.Match[str], now: datetime) -> _Span:
    return _part(now.date(), found["part"])


def _part(day: date, part: str | None) -> _Span:
    first, last = _PARTS[part or "day"]
    return _Span(_day(day) + timedelta(hours=first), _day(day) + timedelta(hours=last))


def _last_night(found: re.Match[str], now: datetime) -> _Span:
    today = _day(now.date())
    return _Span(today - timedelta(hours=6), today + timedelta(hours=6))


def _this_or_last(found: re.Match[str], now: datetime) -> _Span:
    unit, gone = found["unit"], found["which"] != "this"
    if unit == "week":
        return _week(now.date() - gone * _WEEK)
    if unit == "weekend":
        start = _week(now.date() - gone * _WEEK).start + 5 * _DAY
        return _Span(start, start + 2 * _DAY)
    if unit == "month":
        before = _back(now, int(gone), "month") or now
        return _month(before.year, before.month)
    return _year(now.year - gone)


def _weekday(found: re.Match[str], now: datetime) -> _Span:
    back = (now.weekday() - _WEEKDAYS.index(found["weekday"])) % 7
    if found["which"] and found["which"] != "this ":
        back = back or 7
    elif found["which"]:
        back = now.weekday() - _WEEKDAYS.index(found["weekday"])
    return _one_day(now.date() - back * _DAY)


def _ago(found: re.Match[str], now: datetime) -> _Span | None:
    """Around that long ago, as wide as the unit: the day, the month, the year; a week is three days to each side."""
    many, unit = _amount(found["many"]), found["unit"]
    back = _back(now, many, unit)
    if back is None:
        return None
    if unit == "day":
        return _one_day(back.date())
    if unit == "week":
        return _Span(_day(back.date()) - 3 * _DAY, _day(back.date()) + 4 * _DAY)
    if unit in ("month", "year"):
        return _month(back.year, back.month) if unit == "month" else _year(back.year)
    return _Span(back - _UNITS[unit], back + _UNITS[unit])


def _lately(found: re.Match[str], now: datetime) -> _Span | None:
    start = _back(now, _amount(found["many"] or "1"), found["unit"])
    return _Span(start, now) if start else None


def _vague(found: re.Match[str], now: datetime) -> _Span:
    return _Span(now - RECENT_DAYS * _DAY, now, soft=True)


def _amount(text: str) -> int:
    return int(text) if text.isdecimal() else _NUMBERS[text]


def _datetime(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=min(max(ms, 0), _MOST_MS))


def _ms(moment: datetime) -> int:
    return max(0, (moment - _EPOCH) // timedelta(milliseconds=1))


# The words

_MONTH_NAMES = "january february march april may june july august september october november december".split()
_MONTHS = {name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)}
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_NUMBERS = {
    word: number
    for number, word in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)
} | {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3, "several": 4}
_PARTS = {"day": (0, 24), "morning": (4, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
_UNITS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": _DAY,
    "week": _WEEK,
}

# A word ends here; 2023.1, 2023-05-12-rc1 and v2023 are no dates.
_ENDS = r"(?![\w]|[.:/-]\w)"
_MANY = r"(?P<many>\d{1,4}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + ")"
_UNIT = r"(?P<unit>second|minute|hour|day|week|month|year)s?"
_LONG_MONTH = "|".join(_MONTH_NAMES)
_ANY_MONTH = rf"(?P<month>{_LONG_MONTH}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?"
_DAY_NUMBER = r"(?P<day>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_WHICH = "last|previous|this"

_AGO = re.compile(rf"{_MANY} {_UNIT} ago")
_EDGE = re.compile(r"(?:the )?(?P<edge>start|beginning|end) of ")
_WORD_START = re.compile(r"(?<![\w./:-])\w")
_LEAD = re.compile(r"(?P<lead>between|from|since|after|before|until|till|by|in|during|on|of) (?:the )?")
_JOINT = re.compile(r" ?,? (?:and|to|until|till|through) (?:the )?| ?[–—] ?")
# A number that counts something, as in "after 2000 rows", is no year.
_AMOUNT = re.compile(
    r"\d{4} (?:more |new )?(?:bits?|bytes?|kb|mb|gb|ms|px|tokens?|chars?|characters|words?|lines?|rows?|items?|"
    r"files?|tests?|users?|requests?|records?|memories|steps?|times|seconds?|minutes?|hours?|days?|errors?|calls?|"
    r"entries|messages?|iterations|epochs?|samples?|points?|euros?|dollars?)\b"
)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text + _ENDS)


# Read wherever they stand.
_PERIODS: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (re.compile(rf"{_YEAR}-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-3]\d))?(?:t[\d:.]+z?)?{_ENDS}"), _iso_date),
    (re.compile(rf"{_YEAR}/(?P<month>0?[1-9]|1[0-2])/(?P<day>[0-3]?\d){_ENDS}"), _iso_date),
    (re.compile(rf"{_ANY_MONTH} {_DAY_NUMBER}(?: ?,? {_YEAR})?{_ENDS}"), _date),
    (re.compile(rf"{_DAY_NUMBER} (?:of )?{_ANY_MONTH}(?: ?,? {_YEAR})?{_ENDS}"), _date),
    (re.compile(rf"(?P<which>){_ANY_MONTH} ?,? (?:of )?{_YEAR}{_ENDS}"), _month_name),
    (
        _pattern(
            r"(?P<day>(?:the )?day before yesterday|yesterday|today)(?: (?P<part>morning|afternoon|evening|night))?"
        ),
        _day_word,
    ),
    (_pattern(r"this (?P<part>morning|afternoon|evening)"), _this_part),
    (_pattern(r"to(?P<part>night)"), _this_part),
    (_pattern(r"last night"), _last_night),
    (_pattern(rf"(?:the )?(?P<which>{_WHICH}) (?P<unit>week|weekend|month|year)"), _this_or_last),
    (_pattern(rf"(?P<which>(?:{_WHICH}|past) )(?P<weekday>{'|'.join(_WEEKDAYS)})"), _weekday),
    (_pattern(rf"(?P<which>(?:{_WHICH}) )(?P<month>{_LONG_MONTH})(?P<year>)"), _month_name),
    (_pattern(rf"{_MANY} {_UNIT} ago"), _ago),
    (_pattern(rf"(?:the )?(?:last|past) {_MANY} {_UNIT}"), _lately),
    (_pattern(rf"(?:the )?past (?P<many>){_UNIT}"), _lately),
    (_pattern(r"recently|lately|just now|the other day|these days"), _vague),
)

# Read after a word that leads to them: in May, on Monday, since 2023.
_NAMED: tuple[tuple[re.Pattern[str], _Read], ...] = (
    (_pattern(rf"(?P<which>)(?P<month>{_LONG_MONTH})(?P<year>)"), _month_name),
    (_pattern(rf"(?P<which>)(?P<weekday>{'|'.join(_WEEKDAYS)})"), _weekday),
    (_pattern(_YEAR), _bare_year),
)
