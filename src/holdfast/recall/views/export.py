"""Everything a caller may see, as one JSON document in pieces: bounded memory whatever the size.

All pieces come from one moment of the store. Tokens and idempotency answers stay behind: they are keys,
not memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from holdfast.context import CallContext
from holdfast.core.model import Address, Json
from holdfast.core.session_keys import session_name
from holdfast.core.times import iso
from holdfast.core.wire import shape
from holdfast.recall.links import seen_relations
from holdfast.store.port import Condition, Reader, Table, where
from holdfast.store.tables import (
    ACTIONS,
    ADDRESSES,
    AUDIT,
    COMMITS,
    COORDINATION,
    INSIGHTS,
    LESSONS,
    MEMORIES,
    NOTES,
    OBSERVATIONS,
    RELATIONS,
    SESSIONS,
    SLOTS,
    STATEMENTS,
    SUMMARIES,
)

FORMAT = "holdfast-export/1"

# The name of each list in the document, as the earlier system's exports have them where it had them.
LISTS: tuple[tuple[str, Table[Any], dict[str, str]], ...] = (
    ("memories", MEMORIES, {}),
    ("addresses", ADDRESSES, {}),
    ("summaries", SUMMARIES, {}),
    ("lessons", LESSONS, {}),
    ("slots", SLOTS, {}),
    ("actions", ACTIONS, {}),
    ("relations", RELATIONS, {}),
    ("coordination", COORDINATION, {}),
    ("commits", COMMITS, {}),
    ("semantic", INSIGHTS, {"kind": "semantic"}),
    ("procedural", INSIGHTS, {"kind": "procedural"}),
    ("crystals", INSIGHTS, {"kind": "crystal"}),
    ("insights", INSIGHTS, {"kind": "insight"}),
    ("statements", STATEMENTS, {}),
    ("notes", NOTES, {}),
    ("audit", AUDIT, {}),
)

# Notes have no agent: they are the tenant's own and are left out when agents are isolated.
_AGENTLESS = frozenset({"notes"})


def export_pieces(
    ctx: CallContext, bounds: tuple[Condition, ...], version: str, max_sessions: int | None, offset: int
) -> Iterator[bytes]:
    """The document. With `max_sessions`, that many sessions from `offset`; the rest is on the first page."""
    with ctx.store.snapshot() as reader:
        head = {"format": FORMAT, "version": version, "exportedAt": iso(ctx.clock.now_ms())}
        yield orjson.dumps(head)[:-1]
        if ctx.in_chat:
            yield from _list("memories", (shape(one) for one in _records(ctx, reader, MEMORIES, bounds)))
            yield b"}"
            return
        yield from _list("sessions", (shape(one) for one in _sessions(ctx, reader, bounds, max_sessions, offset)))
        yield b',"observations":{'
        yield from _observations(ctx, reader, bounds, max_sessions, offset)
        yield b"}"
        if offset == 0:
            for name, table, equal in LISTS:
                if name in _AGENTLESS and bounds:
                    continue
                yield from _list(name, (shape(one) for one in _records(ctx, reader, table, bounds, **equal)))
        if max_sessions is not None:
            total = reader.count(SESSIONS, ctx.tenant, *bounds)
            more = offset + max_sessions < total
            page = {"offset": offset, "maxSessions": max_sessions, "total": total, "hasMore": more}
            yield b',"pagination":' + orjson.dumps(page)
        yield b"}"


def _records(
    ctx: CallContext, reader: Reader, table: Table[Any], bounds: tuple[Condition, ...], **equal: str
) -> Iterable[Any]:
    if table is MEMORIES:
        return (one for one in reader.each(table, ctx.tenant, *ctx.sees_memories()) if ctx.may_see(one))
    if table is AUDIT:
        return reader.each(table, ctx.tenant, *ctx.sees_audit())
    if table is ADDRESSES:
        return (one for one in reader.each(table, ctx.tenant, *bounds) if _is_seen(ctx, reader, one))
    found = reader.each(table, ctx.tenant, *bounds, *where(**equal))
    return seen_relations(ctx, reader, found) if table is RELATIONS else found


def _is_seen(ctx: CallContext, reader: Reader, address: Address) -> bool:
    """Whether the caller may see what lies there: all versions of a memory have one audience."""
    line = reader.get(MEMORIES, ctx.tenant, address.root)
    found = [line] if line else reader.find(MEMORIES, ctx.tenant, *where(root=address.root), limit=1)
    return bool(found) and ctx.may_see(found[0])


def _sessions(
    ctx: CallContext, reader: Reader, bounds: tuple[Condition, ...], max_sessions: int | None, offset: int
) -> Iterable[Any]:
    if max_sessions is None and offset == 0:
        return reader.each(SESSIONS, ctx.tenant, *bounds)
    page = 1_000_000_000 if max_sessions is None else max_sessions
    return reader.find(SESSIONS, ctx.tenant, *bounds, order="seq", limit=page, offset=offset)


def _observations(
    ctx: CallContext, reader: Reader, bounds: tuple[Condition, ...], max_sessions: int | None, offset: int
) -> Iterator[bytes]:
    first = True
    for session in list(_sessions(ctx, reader, bounds, max_sessions, offset)):
        shapes = (shape(one) for one in reader.each(OBSERVATIONS, ctx.tenant, *bounds, *where(session_id=session.id)))
        yield (b"" if first else b",") + orjson.dumps(session_name(session.id)) + b":["
        yield from _joined(shapes)
        yield b"]"
        first = False


def _list(name: str, shapes: Iterable[Json]) -> Iterator[bytes]:
    yield b"," + orjson.dumps(name) + b":["
    yield from _joined(shapes)
    yield b"]"


def _joined(shapes: Iterable[Json]) -> Iterator[bytes]:
    """Items in pieces of about 64 kB: fewer, larger writes to the network."""
    piece, size, first = [], 0, True
    for one in shapes:
        item = orjson.dumps(one)
        piece.append(item if first else b"," + item)
        first = False
        size += len(item)
        if size > 65_536:
            yield b"".join(piece)
            piece, size = [], 0
    if piece:
        yield b"".join(piece)
