"""The values that a sentence states: numbers with their unit, versions, times, days, names, paths, commands.

Two values are of one kind if one could stand in the other's place: 60 seconds and 2 minutes, Thursday and Tuesday.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

# A new statement is compared with the same older ones. What learning from one more turn beside a hundred takes without
# these caches: of values 2.2 times as long, of stems and of numbers 1.2, of the three of `supersession` 1.26
# (bench/mechanisms.py).
KEPT_TEXTS = 8_192
_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|"
    "Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
)
_FREQUENCIES = "(?i:hourly|daily|nightly|weekly|fortnightly|monthly|quarterly|yearly)"
_WEEKDAYS = "(?i:(?:mon|tues|wednes|thurs|fri|satur|sun)days?)"
# From two on: "one" is mostly no number.
IN_WORDS = {
    word: str(number)
    for number, spelled in {
        2: "two zwei", 3: "three drei", 4: "four vier", 5: "five fünf", 6: "six sechs", 7: "seven sieben",
        8: "eight acht", 9: "nine neun", 10: "ten zehn", 11: "eleven elf", 12: "twelve zwölf", 15: "fifteen fünfzehn",
        20: "twenty zwanzig", 30: "thirty dreißig", 40: "forty vierzig", 50: "fifty fünfzig", 60: "sixty sechzig",
    }.items()
    for word in spelled.split()
}  # fmt: skip
_VALUE = re.compile(
    rf"""`[^`]+`
    | (?:https?|s3|gs|ssh)://\S+
    | \b\d{{1,3}}(?:\.\d{{1,3}}){{3}}\b
    | \b\d{{1,2}}:\d\d\b
    | \b\d{{4}}-\d\d-\d\d\b
    | \b(?i:{"|".join(IN_WORDS)})(?:\s[a-z]+\b)?
    | \b(?:{_MONTHS})\ \d{{1,2}}\b | \b\d{{1,2}}\.?\ (?:{_MONTHS})\b
    | \b{_WEEKDAYS}\b
    | [\w./-]*\w/\w[\w./-]*
    | \b[A-Za-z_][\w-]*\.[a-z]{{1,5}}\b
    | \b[a-z]\w*-(?:\w+-)*[a-z]*\d\w*\b
    | \bv?\d[\d.,_]*(?:e-?\d+)?\s?(?:%|[A-Za-zµ°€$/]+)?
    | \b\w*_\w+\b
    | \b[A-Z][A-Z0-9]+\b
    | \b[A-Z]\w*[a-z][A-Z]\w*\b | \b[A-Z]{{2,}}[a-z]\w*\b
    | \b[a-z]+[A-Z]\w+\b
    | (?<![.!?]\ )(?<!^)\b[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]+\b
    | (?<!\w)[\#@][a-z][\w-]{{2,}}
    | \b{_FREQUENCIES}\b
    | (?<!now\ )(?<!so\ )(?<!ing\ )(?<!ly\ )\b(?:on|off)\b(?=[.,;]|$)""",
    re.VERBOSE,
)
_NUMBER = re.compile(r"v?(\d[\d.,_]*(?:e-?\d+)?)\s?(.*)")
# What is known by its form alone, before numbers and names are looked for.
_BY_FORM = tuple(
    (kind, re.compile(form))
    for kind, form in {
        "address": r"\d+(?:\.\d+){3}|[#@].+",
        "clock": r"\d+:\d\d",
        "date": r"\d{4}-\d\d-\d\d",
        "frequency": _FREQUENCIES,
        "switch": "on|off",
    }.items()
)
_UNITS = {
    unit: kind
    for kind, units in {
        "time": "ms s sec second seconds min minute minutes h hour hours d day days week weeks month months year years",
        "size": "b kb mb gb tb ki mi gi kib mib gib mbit",
        "share": "%",
        "money": "€ $ eur usd",
        "speed": "rpm baud bps",
        "count": "rows frames replicas requests",
    }.items()
    for unit in units.split()
}
THINGS = frozenset({"name", "code", "path"})  # what distinguishes one thing from another, if it is not the value itself


@dataclass(frozen=True, slots=True)
class Value:
    """A value as it can be compared: its kind, and what it is without unit and marks."""

    kind: str
    core: str

    def same(self, other: Value) -> bool:
        return self.core == other.core and (self.kind == other.kind or (self.is_number and other.is_number))

    @property
    def is_number(self) -> bool:
        return self.kind.startswith("number")

    def stands_in(self, text: str) -> bool:
        """Whether the text names it."""
        plain = text.lower().replace(",", "").replace("_", "") if self.is_number else text.lower()
        return re.search(rf"(?<![\w.]){re.escape(self.core)}(?!\w)", plain) is not None


def values(text: str) -> list[Value]:
    """The values of a sentence, in order."""
    return list(_values(text))


@lru_cache(maxsize=KEPT_TEXTS)
def _values(text: str) -> tuple[Value, ...]:
    return tuple(value for found in _VALUE.finditer(text) if (value := _read(found.group(0))) is not None)


@lru_cache(maxsize=KEPT_TEXTS)
def without_values(text: str) -> str:
    """The sentence with a mark in the place of each value: what it is about."""
    return _VALUE.sub("X", text)


def _read(raw: str) -> Value | None:
    text = raw.strip(".,;:` ")
    if not text:
        return None
    low = text.lower()
    if by_form := next((kind for kind, form in _BY_FORM if form.fullmatch(text)), ""):
        return Value(by_form, low)
    first, _, rest = text.partition(" ")
    number = _NUMBER.fullmatch(f"{IN_WORDS.get(first.lower(), first)} {rest}".strip())
    if number and not re.search(rf"\d\.? (?:{_MONTHS})", text):
        unit = number.group(2).lower()
        return Value(f"number {_UNITS.get(unit, '')}".strip(), re.sub(r"[,_]", "", number.group(1).strip(".,_")))
    if re.fullmatch(_WEEKDAYS, text):
        return Value("weekday", low.removesuffix("s"))
    if re.search(rf"(?:{_MONTHS}) \d|\d\.? (?:{_MONTHS})", text):
        return Value("date", low)
    if "/" in text or re.search(r"\w\.[a-z]{1,5}$", low):
        return Value("path", low)
    if raw.startswith("`") or "_" in text or re.search(r"^[a-z].*[A-Z]", text):
        return Value("code", low)
    return Value("name", low)
