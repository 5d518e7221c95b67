"""Where a record comes from: the observations it cites, their sessions, and whether its row is as it was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.context import CallContext
from holdfast.core.model import Memory, Observation, Session
from holdfast.store.port import Reader, Table
from holdfast.store.rows import shape_of
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


@dataclass(frozen=True, slots=True)
class RowState:
    """Whether a row fits its checksum, and a hash of all that the record says."""

    sound: bool
    content_hash: str


def row_state(ctx: CallContext, reader: Reader, table: Table[Any], record: Any) -> RowState:
    """The state of a record's row as it is stored now."""
    codec = shape_of(table)
    rows = reader.values(table, ctx.tenant, (*codec.columns, "checksum"), [record.seq])
    return RowState(bool(rows) and codec.is_sound(rows[0]), codec.content_hash(record))
