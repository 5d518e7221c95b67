"""Recall from where the caller works: its project answers first, and others only where it does not."""

from __future__ import annotations

from dataclasses import replace

from holdfast.context import CallContext
from holdfast.recall.flow import search
from holdfast.recall.hits import Hit, Question
from holdfast.recall.repeats import text_among_first

# From which share of the question's words, or likeness in meaning, on a hit counts as an answer.
CLEAR_WORDS, CLEAR_LIKENESS = 0.3, 0.35
MOST_OTHERS = 1  # it takes the place of a hit of the caller's own project


def search_here(ctx: CallContext, question: Question) -> list[Hit]:
    """The best records of the caller's project and of none; of other projects only if these do not answer."""
    if not question.here or question.project or question.session_id:
        return search(ctx, question)
    own = search(ctx, replace(question, project=question.here))
    unbound = replace(question, unbound=True, kinds=("memory",))
    general = search(ctx, unbound) if "memory" in question.kinds else []
    hits = sorted([*own, *general], key=lambda hit: -hit.score)
    hits = text_among_first(_in_order(own, hits), question.query)[: question.limit]
    if any(map(is_clear, hits)):
        return hits
    known = {hit.record.id for hit in hits}
    elsewhere = replace(question, reread=False)
    others = [hit for hit in search(ctx, elsewhere) if hit.record.id not in known and is_clear(hit)][:MOST_OTHERS]
    return [*hits[: question.limit - len(others)], *others]


def is_clear(hit: Hit) -> bool:
    """Whether a hit clearly bears on the question."""
    return hit.parts.words >= CLEAR_WORDS or (hit.cosine or 0.0) >= CLEAR_LIKENESS


def _in_order(own: list[Hit], hits: list[Hit]) -> list[Hit]:
    """All hits by their score, but those of one search in its own order: it puts what replaced something first."""
    order = iter(own)
    ids = {hit.record.id for hit in own}
    return [next(order) if hit.record.id in ids else hit for hit in hits]
