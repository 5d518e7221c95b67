"""The best hits read again, each together with the question, by a model that sees both (`index/local_reranker.py`).

It costs as much as embedding so many texts, so it reads no more than a glance at an answer shows. How the numbers were
chosen is in docs/decisions/search.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from holdfast.context import CallContext
from holdfast.core.errors import EmbedderUnavailable
from holdfast.core.model import Memory
from holdfast.recall.hit_text import statements_of
from holdfast.recall.hits import Hit, Question
from holdfast.store.port import Reader
from holdfast.store.queries.turns import MESSAGE_HOOK

READ = 5  # hits, of which a list shows about as many
ANSWERS = 0.15  # of the model's score, as it is added to a hit's
LEAST, MOST = -11.0, 11.0  # what the model says of a text that has nothing to do with the question, and of the answer


def reread(ctx: CallContext, reader: Reader, hits: Sequence[Hit], question: Question) -> list[Hit]:
    """The hits, the first of them in the order in which they answer; as they are without a model, and where none of
    these is a turn. None of them goes behind one that was not read."""
    first = hits[:READ]
    if not question.reread or ctx.reranker is None or not any(hit.turn for hit in first):
        return list(hits)
    if not ctx.reranker.reads(question.query):
        return list(hits)
    try:
        scores = ctx.reranker.scores(question.query, [_text(ctx, reader, hit) for hit in first])
    except EmbedderUnavailable:  # the order of the ranking must do
        return list(hits)
    found = [_added(hit, score) for hit, score in zip(first, scores, strict=True)]
    return [*sorted(found, key=lambda hit: -hit.score), *hits[READ:]]


def _added(hit: Hit, score: float) -> Hit:
    more = ANSWERS * (min(MOST, max(LEAST, score)) - LEAST)
    return replace(hit, score=hit.score + more, parts=hit.parts._replace(reread=hit.parts.reread + more))


def _text(ctx: CallContext, reader: Reader, hit: Hit) -> str:
    """A turn's prompt and what was stated in it, or its last message; of other hits the record's text."""
    if isinstance(hit.record, Memory):
        return hit.record.content
    if not hit.turn:
        return f"{hit.record.title}\n{hit.record.narrative}"
    prompt = "" if hit.turn[0].hook == MESSAGE_HOOK else hit.turn[0].narrative
    stated = " ".join(one.text for one in statements_of(ctx, reader, hit) if one.text not in prompt)
    return f"{prompt}\n{stated or hit.turn[-1].narrative}".strip()
