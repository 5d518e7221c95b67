"""Gold: what must be known, what no longer holds, and whether a text says it.

A value is said where all regexes of one of its alternatives stand near each other. Nothing here knows the server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Kind = Literal["preference", "decision", "fact", "changed", "command", "open", "rootcause", "rejected"]
Alternative = str | tuple[str, ...]

NEAR = 260  # characters around the first regex; two or three sentences
LINE_NEAR = 150

# Words that say a value belongs to the past.
_PAST = re.compile(
    r"\b(was|were|had been|used to|until|formerly|former|previous(ly)?|earlier|originally|before|no longer|any ?more"
    r"|instead of|rather than|replac(es|ed|ing)|supersed(es|ed)|outdated|obsolete|stale|retired|dropped|removed|gone"
    r"|moved (away )?from|changed from|raised from|lowered from|up from|down from|old|rejected|history"
    r"|war|waren|bisher|früher|vorher|statt|anstatt|nicht mehr|ersetzt|bis)\b"
    r"|→|⇒|->|=>|~~|\b(from|von)\b.{1,60}\b(to|auf|nach|zu)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Value:
    """Something that can be said: alternatives of regexes that stand near each other."""

    name: str
    any_of: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """What must be known next morning. `was` is the value that a changed fact had before."""

    name: str
    kind: Kind
    wording: str
    any_of: tuple[Alternative, ...]
    was: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What the user asks next morning, and what counts as the answer."""

    text: str
    answer: str
    any_of: tuple[Alternative, ...]
    was: tuple[Alternative, ...] = ()
    kind: Kind = "fact"


def fact(name: str, kind: Kind, wording: str, *any_of: Alternative, was: Sequence[Alternative] = ()) -> Fact:
    return Fact(name, kind, wording, any_of, tuple(was))


def question(
    text: str, answer: str, *any_of: Alternative, was: Sequence[Alternative] = (), kind: Kind = "fact"
) -> Question:
    return Question(text, answer, any_of, tuple(was), "changed" if was else kind)


def value(name: str, *any_of: Alternative) -> Value:
    return Value(name, any_of)


@lru_cache(maxsize=4096)
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex, re.IGNORECASE)


def _places(text: str, alternative: Alternative, near: int) -> Iterator[str]:
    """The surroundings of each place where all regexes of the alternative meet."""
    first, *others = (alternative,) if isinstance(alternative, str) else alternative
    for found in _compiled(first).finditer(text):
        around = text[max(0, found.start() - near) : found.end() + near]
        if all(_compiled(other).search(around) for other in others):
            yield around


def says(text: str, any_of: Sequence[Alternative], near: int = NEAR) -> bool:
    """Whether the text says the value in one of its alternatives."""
    flat = text.replace("\\n", "\n")
    return any(next(_places(flat, one, near), None) is not None for one in any_of)


def as_current(text: str, old: Sequence[Alternative], new: Sequence[Alternative] = ()) -> str:
    """The first place that states an old value as if it held; empty when there is none.

    A line that marks it as past, or names the new value beside it, does not count.
    """
    for line in text.replace("\\n", "\n").splitlines():
        for around in (place for one in old for place in _places(line, one, LINE_NEAR)):
            if not _PAST.search(around) and not says(around, new, LINE_NEAR):
                return around.strip()
    return ""
