"""Intake: event ─redact→ clean event ─compress→ draft ─dedup→ ─store→ row, words, outbox in one transaction.

Redaction happened before anything arrives here: every text is a CleanText or CleanJson, and only the redact
package makes those.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from holdfast.context import CallContext
from holdfast.core.errors import LimitReached
from holdfast.core.model import Observation, Session
from holdfast.intake.event.draft import EventDraft, compress
from holdfast.intake.event.event import CleanEvent
from holdfast.intake.event_identity import content_hash, same_event
from holdfast.intake.turn_rows import FIRST_CHARS, give_prompt, with_prompt
from holdfast.projects import note_project
from holdfast.store.port import Tx
from holdfast.store.tables import OBSERVATIONS, SESSIONS


@dataclass(frozen=True, slots=True)
class Stored:
    observation: Observation


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The same event came within the dedup window; the first one stands."""

    observation: Observation


def observe(ctx: CallContext, event: CleanEvent, *, capped: bool = True) -> Stored | Duplicate:
    """Keep one event of an agent's session.

    Raises:
        LimitReached: the session holds as many observations as the settings allow.
    """
    draft = compress(event.hook, event.data, event.cwd)
    digest = content_hash(event)

    def store(tx: Tx) -> Stored | Duplicate:
        first = same_event(ctx, tx, event, digest)
        if first:
            return Duplicate(first)
        session = open_session(ctx, tx, event)
        limit = ctx.settings.max_obs_per_session
        if capped and session.observation_count >= limit:
            raise LimitReached(
                f"Session observation limit reached ({limit})",
                hint="Start a new session, or raise MAX_OBS_PER_SESSION.",
            )
        seen = with_prompt(ctx, tx, _observation(ctx, tx, event, draft, digest, session))
        tx.add(OBSERVATIONS, seen)
        give_prompt(ctx, tx, seen)
        tx.replace(SESSIONS, _counted(session, seen, draft))
        ctx.audit(tx, "observe", (seen.id,), seen.agent, sessionId=seen.session_id)
        for kind in ("raw_observation", "compressed_observation"):  # the two frames viewers expect of each
            ctx.publish(tx, kind, seen)
        return Stored(seen)

    return ctx.store.write(store)


def open_session(ctx: CallContext, tx: Tx, event: CleanEvent) -> Session:
    """The event's session: found, back to life if it had ended before the event, or made. No other is touched."""
    now = ctx.clock.now_ms()
    key = ctx.session_key(tx, event.session_id)
    known = tx.get(SESSIONS, ctx.tenant, key)
    if known is not None:
        if known.ended_at is not None and event.at < known.ended_at:
            return dataclasses.replace(known, updated_at=now)  # it comes late: the session has ended since
        return dataclasses.replace(known, status="active", ended_at=None, updated_at=now)
    session = Session(
        tenant=ctx.tenant,
        id=key,
        seq=tx.next_seq(ctx.tenant),
        project=event.project,
        cwd=event.cwd,
        agent=ctx.writes_as(event.agent),
        title="",
        status="active",
        started_at=min(event.at, now),
        updated_at=now,
    )
    tx.add(SESSIONS, session)
    note_project(ctx, tx, event.project, event.cwd)  # not at each event: agents wander from folder to folder
    return session


def _observation(
    ctx: CallContext, tx: Tx, event: CleanEvent, draft: EventDraft, digest: str, session: Session
) -> Observation:
    return Observation(
        tenant=ctx.tenant,
        id=event.key or ctx.new_id("obs"),
        seq=tx.next_seq(ctx.tenant),
        session_id=session.id,
        project=event.project or session.project,
        agent=ctx.writes_as(event.agent) or session.agent,
        at=event.at,
        stored_at=ctx.clock.now_ms(),
        hook=event.hook,
        type=event.type or draft.type,
        title=event.title or draft.title,
        subtitle=draft.subtitle,
        narrative=draft.narrative,
        facts=draft.facts,
        concepts=draft.concepts,
        files=draft.files,
        importance=draft.importance,
        confidence=draft.confidence,
        raw=event.data,
        content_hash=digest,
    )


def _counted(session: Session, seen: Observation, draft: EventDraft) -> Session:
    first = session.first_prompt or (draft.prompt or "")[:FIRST_CHARS]
    return dataclasses.replace(session, observation_count=session.observation_count + 1, first_prompt=first)
