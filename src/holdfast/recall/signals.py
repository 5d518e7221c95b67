"""Features of a record's text and time beside its words: who speaks, what it asks, which names it holds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from holdfast.core.times import DAY_MS
from holdfast.recall.time.dates import UNIX_DAY, Span, beside_days
from holdfast.store import tokenizer

Floats = NDArray[np.float64]

# People write about a day on the days after it, rarely before.
DAYS_BEFORE, DAYS_AFTER = 1.0, 3.0

# Questions name roles without meaning the speaker.
_ROLES = frozenset("user assistant system tool human ai bot agent developer".split())
_SPEAKER = re.compile(r"\s*[^\W\d_][\w.'-]{0,30}(?: [^\W\d_][\w.'-]{0,30}){0,2}")
HEAD_CHARS = 100
_USER = "user: "
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|my|me|mine|myself|ich|mein\w{0,2}|mir|mich)\b", re.IGNORECASE)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|long|often|old|far|big|large|late|early|soon)\b|\bwhen\b"
    r"|\b(?:what|which) (?:time|date|day|year|number|version|port)\b|\b(?:wie (?:viel\w*|lange|oft|alt|weit)|wann)\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
# Beside a day these words only ask what happened then.
_NOTHING_ELSE = tokenizer.STOP_WORDS | frozenset(
    "happen happened happening happens going went done doing anything everything something things all show tell "
    "list find remember said say talk talked know knew learn learned learnt new news s".split()
)
_WORD = re.compile(r"\w+")

# E4031, HF-1182, src/store/words.py, snake_case, getUserName, 10.0.0.1, X-Signature-256
_NAME = re.compile(r"[A-Za-z0-9_][\w./\\:@#-]{2,199}")
_NAME_LIKE = re.compile(r"\d.*[A-Za-z_./\\:-]|[A-Za-z_./\\:-].*\d|\w[_/\\]\w|[A-Za-z]\w*\.[a-z]|::|[a-z][A-Z]")
MAX_NAMES = 16
READ_CHARS = 20_000


def speakers(texts: Sequence[str], question: str) -> Floats:
    """1 where the record begins with a speaker whom the question names."""
    asked = {word.casefold() for word in _WORD.findall(question[:READ_CHARS])} - _ROLES
    heads = [head.partition(": ")[0] if ": " in (head := text[:HEAD_CHARS]) else "" for text in texts]
    named = {head: float(_names(head, asked)) for head in set(heads)}
    return np.array([named[head] for head in heads])


def _names(head: str, asked: set[str]) -> bool:
    return not asked.isdisjoint(head.casefold().split()) and _SPEAKER.fullmatch(head) is not None


def own(by_user: Sequence[bool], texts: Sequence[str], question: str) -> Floats:
    """1 for the user's own words, where the question is about the user: "what did I want", "which is my editor"."""
    if not _FIRST_PERSON.search(question[:READ_CHARS]):
        return np.zeros(len(texts))
    rows = zip(by_user, texts, strict=True)
    return np.array([float(said or text[: len(_USER)].casefold() == _USER) for said, text in rows])


def numbers(texts: Sequence[str], question: str) -> Floats:
    """1 for a record with a number, where the question asks how much, when, or which version."""
    if not _ASKS_NUMBER.search(question[:READ_CHARS]):
        return np.zeros(len(texts))
    return np.array([float(_DIGIT.search(text[:READ_CHARS]) is not None) for text in texts])


def asking(texts: Sequence[str]) -> Floats:
    """Which share of each record's characters is in questions."""
    return np.array([_asking(text[:READ_CHARS]) if "?" in text else 0.0 for text in texts])


def _asking(text: str) -> float:
    *questions, _ = text.split("?")
    starts = (max(part.rfind("."), part.rfind("!"), part.rfind("\n")) for part in questions)
    return sum(len(part) - start for part, start in zip(questions, starts, strict=True)) / len(text)


def names(question: str) -> tuple[str, ...]:
    """What in the question looks like an identifier, a path or a code, in lower case."""
    found = (name.rstrip(".:-/@#") for name in _NAME.findall(question[:READ_CHARS]))
    return tuple(dict.fromkeys(name.lower() for name in found if _NAME_LIKE.search(name)))[:MAX_NAMES]


def exact(texts: Sequence[str], wanted: Sequence[str], likely: Sequence[bool]) -> Floats:
    """Which share of the names each record holds letter by letter; only likely records are read."""
    shares = np.zeros(len(texts))
    if not wanted:
        return shares
    patterns = [(name, re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")) for name in wanted]
    for at, text in enumerate(texts):
        if likely[at]:
            low = text[:READ_CHARS].lower()
            # Most texts hold none of the names, and a plain look for one is much faster than the pattern.
            found = (name in low and pattern.search(low) is not None for name, pattern in patterns)
            shares[at] = sum(found) / len(patterns)
    return shares


def disclosed(disclosures: Sequence[str], terms: Sequence[str]) -> Floats:
    """The share of a record's recall cue, in words, that the question holds."""
    asked = set(terms)
    return np.array([_share_asked(text, asked) if text else 0.0 for text in disclosures])


def _share_asked(text: str, asked: set[str]) -> float:
    wanted = {stem for word in tokenizer.query(text[:READ_CHARS]) for stem in tokenizer.stems(word)}
    return len(wanted & asked) / len(wanted) if wanted else 0.0


def asks_for_days_alone(question: str, now_ms: int) -> bool:
    """Whether a question names days and nothing else: "what happened last week"."""
    return _NOTHING_ELSE.issuperset(_WORD.findall(beside_days(question, now_ms)))


def dated(moments: NDArray[np.int64], spans: Sequence[Span]) -> Floats:
    """How near each moment is to the days of the question: 1 within, less outside."""
    near = np.zeros(len(moments))
    if not spans:
        return near
    days = moments // DAY_MS + UNIX_DAY
    for span in spans:
        for one in _every_year(span, days) if span.any_year else [span]:
            before = np.maximum(0, one.first.toordinal() - days)
            after = np.maximum(0, days - one.last.toordinal())
            np.maximum(near, np.exp(-before / DAYS_BEFORE - after / DAYS_AFTER), out=near)
    return near


def _every_year(span: Span, days: NDArray[np.int64]) -> list[Span]:
    """The same days of each year in which something was said."""
    within = np.clip(days, 1, date.max.toordinal())
    years = sorted({date.fromordinal(int(day)).year for day in np.unique(within)})
    return [span.of_year(year) for year in years]
