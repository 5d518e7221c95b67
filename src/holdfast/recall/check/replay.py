"""Asking a kept question again, as it was asked: at its own time, with the ranking of today."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.context import CallContext
from holdfast.core.background import AnsweredRecord
from holdfast.core.model import Caller, Memory, Observation
from holdfast.recall.check.kept_questions import MOST_HITS, Answer, KeptQuestion
from holdfast.recall.hits import Hit, Question
from holdfast.recall.project_first import search_here
from holdfast.store.tables import OBSERVATIONS

DIGEST_CHARS = 12


@dataclass(frozen=True, slots=True)
class FixedClock:
    """A clock that stands still."""

    at: int

    def now_ms(self) -> int:
        return self.at

    def steady(self) -> float:
        return self.at / 1000


@dataclass(frozen=True, slots=True)
class ReplayedRecord:
    """A record of an answer, and when it was stored, in the order of writes."""

    record: AnsweredRecord
    seq: int


def reader_context(ctx: CallContext, agent: str | None = None) -> CallContext:
    """The context of the server itself, asking for an agent where agents are isolated. What it finds is not counted."""
    caller = Caller(tenant=ctx.tenant, agent=agent if ctx.settings.isolated else None, name="recall check")
    return dataclasses.replace(
        ctx, caller=caller, asked=None, live=None, recalls=type(ctx.recalls)(), questions=type(ctx.questions)()
    )


def models_of(ctx: CallContext) -> str:
    """Which models answer: that of meaning, and that which reads the best hits again."""
    return " ".join(model.name for model in (ctx.embedder, ctx.reranker) if model is not None) or "none"


def text_of(ctx: CallContext, question: KeptQuestion) -> str | None:
    """What was asked; None if it was forgotten since, or is not in this memory yet."""
    if not question.source:
        return question.text or None
    found = ctx.store.read().get(OBSERVATIONS, ctx.tenant, question.source)
    return found.narrative if found is not None else None


def replay(ctx: CallContext, question: KeptQuestion, *, most: int = MOST_HITS) -> list[ReplayedRecord] | None:
    """The best answers that the store of the context has for it now; None if its text is not there."""
    text = text_of(ctx, question)
    if text is None:
        return None
    asking = dataclasses.replace(reader_context(ctx, question.agent), clock=FixedClock(question.at))
    hits = search_here(
        asking,
        Question(
            text,
            limit=question.limit,
            project=question.project,
            here=question.here,
            agent=question.agent,
            kinds=question.kinds,
            reread=not question.source,  # a prompt is reminded without
        ),
    )
    return [ReplayedRecord(answered(hit), hit.record.seq) for hit in hits if question.source not in turn_of(hit)][:most]


def answered(hit: Hit) -> AnsweredRecord:
    record = hit.record
    return AnsweredRecord(record.id, line_of(record), record.content_hash[:DIGEST_CHARS])


def line_of(record: Memory | Observation) -> str:
    """What stays the same when a memory gets a new version."""
    return record.root if isinstance(record, Memory) else record.id


def turn_of(hit: Hit) -> tuple[str, ...]:
    """The ids of the rows that a hit stands for: a question must not be answered by itself."""
    return (hit.record.id, *(row.id for row in hit.turn))


def as_answer(found: Sequence[ReplayedRecord]) -> Answer:
    return tuple(one.record for one in found)
