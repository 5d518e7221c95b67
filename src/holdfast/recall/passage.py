"""The passage of a record that answers a question: its own sentences, the best ones, in their order."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from holdfast.store import tokenizer
from holdfast.text.sentences import sentences

GAP = " … "
PART_CHARS = 32_000  # of a very long text that are cut into sentences
# A sentence or a line: up to an end mark before a blank, or the end of the line.
_PIECE = re.compile(r"\S(?:[^\n]*?(?:[.!?\u2026][\"'\u201d\u2019)\]]*(?=\s)|[\u3002\uff01\uff1f])|[^\n]*\S|)")
STATED = 0.35  # what a statement that was found worth keeping gets beside its words, as a share of the best match


def answering(texts: Sequence[str], query: str) -> list[int]:
    """Which of the texts answer by their words, best first: the best, and those at least half as good."""
    scores = _scores(texts, query) if texts else []
    best = max(scores, default=0.0)
    order = sorted(range(len(texts)), key=lambda at: -scores[at])
    return [at for at in order if best > 0 and scores[at] >= best / 2]


def passage(text: str, query: str, chars: int, stated: Sequence[str] = ()) -> str:
    """As much of a text as fits, what answers the question first; whole sentences, with a mark where some are left out.

    `stated` are sentences that were found worth keeping.
    """
    parts = [_with_lead(one.text, one.lead) for one in sentences(text)]
    if not parts:
        return _cut(" ".join(text.split()), chars)
    if sum(len(part) + 1 for part in parts) <= chars:
        return " ".join(parts)
    scores = _scores(parts, query)
    top = max(scores) or 1.0
    kept = " ".join(stated)
    weights = [score + (STATED * top if part in kept else 0.0) for part, score in zip(parts, scores, strict=True)]
    chosen: list[int] = []
    room = chars
    for at in _by_weight(weights):
        cost = len(parts[at]) + len(GAP)
        if cost <= room:
            chosen.append(at)
            room -= cost
        elif not chosen:
            return _cut(parts[at], chars)
    return _joined(parts, sorted(chosen))


def passage_range(text: str, query: str, chars: int) -> tuple[int, int]:
    """From where to where in a text the run of whole sentences stands that holds most of the question, at most `chars`
    long; the beginning if no word of it occurs."""
    whole = text.strip()
    if len(whole) <= chars:  # all of it holds most; not reading its words saves a seventh of a search
        start = len(text) - len(text.lstrip())
        return (start, start + len(whole)) if whole else (0, 0)
    begin, end = _read_part(text, query)
    pieces = _pieces(text, begin, end, chars)
    if not pieces:
        return 0, 0
    asked = stems(query)
    held = [stems(text[start:stop]) & asked for start, stop in pieces]
    rarity = _rarity(held)
    best, chosen = -1.0, (0, 0)
    for first in range(len(pieces)):
        if first and not held[first]:
            continue  # begins with a sentence that holds nothing: a later beginning is as good
        known: frozenset[str] = frozenset()
        for last in range(first, len(pieces)):
            if pieces[last][1] - pieces[first][0] > chars:
                break
            known |= held[last]
            worth = sum(rarity[stem] for stem in known)
            # A longer run that holds no more is taken only from the beginning on, so that a short text stays whole.
            if worth > best or (worth == best and chosen[0] == first):
                best, chosen = worth, (first, last)
    return pieces[chosen[0]][0], pieces[chosen[1]][1]


def _read_part(text: str, query: str) -> tuple[int, int]:
    """The part of a very long text in which most words of the question stand."""
    if len(text) <= PART_CHARS:
        return 0, len(text)
    words = [word.lower() for word in tokenizer.query(query)]
    parts = [(start, min(start + PART_CHARS, len(text))) for start in range(0, len(text), PART_CHARS // 2)]
    return max(parts, key=lambda part: (sum(word in text[part[0] : part[1]].lower() for word in words), -part[0]))


def _pieces(text: str, begin: int, end: int, chars: int) -> list[tuple[int, int]]:
    """The sentences and lines of a part of the text by their places, without the blanks around them; what is longer
    than a passage is cut between words."""
    found: list[tuple[int, int]] = []
    for piece in _PIECE.finditer(text, begin, end):
        start, stop = piece.span()
        while stop - start > chars:
            cut = text.rfind(" ", start + 1, start + chars)
            cut = cut if cut > 0 else start + chars
            found.append((start, cut))
            start = cut + (text[cut] == " ")
        found.append((start, stop))
    return [(start, stop) for start, stop in found if stop > start]


def _by_weight(weights: Sequence[float]) -> list[int]:
    """The sentences by their weight; those without any by how near they stand to the best."""
    best = max(range(len(weights)), key=lambda at: weights[at])
    return sorted(range(len(weights)), key=lambda at: (-weights[at], abs(at - best), at))


def _joined(parts: Sequence[str], chosen: Sequence[int]) -> str:
    text = ""
    last = -1
    for at in chosen:
        text += (" " if at == last + 1 and text else GAP if text else "") + parts[at]
        last = at
    return text.strip()


def _with_lead(text: str, lead: str) -> str:
    lead = lead.rstrip(":").strip()
    return f"{lead}: {text}" if lead and len(lead) <= 80 else text


def _cut(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    head = text[: chars - 1].rpartition(" ")[0] or text[: chars - 1]
    return head + "…"


def _scores(texts: Sequence[str], query: str) -> list[float]:
    """How much of the question each text holds; a word that few of the texts have counts more."""
    asked = stems(query)
    held = [stems(text) & asked for text in texts]
    rarity = _rarity(held)
    return [sum(rarity[stem] for stem in some) for some in held]


def _rarity(held: Sequence[frozenset[str]]) -> dict[str, float]:
    spread = Counter(stem for some in held for stem in some)
    return {stem: math.log1p(len(held) / spread[stem]) for stem in spread}


def stems(text: str) -> frozenset[str]:
    words = (*tokenizer.query(text), *tokenizer.code_terms(text))
    return frozenset(stem for word in words for stem in tokenizer.stems(word))
