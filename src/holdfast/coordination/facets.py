"""Facets, tags of the form dimension:value on actions, memories and observations; and what agents show each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.context import CallContext
from holdfast.coordination.coordination_records import FACET, SHARE, found, id_of, keep, made, remove
from holdfast.core.errors import Forbidden, NotFound
from holdfast.core.model import CleanText, CoordinationRecord
from holdfast.store.port import Reader, Table, Tx, where
from holdfast.store.tables import ACTIONS, COORDINATION, MEMORIES, OBSERVATIONS

TARGETS: dict[str, Table[Any]] = {"action": ACTIONS, "memory": MEMORIES, "observation": OBSERVATIONS}
MOST_SHARED = 1_000  # the newest that a feed looks through
SHARED: dict[str, Table[Any]] = {"memory": MEMORIES, "pattern": MEMORIES, "observation": OBSERVATIONS}


def target_of(ctx: CallContext, reader: Reader, type: str, id: str) -> Any:
    """The record that a facet tags or that is shared.

    Raises:
        NotFound: there is none of that type and id, or it is not the caller's to see.
    """
    record = reader.get({**TARGETS, **SHARED}[type], ctx.tenant, id)
    if record is None or not ctx.may_see(record):
        raise NotFound(f"{type}: no {type} has that id")
    return record


def tag(
    ctx: CallContext, type: str, id: str, dimension: CleanText, value: CleanText
) -> tuple[CoordinationRecord, bool]:
    """The facet, and whether it is new.

    Raises:
        NotFound: what it tags does not exist.
    """
    key = id_of(FACET, id, dimension, value, ctx.shared_agent())

    def store(tx: Tx) -> tuple[CoordinationRecord, bool]:
        target_of(ctx, tx, type, id)
        known = tx.get(COORDINATION, ctx.tenant, key)
        if known is not None:
            return known, False
        body = {"targetType": type, "dimension": dimension, "value": value}
        return keep(ctx, tx, made(ctx, FACET, body, id=key, subject=id), "facet_tag", target=id), True

    return ctx.store.write(store)


def untag(ctx: CallContext, id: str, dimension: str, value: str | None) -> int:
    """Remove the facets of a record in a dimension, or the one with that value; how many there were."""

    def store(tx: Tx) -> int:
        gone = [
            one
            for one in found(ctx, tx, FACET, *where(subject=id))
            if one.body["dimension"] == dimension and value in (None, one.body["value"])
        ]
        remove(ctx, tx, *gone)
        return len(gone)

    return ctx.store.write(store)


@dataclass(frozen=True, slots=True)
class Tagged:
    """A record with the facets that were asked for."""

    id: str
    type: str
    facets: tuple[str, ...]


def tagged(ctx: CallContext, every: Sequence[str], some: Sequence[str], type: str | None, limit: int) -> list[Tagged]:
    """Records that have every facet of the first list, and one of the second if there is any."""
    reader = ctx.store.read()
    held: dict[str, dict[str, str]] = defaultdict(dict)  # the facets of each record, and its type
    for one in found(ctx, reader, FACET):
        if type in (None, one.body["targetType"]):
            held[one.subject][facet_key(one)] = one.body["targetType"]
    fitting: list[Tagged] = []
    for id, facets in held.items():
        if not _fits(facets, every, some):
            continue
        kind = next(iter(facets.values()))
        record = reader.get(TARGETS[kind], ctx.tenant, id)
        if record is not None and ctx.may_see(record):
            names = dict.fromkeys((*every, *(one for one in some if one in facets)))
            fitting.append(Tagged(id, kind, tuple(names)))
            if len(fitting) == limit:
                break
    return fitting


def _fits(facets: Collection[str], every: Sequence[str], some: Sequence[str]) -> bool:
    return all(one in facets for one in every) and (not some or any(one in facets for one in some))


def facet_key(facet: CoordinationRecord) -> str:
    return f"{facet.body['dimension']}:{facet.body['value']}"


# What agents of one tenant show each other


def share(ctx: CallContext, type: str, id: str) -> tuple[CoordinationRecord, Any]:
    """Show a memory or an observation to the other agents of the tenant: the note of it, and the record.

    Only the id is kept, so that what is forgotten is no longer shown.

    Raises:
        NotFound: it does not exist.
        Forbidden: agents are isolated.
    """
    if ctx.settings.isolated:
        raise Forbidden(
            "share: agents are isolated, and none sees what another keeps",
            hint="Set AGENTMEMORY_AGENT_SCOPE=shared to let agents share records.",
        )
    key = id_of(SHARE, id)

    def store(tx: Tx) -> tuple[CoordinationRecord, Any]:
        record = target_of(ctx, tx, type, id)
        known = tx.get(COORDINATION, ctx.tenant, key)
        if known is not None:
            return known, record
        body = {"type": type, "visibility": "shared"}
        return keep(ctx, tx, made(ctx, SHARE, body, id=key, subject=id), "share", target=id), record

    return ctx.store.write(store)


def feed(ctx: CallContext, limit: int) -> tuple[list[tuple[CoordinationRecord, Any]], int]:
    """What was shared and can still be seen, newest first, and how much there is of it."""
    reader = ctx.store.read()
    shown = []
    for one in found(ctx, reader, SHARE, limit=MOST_SHARED):
        record = reader.get(SHARED[one.body["type"]], ctx.tenant, one.subject)
        if record is not None and ctx.may_see(record):
            shown.append((one, record))
    return shown[:limit], len(shown)
