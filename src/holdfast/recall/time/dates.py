"""Which days a text names, in English. Pure: the caller passes the current time."""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from holdfast.core.times import DAY_MS

UNIX_DAY = date(1970, 1, 1).toordinal()
MAX_SPANS = 8
READ_CHARS = 2_000
LEAP_DAY_WITHIN = 9  # years: 29 February was in one of them, even around 1900

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH_OF = {word: number for number, name in enumerate(_MONTHS, 1) for word in (name, name[:3])} | {"sept": 9}
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_SEASONS = {"spring": (3, 5), "summer": (6, 8), "autumn": (9, 11), "fall": (9, 11), "winter": (12, 2)}
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
_COUNTS = {word: number for number, word in enumerate(_NUMBERS, 1)}
_COUNTS |= {"a": 1, "an": 1, "couple of": 2, "few": 3, "several": 4}
# As exact as people are: two weeks ago is some day of that week. Days of each unit, and to each side.
_AROUND = {"day": (1, 0), "week": (7, 3), "month": (30, 15), "year": (365, 183)}

# Days of a month, as loose as people are; what has fewer ends sooner.
_PARTS = {"early": (1, 10), "mid": (11, 20), "late": (21, 31)}
_PARTS |= {"beginning of": _PARTS["early"], "start of": _PARTS["early"], "middle of": _PARTS["mid"]}
_PARTS |= {"end of": _PARTS["late"], "first half of": (1, 15), "second half of": (16, 31)}
_PLACES = {"first": 0, "second": 1, "third": 2, "fourth": 3, "last": -1}

_NAMED = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_DAY = r"(?:(?P<{0}>[0-3]?\d)(?:st|nd|rd|th)?)"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_MONTH = rf"(?P<month>{_NAMED})\b\.?(?:,?\s+(?:of\s+)?{_YEAR}\b)?"
_PART = re.compile(rf"\b(?P<part>{'|'.join(_PARTS)})[\s-]+{_MONTH}")
_PLACED = rf"(?P<place>{'|'.join(_PLACES)})\s+(?P<unit>week|weekend|{'|'.join(WEEKDAYS)})"
_PLACE = re.compile(rf"\b{_PLACED}\s+(?:of|in)\s+{_MONTH}")
_ISO = re.compile(rf"\b{_YEAR}-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-3]\d))?\b")
_DATE = (
    rf"(?:{_DAY.format('before')}\s+(?:of\s+)?)?(?P<month>{_NAMED})\b\.?"
    rf"(?(before)|(?:\s+{_DAY.format('after')}(?!\d))?)(?:,?\s+(?:of\s+)?{_YEAR}\b)?"
)
_WRITTEN = re.compile(rf"\b{_DATE}")
_WEEK_OF = re.compile(rf"\bweek\s+(?P<how>of|beginning|starting)\s+(?:on\s+)?(?:the\s+)?{_DATE}")
_SEASON = re.compile(rf"\b(?P<season>{'|'.join(_SEASONS)})(?:\s+of)?\s+{_YEAR}\b")
_YEAR_ALONE = re.compile(rf"\b(?:in|during|since|of|year)\s+{_YEAR}\b")
_PLAIN_DAY = re.compile(r"\b(?P<word>today|(?:day\s+before\s+)?yesterday)\b")
AMOUNT = rf"(?:a\s+)?(?P<count>\d{{1,4}}|{'|'.join(_COUNTS)})\s+"
UNIT = r"(?P<unit>second|minute|hour|day|week|month|year)s?"
AGO = re.compile(rf"\b{AMOUNT}{UNIT}\s+ago\b")
_LAST = re.compile(rf"\b(?P<which>last|this|past)\s+(?P<unit>week|month|year|night|{'|'.join(WEEKDAYS)})\b")

# Names that are words or people's names as well count as months only beside a day, a year or such a word.
_DOUBTFUL = {"may", "march", "august", "april", "june", "mar", "jan", "dec", "sep", "sept", "apr", "jun"}
_BEFORE_MONTH = re.compile(r"\b(?:in|during|since|until|by|of|last|this|early|late|mid|every|from)[ -]$")


