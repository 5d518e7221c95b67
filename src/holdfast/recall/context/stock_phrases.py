"""Sentences that an agent repeats, each time about another thing: they hold nothing about the project.

Found by their wording alone: most of such a sentence is made of runs of words that stand in several other messages too.
Code and the user's own sentences do not count, so a command or a wish that comes up often is no stock phrase.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.core.model import Statement

RUN = 4  # words
MESSAGES = 3  # in which a run must stand
SHARE = 0.5  # of a sentence's words that must be part of such runs
FEWEST_WORDS = 7  # shorter ones share their runs by chance
_CODE = re.compile(r"`[^`]*`")
_WORDS = re.compile(r"\w+")


def stock_phrases(statements: Sequence[Statement]) -> set[str]:
    """The ids of the statements that are stock phrases."""
    said = {one.id: words for one in statements if one.kind != "preference" and (words := _words(one.text))}
    messages: dict[tuple[str, ...], set[str]] = {}
    sentences: set[str] = set()
    for one in statements:
        key = " ".join(said.get(one.id, ()))
        if key in sentences:
            continue  # said again word for word: the same fact
        sentences.add(key)
        for run in _runs(said.get(one.id, ())):
            messages.setdefault(run, set()).add(one.source_id)
    common = {run for run, sources in messages.items() if len(sources) >= MESSAGES}
    return {id for id, words in said.items() if _covered(words, common) >= SHARE}


def _words(text: str) -> tuple[str, ...]:
    words = tuple(_WORDS.findall(_CODE.sub(" ` ", text).casefold()))
    return words if len(words) >= FEWEST_WORDS else ()


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)]


def _covered(words: Sequence[str], common: set[tuple[str, ...]]) -> float:
    covered = {place for at, run in enumerate(_runs(words)) if run in common for place in range(at, at + RUN)}
    return len(covered) / len(words)
