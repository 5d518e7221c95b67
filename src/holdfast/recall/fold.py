"""Results that say the same are shown once; on request no session takes all the places."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from holdfast.recall.rank import Ranked

_WORD = re.compile(r"\w+")
READ_CHARS = 20_000
ALIKE = 0.9  # shared words of two texts over all their words
_NEGATIONS = frozenset("no not never none without cannot t".split())


def fold(ranked: Sequence[Ranked], texts: Mapping[int, str], limit: int | None = None) -> list[Ranked]:
    """The results without those that are nearly identical to a better one; no more than `limit`.

    A text that differs in a number, a name or a negation says something else, however much it shares.
    """
    kept: list[Ranked] = []
    seen: list[frozenset[str]] = []
    for one in ranked:
        if len(kept) == limit:
            break
        words = frozenset(_WORD.findall(texts.get(one.seq, "")[:READ_CHARS]))
        if words and any(_alike(words, other) for other in seen):
            continue
        kept.append(one)
        seen.append(words)
    return kept


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    if min(len(one), len(other)) < ALIKE * max(len(one), len(other)):
        return False
    apart = one ^ other
    if len(one & other) < ALIKE * len(one | other):
        return {word.lower() for word in one} == {word.lower() for word in other}
    lower = {word.lower() for word in one} ^ {word.lower() for word in other}
    return not any(_telling(word) for word in apart if word.lower() in lower)


def _telling(word: str) -> bool:
    return not word.islower() or not word.isalpha() or word in _NEGATIONS


def diverse(ranked: Sequence[Ranked], sessions: Mapping[int, str | None], most: int) -> list[Ranked]:
    """The same results, but from each session only `most` before all others have had their turn."""
    taken: dict[str, int] = {}
    first: list[Ranked] = []
    rest: list[Ranked] = []
    for one in ranked:
        session = sessions.get(one.seq)
        count = taken.get(session, 0) if session else 0
        if session:
            taken[session] = count + 1
        (first if count < most or not session else rest).append(one)
    return first + rest
