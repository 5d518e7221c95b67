"""Keeping questions: a search notes what it was asked in memory, and the server keeps some of it, without its text.

A prompt lies in the store already, so its observation's id is kept. Other searches have no record: they are kept, with
their redacted text, only where HOLDFAST_RECALL_KEEP is `all`. Questions from chats never are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.context import CallContext
from holdfast.core.background import AskedQuestion
from holdfast.core.model import Observation
from holdfast.recall.check.kept_questions import (
    MOST_HITS,
    KeptQuestion,
    question_id,
    read_questions,
    with_new,
    write_questions,
)
from holdfast.recall.check.replay import answered, turn_of
from holdfast.recall.hits import Hit, Question
from holdfast.redact import redact_text
from holdfast.store.port import Condition, Reader, where
from holdfast.store.queries.turns import PROMPT_HOOKS
from holdfast.store.tables import OBSERVATIONS

LATEST_PROMPTS = 3  # of a session, one of which was just asked
TEXT_CHARS = 4_000
_FILTERS = ("session_id", "type", "concepts", "files", "before", "after", "as_of", "per_session")


def note_question(ctx: CallContext, question: Question, hits: Sequence[Hit], session: str = "") -> None:
    """Note a search and its hits, if its kind is kept. `session`: the key of the session whose prompt it is."""
    kept = ctx.settings.recall_keep
    wanted = kept == "all" or (kept == "prompts" and session)
    if not wanted or ctx.live is None or ctx.in_chat or ctx.viewer.admin:
        return
    if question.limit < MOST_HITS or any(getattr(question, name) for name in _FILTERS):
        return
    ctx.questions.add(
        AskedQuestion(
            tenant=ctx.tenant,
            at=ctx.clock.now_ms(),
            seq=ctx.store.last_seq(ctx.tenant),
            text=question.query,
            session=session,
            project=question.project,
            here=question.here,
            agent=ctx.writes_as(question.agent) if ctx.settings.isolated else question.agent,
            kinds=question.kinds,
            limit=question.limit,
            # One more: the prompt itself is among them.
            hits=tuple((answered(hit), turn_of(hit)) for hit in hits[: MOST_HITS + 1]),
        )
    )


def keep_questions(ctx: CallContext, asked: Iterable[AskedQuestion]) -> None:
    """Keep what was noted of the context's tenant.

    Raises:
        StorageFull, StorageFailed: nothing of it is kept.
    """
    if ctx.live is None:
        return
    reader = ctx.store.read()
    new = [kept for one in asked if (kept := _kept(ctx, reader, one)) is not None]
    if new:
        home = ctx.live.path
        write_questions(home, ctx.tenant, with_new(read_questions(home, ctx.tenant), new))


def drop_unwanted(ctx: CallContext) -> None:
    """Remove the questions that an earlier value of the setting kept and the present one does not.

    Raises:
        StorageFull, StorageFailed: they are still kept.
    """
    if ctx.live is None or ctx.settings.recall_keep == "all":
        return
    home = ctx.live.path
    kept = read_questions(home, ctx.tenant)
    wanted = [one for one in kept if ctx.settings.recall_keep == "prompts" and not one.text]
    if len(wanted) < len(kept):
        write_questions(home, ctx.tenant, wanted)


def _kept(ctx: CallContext, reader: Reader, one: AskedQuestion) -> KeptQuestion | None:
    prompt = _prompt(ctx, reader, one) if one.session else None
    if prompt is None and ctx.settings.recall_keep != "all":
        return None
    source = prompt.id if prompt else ""
    text = "" if prompt else redact_text(one.text[:TEXT_CHARS]).value
    hits = [record for record, turn in one.hits if source not in turn][:MOST_HITS]
    place = (one.project, one.here, one.agent, one.kinds, one.limit)
    return KeptQuestion(
        question_id(source or text, *place),
        one.at,
        source,
        text,
        one.project,
        one.here,
        one.agent,
        one.kinds,
        one.limit,
        tuple(hits),
        one.seq,
    )


def _prompt(ctx: CallContext, reader: Reader, one: AskedQuestion) -> Observation | None:
    """The observation whose text was asked; none if it was shortened when it was stored, or is not stored yet."""
    bounds = (*where(session_id=one.session), Condition("hook", "in", PROMPT_HOOKS))
    found = reader.find(OBSERVATIONS, ctx.tenant, *bounds, order="-at", limit=LATEST_PROMPTS)
    asked = redact_text(one.text).value.strip()
    return next((row for row in found if row.narrative.strip() == asked), None)
