"""Summarises one session by its statements: what was wanted, found, decided, rejected, changed and left open.

Every sentence is a whole quote and stands once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from holdfast.core.model import Observation, Statement
from holdfast.learn.sessions.results import SessionDigest
from holdfast.learn.sessions.steps import requests, weighed_concepts
from holdfast.learn.statements.keywords import closed, normal
from holdfast.text.excerpt import clip
from holdfast.text.sentences import sentences

NARRATIVE_CHARS = 1_200
WANTED_CHARS = 240
FILES_NAMED = 5
FILES_KEPT = 50
MOST_DECISIONS = 10
LEAST_WORTH = 0.35  # a digest has little room, and below this most sentences are small talk of the work

# In the order of the summary.
PARTS: dict[str, frozenset[str]] = {
    "Found": frozenset({"finding", "fact"}),
    "Decided": frozenset({"decision"}),
    "Rejected": frozenset({"rejected"}),
    "The user prefers": frozenset({"preference"}),
    "Changed": frozenset({"change"}),
    "Left open": frozenset({"open"}),
}
DECISIONS = frozenset({"decision", "rejected", "preference"})


def digest_of(
    title: str, steps: Sequence[Observation], statements: Sequence[Statement], files: Counter[str]
) -> SessionDigest:
    """The session's digest, made of its statements that are in force. `files` are those that were changed."""
    asked = requests(steps)
    wanted = first_sentences(asked[0], WANTED_CHARS) if asked else ""
    told = _distinct([one for one in statements if one.worth >= LEAST_WORTH], wanted)
    head = closed(f"Wanted: {wanted}") if wanted else ""
    tail = _files(files)
    chosen = _chosen(told, NARRATIVE_CHARS - len(head) - len(tail) - 2)
    named = {name: [one.text for one in chosen if one.kind in kinds] for name, kinds in PARTS.items()}
    story = [head, *(f"{name}: {' '.join(map(closed, texts))}" for name, texts in named.items() if texts), tail]
    best = sorted((one for one in told if one.kind in DECISIONS), key=lambda one: -one.worth)[:MOST_DECISIONS]
    return SessionDigest(
        title=title,
        narrative=" ".join(filter(None, story)),
        decisions=tuple(one.text for one in told if one in best),
        files=tuple(path for path, _ in files.most_common(FILES_KEPT)),
        concepts=tuple(weighed_concepts(steps)[:12]),
    )


def first_sentences(text: str, limit: int) -> str:
    """The first whole sentences of a text, as many as fit; the first is clipped if it must be."""
    told = ""
    for one in sentences(text):
        longer = f"{told} {one.text}" if told else clip(one.text, limit)
        if len(longer) > limit:
            break
        told = longer
    return told or clip(text, limit)


def _distinct(statements: Sequence[Statement], wanted: str) -> list[Statement]:
    """In the order in which they were said, none that repeats another or what was wanted; of two the last stays."""
    kept: list[Statement] = []
    said = [normal(wanted)]
    for one in sorted(statements, key=lambda one: (one.at, one.seq), reverse=True):
        text = normal(one.text)
        if text and not any(text in other for other in said):
            said.append(text)
            kept.append(one)
    return kept[::-1]


def _chosen(statements: Sequence[Statement], room: int) -> list[Statement]:
    """The best of each part, then the best of all, as many as fit, in the order in which they were said."""
    by_worth = sorted(statements, key=lambda one: -one.worth)
    first = [one for kinds in PARTS.values() if (one := next((one for one in by_worth if one.kind in kinds), None))]
    chosen: list[Statement] = []
    for one in [*first, *(other for other in by_worth if other not in first)]:
        new_part = not any(one.kind in kinds and other.kind in kinds for kinds in PARTS.values() for other in chosen)
        cost = len(closed(one.text)) + 1 + (max(map(len, PARTS)) + 2 if new_part else 0)
        if cost <= room:
            room -= cost
            chosen.append(one)
    return [one for one in statements if one in chosen]


def _files(files: Counter[str]) -> str:
    if not files:
        return ""
    named = ", ".join(path for path, _ in files.most_common(FILES_NAMED))
    more = f" and {len(files) - FILES_NAMED} more" if len(files) > FILES_NAMED else ""
    return f"Files changed: {named}{more}."
