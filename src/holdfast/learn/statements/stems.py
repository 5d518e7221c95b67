"""Words of a sentence as they are compared: without endings, and without those that every sentence has."""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.learn.statements.values import KEPT_TEXTS, without_values
from holdfast.store import tokenizer

_GERMAN = frozenset(
    "der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine ist sind war waren wird "
    "werden wurde wurden hat haben hatte ich er sie es wir ihr mich mir uns sich mein meine unser unsere mit ohne von "
    "vom zu zum zur bei beim auf aus im für nach vor über unter bis seit durch wie wer wen wem wann warum welche "
    "welcher welches dass ob wenn als auch noch nur schon dann denn doch kann können soll sollen muss müssen darf "
    "dürfen diese dieser dieses man mehr sehr hier jetzt alle allen bleibt".split()
)
_ENGLISH = frozenset(
    "now since also only still again we our it its is are was be been has have had with for the a an of to in on at by "
    "from that this and or so as not no up down per every each all one".split()
)
COMMON = tokenizer.STOP_WORDS | _ENGLISH | _GERMAN
_ENDINGS = ("ations", "ation", "ings", "ing", "ers", "er", "ies", "ed", "es", "s", "ment")


def tokens(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w-]+", text.lower()))


@lru_cache(maxsize=KEPT_TEXTS)
def stems(text: str) -> frozenset[str]:
    found = set()
    for word in re.findall(r"[a-zäöüß][a-zäöüß'-]+", text.lower()):
        word = word.strip("'-")
        if word in COMMON or len(word) < 3:
            continue
        ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= 3), "")
        stem = word[: len(word) - len(ending)]
        if len(stem) > 3 and stem[-1] in "ey":  # source and sources, retry and retries
            stem = stem[:-1]
        found.add(stem[:6])
    return frozenset(found)


def subject_of(text: str) -> frozenset[str]:
    """The stems of what a statement is about, without its values."""
    return stems(without_values(text))
