"""Learning: observations ─summarize→ a session's summary and its crystal.

Every step works without a language model, by extraction; with one, summaries are written by it and the
extractive one stands in when it fails. Each step can be repeated: the same input gives the same records.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from hashlib import sha256

from holdfast.context import CallContext
from holdfast.core.errors import NotFound, UpstreamFailed
from holdfast.core.model import CleanText, Insight, Observation, Session, Summary
from holdfast.core.session_keys import session_name
from holdfast.learn.relations import keep_relation
from holdfast.learn.sessions.backlog import mark_current
from holdfast.learn.sessions.llm_prompt import (
    SESSION_ANSWER_TOKENS,
    SESSION_INSTRUCTION,
    parse_llm_summary,
    session_text,
)
from holdfast.learn.sessions.narrative import LEAST_WORTH
from holdfast.learn.sessions.results import Finding, SessionDigest
from holdfast.learn.sessions.session_summary import crystallize, summarize_session
from holdfast.learn.statements.supersession import replaced_ids
from holdfast.local.project_key import is_path
from holdfast.redact import redact_text
from holdfast.store.port import Condition, Tx, where
from holdfast.store.tables import INSIGHTS, OBSERVATIONS, SESSIONS, STATEMENTS, SUMMARIES

SESSION_OBSERVATIONS = 2_000
SESSION_STATEMENTS = 500
MODEL_CHARS = 24_000
EXTRACTIVE = "extractive"


def summarize(ctx: CallContext, session_id: str, *, extractive: bool = False) -> tuple[Summary, Insight]:
    """A session's summary and its crystal, stored; repeating it brings them up to date.

    `extractive`: no language model is used.

    Raises:
        NotFound: no such session, or one without observations.
    """
    session, seen = session_with(ctx, session_id, SESSION_OBSERVATIONS)
    if not seen:
        raise NotFound("summarize: the session has no observations")
    asked = dataclasses.replace(ctx, summarizer=None) if extractive else ctx
    digest, maker = _digest(asked, session, seen)
    summary = _summary(ctx, session, digest, maker)
    crystal = crystallize(seen, digest)
    crystal = dataclasses.replace(crystal, source_ids=(session.id, *crystal.source_ids))

    def store(tx: Tx) -> tuple[Summary, Insight]:
        known = tx.get(SUMMARIES, ctx.tenant, session.id)
        kept = dataclasses.replace(summary, seq=known.seq if known else tx.next_seq(ctx.tenant))
        tx.replace(SUMMARIES, kept)
        mark_current(ctx, tx, session.id)
        insight = keep_finding(ctx, tx, crystal, maker)[0]
        if ctx.settings.graph_extraction:
            for concept in digest.concepts:
                keep_relation(
                    ctx, tx, f"session:{session_name(session.id)}", f"concept:{concept}", "mentions", session.agent
                )
        ctx.audit(tx, "summarize", (session.id,), session.agent, maker=maker)
        ctx.publish(tx, "summary", kept)
        return kept, insight

    return ctx.store.write(store)


def session_with(ctx: CallContext, session_id: str, limit: int) -> tuple[Session, list[Observation]]:
    """A session with its newest observations, in their order.

    Raises:
        NotFound: no such session, or not the caller's to see.
    """
    reader = ctx.store.read()
    session = reader.get(SESSIONS, ctx.tenant, ctx.session_key(reader, session_id))
    if session is None or not ctx.may_see(session):
        raise NotFound("session: no session has that id")
    seen = reader.find(OBSERVATIONS, ctx.tenant, *ctx.sees(), *where(session_id=session.id), order="-at", limit=limit)
    seen.reverse()
    return session, seen


def _digest(ctx: CallContext, session: Session, seen: Sequence[Observation]) -> tuple[SessionDigest, str]:
    """The model's digest if there is a model and it answers usefully, else the extractive one."""
    if ctx.summarizer is not None:
        text = CleanText(session_text(seen, MODEL_CHARS))  # made of stored text, which is clean
        try:
            answer = ctx.summarizer.complete(CleanText(SESSION_INSTRUCTION), text, max_tokens=SESSION_ANSWER_TOKENS)
        except UpstreamFailed:
            # The user requested a summary, not this model: the extractive one serves and is marked as such.
            return _extracted(ctx, session, seen), EXTRACTIVE
        parsed = parse_llm_summary(redact_text(answer).value)
        if parsed is not None:
            return parsed, ctx.summarizer.name
    return _extracted(ctx, session, seen), EXTRACTIVE


def _extracted(ctx: CallContext, session: Session, seen: Sequence[Observation]) -> SessionDigest:
    reader = ctx.store.read()
    worthy = (*where(session_id=session.id), Condition("worth", ">=", LEAST_WORTH))
    said = reader.find(STATEMENTS, ctx.tenant, *worthy, order="-at", limit=SESSION_STATEMENTS)
    replaced = replaced_ids(ctx, reader, [one.id for one in said])
    folders = [name for name in (session.project, session.cwd) if is_path(name)]
    held = [one for one in said if one.id not in replaced]
    return summarize_session(seen, held if said else None, folders)


def _summary(ctx: CallContext, session: Session, digest: SessionDigest, maker: str) -> Summary:
    return Summary(
        tenant=ctx.tenant,
        id=session.id,
        seq=0,
        project=session.project,
        agent=session.agent,
        title=digest.title,
        narrative=digest.narrative,
        decisions=digest.decisions,
        files=digest.files,
        concepts=digest.concepts,
        observation_count=session.observation_count,
        maker=maker,
        created_at=ctx.clock.now_ms(),
    )


def keep_finding(ctx: CallContext, tx: Tx, finding: Finding, maker: str) -> tuple[Insight, bool]:
    """The finding as a stored insight, and whether it is new; its id follows from its key. One with the same content
    as before is left as it is: what is not written needs no snapshot."""
    parts = (finding.kind, finding.key, finding.project or "", finding.agent or "")
    id = f"{finding.kind[:4]}_{sha256(chr(31).join(parts).encode()).hexdigest()[:20]}"
    known = tx.get(INSIGHTS, ctx.tenant, id)
    now = ctx.clock.now_ms()
    insight = Insight(
        tenant=ctx.tenant,
        id=id,
        seq=known.seq if known else tx.next_seq(ctx.tenant),
        kind=finding.kind,
        title=finding.title,
        content=finding.content,
        concepts=finding.concepts,
        files=finding.files,
        source_ids=finding.source_ids,
        project=finding.project,
        agent=finding.agent,
        strength=finding.strength,
        maker=maker,
        created_at=known.created_at if known else now,
        updated_at=now,
    )
    if known is not None and dataclasses.replace(insight, updated_at=known.updated_at) == known:
        return known, False
    tx.replace(INSIGHTS, insight)
    return insight, known is None
