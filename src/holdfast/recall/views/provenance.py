"""Where a memory comes from: the observations it cites, and their sessions."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.context import CallContext
from holdfast.core.model import Memory, Observation, Session
from holdfast.store.port import Reader
from holdfast.store.tables import OBSERVATIONS, SESSIONS


@dataclass(frozen=True, slots=True)
class Citation:
    """An observation that a memory was drawn from, and the session it was made in."""

    observation: Observation
    session: Session | None


def citations(ctx: CallContext, memory: Memory) -> list[Citation]:
    """The sources of a memory that are still there and that the caller may see; in a chat, none."""
    reader = ctx.store.read()
    sources = [reader.get(OBSERVATIONS, ctx.tenant, id) for id in memory.source_ids]
    return [Citation(one, session_of(ctx, reader, one)) for one in sources if one is not None and ctx.may_see(one)]


def session_of(ctx: CallContext, reader: Reader, seen: Observation) -> Session | None:
    session = reader.get(SESSIONS, ctx.tenant, seen.session_id)
    return session if session is not None and ctx.may_see(session) else None
