"""Which sessions wait for a summary: those that ended, or rest, and have no up-to-date one."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.context import CallContext
from holdfast.core.model import Session, Summary
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.queries.stale_summaries import OUTDATED
from holdfast.store.tables import NOTES, OBSERVATIONS, SESSIONS, SUMMARIES, outdated_summary_key

# A session without an end event, as of a closed terminal, counts as over after this time without an event.
IDLE_MS = 30 * 60_000


def unsummarized(ctx: CallContext, project: str | None, limit: int, *, since: int = 0) -> list[Session]:
    """Sessions that are over and that no summary covers: those whose summary is outdated, then the newest first.

    `since` leaves out sessions without an event after that moment.
    """
    reader = ctx.store.read()
    found: dict[str, Session] = {}
    for session in _waiting(ctx, reader, project, since):
        if len(found) == limit:
            break
        found.setdefault(session.id, session)
    return list(found.values())


def _waiting(ctx: CallContext, reader: Reader, project: str | None, since: int) -> Iterator[Session]:
    own = where(project=project)
    for note in reader.find(NOTES, ctx.tenant, *where(kind=OUTDATED), order="updated_at"):
        session = reader.get(SESSIONS, ctx.tenant, note.content)
        of_project = session is not None and (project is None or session.project == project)
        if session is not None and of_project and ctx.may_see(session) and _is_over(ctx, session):
            yield from _observed(ctx, reader, session)
    bounds = (*ctx.sees(), *own, Condition("updated_at", ">=", since), Condition("observation_count", ">", 0))
    for session in reader.each(SESSIONS, ctx.tenant, *bounds, order="-started_at"):
        if _is_over(ctx, session) and is_stale(reader.get(SUMMARIES, ctx.tenant, session.id), session):
            yield from _observed(ctx, reader, session)


def _observed(ctx: CallContext, reader: Reader, session: Session) -> Iterator[Session]:
    """The session, if there is something to summarise: an import may bring a count without the observations."""
    if reader.find(OBSERVATIONS, ctx.tenant, *where(session_id=session.id), limit=1):
        yield session


def _is_over(ctx: CallContext, session: Session) -> bool:
    return session.status == "completed" or ctx.clock.now_ms() - session.updated_at >= IDLE_MS


def is_stale(summary: Summary | None, session: Session) -> bool:
    """Whether observations came or went since the summary was made."""
    return session.observation_count > 0 and (summary is None or summary.observation_count != session.observation_count)


def mark_current(ctx: CallContext, tx: Tx, session_id: str) -> None:
    """The session's summary was made anew."""
    tx.delete(NOTES, ctx.tenant, outdated_summary_key(session_id))