@dataclass(frozen=True, slots=True)
class Span:
    """Days of the calendar, both included; no year means of any year."""

    first: date
    last: date
    any_year: bool = False

    def of_year(self, year: int) -> Span:
        """The same days of that year; 28 February for 29 where there is none."""
        return Span(_in_year(self.first, year), _in_year(self.last, year))

    @property
    def window(self) -> tuple[int, int]:
        """Their first moment, and the first after them."""
        return begin_of(self.first), begin_of(self.last) + DAY_MS

    def latest(self, today: date) -> Span:
        """These days; if they are of any year, of the one in which they were last: 29 February of a leap year."""
        if not self.any_year:
            return self
        years = (self.of_year(year) for year in range(today.year, today.year - LEAP_DAY_WITHIN, -1))
        return next(one for one in years if one.first <= today and one.first.day == self.first.day)


def spans(question: str, now_ms: int) -> tuple[Span, ...]:
    """The days that the question names; relative words count from now."""
    text = question[:READ_CHARS].lower()
    return tuple(dict.fromkeys(span for _, span in _read(text, day_of(now_ms))))[:MAX_SPANS]


def beside_days(question: str, now_ms: int) -> str:
    """The rest of a question without the days that it names, in lower case."""
    text = question[:READ_CHARS].lower()
    places = [found.span() for found, _ in _read(text, day_of(now_ms))]
    return "".join(" " if any(first <= at < end for first, end in places) else sign for at, sign in enumerate(text))


def whole(text: str, today: date) -> Span | None:
    """The days that a text in lower case names if it holds nothing else; it is read as if "in" stood before it."""
    led = f"in {text}"
    return next((span for found, span in _read(led, today) if found.start() <= 3 and found.end() == len(led)), None)


