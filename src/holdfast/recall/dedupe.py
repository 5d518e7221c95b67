"""Results with the same content are shown once, as a group; on request no session takes all the places."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.recall.rank import RankedCandidate

_WORD = re.compile(r"\w+")
READ_CHARS = 20_000
ALIKE = 0.9  # shared words of two texts over all their words
_NEGATIONS = frozenset("no not never none without cannot t".split())


def group_repeats(
    ranked: Sequence[RankedCandidate], texts: Mapping[int, str], limit: int | None = None
) -> list[list[RankedCandidate]]:
    """The results, those that are nearly identical to a better one behind it in its group; `limit` groups at most.

    A text that differs in a number, a name or a negation means something else, however much it shares.
    """
    groups: list[list[RankedCandidate]] = []
    seen: list[_TextWords] = []
    for one in ranked:
        if len(groups) == limit:
            break
        words = _TextWords.of(texts.get(one.seq, ""))
        like = next((at for at, other in enumerate(seen) if words.exact and _is_similar(words, other)), None)
        if like is not None:
            groups[like].append(one)
            continue
        groups.append([one])
        seen.append(words)
    return groups


@dataclass(frozen=True, slots=True)
class _TextWords:
    """The words of a text, as they are written and in lower case."""

    exact: frozenset[str]
    lower: frozenset[str]

    @classmethod
    def of(cls, text: str) -> _TextWords:
        words = frozenset(_WORD.findall(text[:READ_CHARS]))
        return cls(words, frozenset(map(str.lower, words)))


def _is_similar(one: _TextWords, other: _TextWords) -> bool:
    sizes = len(one.exact), len(other.exact)
    if min(sizes) < ALIKE * max(sizes):
        return False
    shared = len(one.exact & other.exact)
    if shared < ALIKE * (sum(sizes) - shared):
        return one.lower == other.lower
    apart = one.exact ^ other.exact
    return not any(
        _distinctive_words(word) for word in apart if (word.lower() in one.lower) != (word.lower() in other.lower)
    )


def _distinctive_words(word: str) -> bool:
    return not word.islower() or not word.isalpha() or word in _NEGATIONS


def diverse(ranked: Sequence[RankedCandidate], sessions: Mapping[int, str | None], most: int) -> list[RankedCandidate]:
    """The same results, but from each session only `most` before all others have had their turn."""
    taken: dict[str, int] = {}
    first: list[RankedCandidate] = []
    rest: list[RankedCandidate] = []
    for one in ranked:
        session = sessions.get(one.seq)
        count = taken.get(session, 0) if session else 0
        if session:
            taken[session] = count + 1
        (first if count < most or not session else rest).append(one)
    return first + rest
