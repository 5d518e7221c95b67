"""The passage of a record that answers a question: its own sentences, the best ones, in their order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from holdfast.store import tokenizer
from holdfast.text.sentences import sentences

GAP = " … "
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
    spread = Counter(stem for some in held for stem in some)
    rarity = {stem: math.log1p(len(texts) / spread[stem]) for stem in spread}
    return [sum(rarity[stem] for stem in some) for some in held]


def stems(text: str) -> frozenset[str]:
    return frozenset(stem for word in tokenizer.query(text) for stem in tokenizer.stems(word))