def day_of(ms: int) -> date:
    """The day of a moment in UTC; beyond the calendar's borders a clock is wrong, and the nearest day will do."""
    return datetime.fromtimestamp(min(max(ms // 1000, 0), 253_402_214_400), UTC).date()


def begin_of(day: date) -> int:
    """Its first moment in UTC."""
    return max(0, day.toordinal() - UNIX_DAY) * DAY_MS


def back(day: date, days: int) -> date:
    """So many days before, as far as the calendar goes."""
    return date.fromordinal(min(max(1, day.toordinal() - days), date.max.toordinal()))


def amount(text: str) -> int:
    """The number that AMOUNT found."""
    return _COUNTS.get(text) or int(text)


def _read(text: str, today: date) -> Iterator[tuple[re.Match[str], Span]]:
    """What the text names and where; the month in "early May" is no second thing."""
    taken: list[tuple[int, int]] = []
    for pattern, read in _READERS:
        if pattern is _YEAR_ALONE and _has_exact_year(text):
            continue
        for found in pattern.finditer(text):
            inside = any(first <= found.start() and found.end() <= last for first, last in taken)
            if not inside and (span := read(found, today)):
                taken.append(found.span())
                yield found, span


def _part(found: re.Match[str], today: date) -> Span:
    """Early, mid or late in a month."""
    year, (first, last) = int(found["year"] or 0), _PARTS[found["part"]]
    end = _month_end(year or 2000, _MONTH_OF[found["month"]])
    return Span(end.replace(day=first), end.replace(day=min(last, end.day)), any_year=not year)


def _place(found: re.Match[str], today: date) -> Span:
    """The second week of a month, its last Friday or weekend."""
    month, place, unit = _MONTH_OF[found["month"]], _PLACES[found["place"]], found["unit"]
    if found["year"]:
        return _placed(int(found["year"]), month, place, unit)
    if unit == "week":
        return replace(_placed(2000, month, place, unit), any_year=True)
    # Which day is a Friday depends on the year: the last one that was.
    this = _placed(today.year, month, place, unit)
    return this if this.first <= today else _placed(today.year - 1, month, place, unit)


def _placed(year: int, month: int, place: int, unit: str) -> Span:
    end = _month_end(year, month)
    first = end.day - 6 if place < 0 else 1 + 7 * place  # of seven days, each weekday is one
    if unit == "week":
        return Span(end.replace(day=first), end.replace(day=first + 6))
    begin, name = end.replace(day=first), "saturday" if unit == "weekend" else unit
    day = back(begin, -((WEEKDAYS.index(name) - begin.weekday()) % 7))
    return Span(day, back(day, -1) if unit == "weekend" else day)


def _week_of(found: re.Match[str], today: date) -> Span | None:
    span = _written(found, today)
    if span is None or span.first != span.last:
        return None
    day = span.latest(today).first
    first = back(day, day.weekday()) if found["how"] == "of" else day
    return Span(first, back(first, -6))


def _iso(found: re.Match[str], today: date) -> Span | None:
    return _calendar(int(found["year"]), int(found["month"]), int(found["day"] or 0))


def _written(found: re.Match[str], today: date) -> Span | None:
    name, year, at = found["month"], int(found["year"] or 0), found.start()
    day = int(found["before"] or found["after"] or 0)
    if name in _DOUBTFUL and not (year or day or _BEFORE_MONTH.search(found.string, max(0, at - 8), at)):
        return None
    # Without a year in a leap year, so that 29 February is a day.
    span = _calendar(year or 2000, _MONTH_OF[name], day)
    return replace(span, any_year=not year) if span else None


def _calendar(year: int, month: int, day: int) -> Span | None:
    """A day, or the whole month for day 0; None if there is no such day."""
    last = _month_end(year, month)
    if day > last.day:
        return None
    return Span(last.replace(day=day or 1), last.replace(day=day or last.day))


def _season(found: re.Match[str], today: date) -> Span:
    first, last = _SEASONS[found["season"]]
    year = int(found["year"])
    return Span(date(year, first, 1), _month_end(year + (last < first), last))


def _has_exact_year(text: str) -> bool:
    """Whether a year stands in something more exact than the year alone."""
    return bool(_ISO.search(text) or _SEASON.search(text) or any(one["year"] for one in _WRITTEN.finditer(text)))


def _year_alone(found: re.Match[str], today: date) -> Span:
    return _year(int(found["year"]))


def _plain_day(found: re.Match[str], today: date) -> Span:
    day = back(today, {"today": 0, "yesterday": 1}.get(found["word"], 2))
    return Span(day, day)


def _ago(found: re.Match[str], today: date) -> Span | None:
    if found["unit"] not in _AROUND:
        return None
    days, slack = _AROUND[found["unit"]]
    middle = back(today, days * amount(found["count"]))
    return Span(back(middle, slack), back(middle, -slack))


def _last(found: re.Match[str], today: date) -> Span:
    this, unit = found["which"] == "this", found["unit"]
    if unit == "night":
        return Span(back(today, 1), today)
    if unit in WEEKDAYS:
        day = back(today, (today.weekday() - WEEKDAYS.index(unit) - 1) % 7 + 1)
        return Span(day, day)
    if unit == "week":
        monday = back(today, today.weekday() + (0 if this else 7))
        return Span(monday, back(monday, -6))
    if unit == "month":
        inside = today if this else back(today, today.day)
        return Span(inside.replace(day=1), _month_end(inside.year, inside.month))
    return _year(today.year if this else today.year - 1)


def _year(year: int) -> Span:
    return Span(date(year, 1, 1), date(year, 12, 31))


def _month_end(year: int, month: int) -> date:
    return date(year, month, calendar.monthrange(year, month)[1])


def _in_year(day: date, year: int) -> date:
    return day.replace(year=year, day=min(day.day, calendar.monthrange(year, day.month)[1]))


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], date], Span | None]], ...] = (
    (_PART, _part),
    (_PLACE, _place),
    (_WEEK_OF, _week_of),
    (_ISO, _iso),
    (_WRITTEN, _written),
    (_SEASON, _season),
    (_YEAR_ALONE, _year_alone),
    (_PLAIN_DAY, _plain_day),
    (AGO, _ago),
    (_LAST, _last),
)
