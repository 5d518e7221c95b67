"""Learning: observations ─summarize→ a session's summary and its crystal.

Every step works without a language model, by extraction; with one, summaries are written by it and the
extractive one stands in when it fails. Each step can be repeated: the same input gives the same records.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from hashlib import sha256

from holdfast.context import Desk
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


def summarize(desk: Desk, session_id: str, *, extractive: bool = False) -> tuple[Summary, Insight]:
    """A session's summary and its crystal, stored; repeating it brings them up to date.

    `extractive`: no language model is asked.

    Raises:
        NotFound: no such session, or one without observations.
    """
    session, seen = session_with(desk, session_id, SESSION_OBSERVATIONS)
    if not seen:
        raise NotFound("summarize: the session holds no observations")
    asked = dataclasses.replace(desk, summarizer=None) if extractive else desk
    digest, maker = _digest(asked, session, seen)
    summary = _summary(desk, session, digest, maker)
    crystal = crystallize(seen, digest)
    crystal = dataclasses.replace(crystal, source_ids=(session.id, *crystal.source_ids))

    def store(tx: Tx) -> tuple[Summary, Insight]:
        known = tx.get(SUMMARIES, desk.tenant, session.id)
        kept = dataclasses.replace(summary, seq=known.seq if known else tx.next_seq())
        tx.replace(SUMMARIES, kept)
        mark_current(desk, tx, session.id)
        insight = keep_finding(desk, tx, crystal, maker)[0]
        if desk.settings.graph_extraction:
            for concept in digest.concepts:
                keep_relation(
                    desk, tx, f"session:{session_name(session.id)}", f"concept:{concept}", "mentions", session.agent
                )
        desk.audit(tx, "summarize", (session.id,), session.agent, maker=maker)
        desk.tell(tx, "summary", kept)
        return kept, insight

    return desk.store.write(store)


def session_with(desk: Desk, session_id: str, limit: int) -> tuple[Session, list[Observation]]:
    """A session with its newest observations, in their order.

    Raises:
        NotFound: no such session, or not the caller's to see.
    """
    reader = desk.store.read()
    session = reader.get(SESSIONS, desk.tenant, desk.session_key(reader, session_id))
    if session is None or not desk.may_see(session):
        raise NotFound("session: no session of that id")
    seen = reader.find(OBSERVATIONS, desk.tenant, *desk.sees(), *where(session_id=session.id), order="-at", limit=limit)
    seen.reverse()
    return session, seen


def _digest(desk: Desk, session: Session, seen: Sequence[Observation]) -> tuple[SessionDigest, str]:
    """The model's digest if there is a model and it answers usefully, else the extractive one."""
    if desk.summarizer is not None:
        text = CleanText(session_text(seen, MODEL_CHARS))  # made of stored text, which is clean
        try:
            answer = desk.summarizer.complete(CleanText(SESSION_INSTRUCTION), text, max_tokens=SESSION_ANSWER_TOKENS)
        except UpstreamFailed:
            # The user asked for a summary, not for this model: the extractive one serves and says so.
            return _extracted(desk, session, seen), EXTRACTIVE
        parsed = parse_llm_summary(redact_text(answer).value)
        if parsed is not None:
            return parsed, desk.summarizer.name
    return _extracted(desk, session, seen), EXTRACTIVE


def _extracted(desk: Desk, session: Session, seen: Sequence[Observation]) -> SessionDigest:
    reader = desk.store.read()
    worthy = (*where(session_id=session.id), Condition("worth", ">=", LEAST_WORTH))
    said = reader.find(STATEMENTS, desk.tenant, *worthy, order="-at", limit=SESSION_STATEMENTS)
    replaced = replaced_ids(desk, reader, [one.id for one in said])
    folders = [name for name in (session.project, session.cwd) if is_path(name)]
    held = [one for one in said if one.id not in replaced]
    return summarize_session(seen, held if said else None, folders)


def _summary(desk: Desk, session: Session, digest: SessionDigest, maker: str) -> Summary:
    return Summary(
        tenant=desk.tenant,
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
        created_at=desk.clock.now_ms(),
    )


def keep_finding(desk: Desk, tx: Tx, finding: Finding, maker: str) -> tuple[Insight, bool]:
    """The finding as a stored insight, and whether it is new; its id follows from its key. One that says the same as
    before is left as it is: what is not written needs no snapshot."""
    parts = (finding.kind, finding.key, finding.project or "", finding.agent or "")
    id = f"{finding.kind[:4]}_{sha256(chr(31).join(parts).encode()).hexdigest()[:20]}"
    known = tx.get(INSIGHTS, desk.tenant, id)
    now = desk.clock.now_ms()
    insight = Insight(
        tenant=desk.tenant,
        id=id,
        seq=known.seq if known else tx.next_seq(),
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
