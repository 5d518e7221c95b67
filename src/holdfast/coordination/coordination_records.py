"""Coordination records of all kinds: how they are made, found, stored and read by clients. One table holds them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from holdfast.context import CallContext
from holdfast.core.errors import NotFound
from holdfast.core.model import CoordinationRecord, Json
from holdfast.core.times import iso
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.tables import COORDINATION


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record: how its ids begin, and what clients call its subject and its agent."""

    name: str
    prefix: str
    subject: str = ""
    agent: str = "createdBy"


LEASE = Kind("lease", "lse", "actionId", "agentId")
OUTCOME = Kind("outcome", "out", "actionId", "agentId")
SIGNAL = Kind("signal", "sig", "to", "from")
CHECKPOINT = Kind("checkpoint", "ckpt")
SENTINEL = Kind("sentinel", "snl")
SKETCH = Kind("sketch", "sk", "project")
ROUTINE = Kind("routine", "rtn")
RUN = Kind("run", "run", "routineId", "initiatedBy")
FACET = Kind("facet", "fct", "targetId")
SHARE = Kind("share", "ts", "itemId", "sharedBy")
KINDS = {kind.name: kind for kind in (LEASE, OUTCOME, SIGNAL, CHECKPOINT, SENTINEL, SKETCH, ROUTINE, RUN, FACET, SHARE)}


def id_of(kind: Kind, *parts: str | None) -> str:
    """An id that follows from what the record is about, so that there is one of each."""
    return f"{kind.prefix}_{sha256(chr(31).join(part or '' for part in parts).encode()).hexdigest()[:20]}"


def made(
    ctx: CallContext,
    kind: Kind,
    body: Json,
    *,
    id: str | None = None,
    subject: str = "",
    status: str = "kept",
    lasts_ms: int | None = None,
    agent: str | None = None,
) -> CoordinationRecord:
    """A new record of the calling agent; `keep` stores it."""
    now = ctx.clock.now_ms()
    return CoordinationRecord(
        tenant=ctx.tenant,
        id=id or ctx.new_id(kind.prefix),
        seq=0,
        kind=kind.name,
        subject=subject,
        status=status,
        agent=ctx.writes_as(agent),
        body=body,
        created_at=now,
        updated_at=now,
        expires_at=None if lasts_ms is None else now + lasts_ms,
    )


def keep(ctx: CallContext, tx: Tx, record: CoordinationRecord, operation: str, **details: Any) -> CoordinationRecord:
    """The record as it was stored, over an earlier one of its id; logged and published."""
    known = tx.get(COORDINATION, ctx.tenant, record.id)
    record = dataclasses.replace(record, seq=known.seq if known else tx.next_seq(ctx.tenant))
    tx.replace(COORDINATION, record)
    ctx.audit(tx, operation, (record.id,), record.agent, **details)
    ctx.publish(tx, record.kind, record)
    return record


def changed(ctx: CallContext, record: CoordinationRecord, status: str, **body: Any) -> CoordinationRecord:
    """The record with another status and what is to be noted with it."""
    return dataclasses.replace(record, status=status, body={**record.body, **body}, updated_at=ctx.clock.now_ms())


def named(ctx: CallContext, reader: Reader, kind: Kind, id: str) -> CoordinationRecord:
    """The record of that id.

    Raises:
        NotFound: there is none of that kind, or it is not the caller's to see.
    """
    record = reader.get(COORDINATION, ctx.tenant, id)
    if record is None or record.kind != kind.name or not ctx.may_see(record):
        raise NotFound(f"{kind.name}: no {kind.name} has that id")
    return record


def found(
    ctx: CallContext, reader: Reader, kind: Kind, *bounds: Condition, limit: int | None = None, offset: int = 0
) -> list[CoordinationRecord]:
    """Records of a kind that the caller may see, newest first."""
    conditions = (*ctx.sees(), *where(kind=kind.name), *bounds)
    return reader.find(COORDINATION, ctx.tenant, *conditions, limit=limit, offset=offset)


def remove(ctx: CallContext, tx: Tx, *records: CoordinationRecord) -> None:
    """Remove records for good. The audit log names them, so that a merge does not bring them back."""
    for one in records:
        tx.delete(COORDINATION, ctx.tenant, one.id)
    if records:
        ctx.audit(tx, "coordination_remove", tuple(one.id for one in records), records[0].agent)


def is_over(record: CoordinationRecord, now: int) -> bool:
    """Whether its time is up."""
    return record.expires_at is not None and record.expires_at <= now


def view(record: CoordinationRecord) -> Json:
    """The record as clients read it: what its body holds stands beside the rest."""
    kind = KINDS[record.kind]
    shown: Json = {"id": record.id, "status": record.status, **record.body}
    if kind.subject:
        shown[kind.subject] = record.subject or None
    shown[kind.agent] = record.agent
    shown |= {"createdAt": iso(record.created_at), "updatedAt": iso(record.updated_at)}
    return {**shown, "expiresAt": iso(record.expires_at)} if record.expires_at is not None else shown


def views(records: Sequence[CoordinationRecord]) -> list[Json]:
    return [view(one) for one in records]
