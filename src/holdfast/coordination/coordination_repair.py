"""What is wrong with the coordination of a tenant's agents, and its repair: ended leases, stuck actions, what points at
records that are gone. Background maintenance repairs what time has ended; the rest is repaired when someone asks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from holdfast.context import CallContext
from holdfast.coordination.agent_signals import READ, UNREAD
from holdfast.coordination.coordination_records import (
    CHECKPOINT,
    FACET,
    LEASE,
    OUTCOME,
    SENTINEL,
    SHARE,
    SIGNAL,
    SKETCH,
    Kind,
    changed,
    found,
    keep,
    remove,
)
from holdfast.coordination.facets import SHARED, TARGETS
from holdfast.coordination.gates import PENDING, WATCHING
from holdfast.coordination.lease import end_expired
from holdfast.coordination.plans import end_sketch
from holdfast.coordination.readiness import blockers, edges_of, live_leases, put_status
from holdfast.core.model import CoordinationRecord
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.tables import ACTIONS, COORDINATION

CATEGORIES = ("actions", "leases", "checkpoints", "sentinels", "sketches", "signals", "facets", "shares")
AWAITED = ("active", PENDING, WATCHING, UNREAD, READ)  # the status of records that time may end
Repair = Callable[[Tx], object]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be; `repair` is what mends it, None where an agent has to decide."""

    category: str
    name: str
    message: str
    repair: Repair | None


def findings(ctx: CallContext, reader: Reader, categories: Collection[str] = CATEGORIES) -> list[Finding]:
    """All that is wrong, category by category."""
    found_ones = [*ended(ctx, reader), *_stuck(ctx, reader), *_orphans(ctx, reader)]
    return [one for one in found_ones if one.category in categories]


def repair(ctx: CallContext, wrong: Collection[Finding]) -> list[Finding]:
    """Repair what can be; what was repaired."""
    todo = [one for one in wrong if one.repair is not None]

    def store(tx: Tx) -> None:
        for one in todo:
            if one.repair is not None:
                one.repair(tx)

    if todo:
        ctx.store.write(store)
    return todo


# What time has ended: leases, checkpoints, sentinels, sketches, signals


def ended(ctx: CallContext, reader: Reader) -> Iterator[Finding]:
    """Records whose time is up."""
    now = Condition("expires_at", "<=", ctx.clock.now_ms())
    for one in found(ctx, reader, LEASE, *where(status="active"), now):
        yield _finding(ctx, "leases", "expired-lease", one, "the lease has ended", end_expired)
    for kind, status in ((CHECKPOINT, PENDING), (SENTINEL, WATCHING)):
        for one in found(ctx, reader, kind, *where(status=status), now):
            yield _finding(ctx, f"{kind.name}s", f"expired-{kind.name}", one, f"the {kind.name} has ended", _expire)
    for one in found(ctx, reader, SKETCH, *where(status="active"), now):
        yield _finding(ctx, "sketches", "expired-sketch", one, "the sketch has ended", _end_sketch)
    safe = Condition("expires_at", "<=", ctx.safe_now())
    for one in found(ctx, reader, SIGNAL, safe):
        yield _finding(ctx, "signals", "expired-signal", one, "the signal has ended", _drop)


def _finding(
    ctx: CallContext,
    category: str,
    name: str,
    record: CoordinationRecord,
    message: str,
    mend: Callable[[CallContext, Tx, CoordinationRecord], object],
) -> Finding:
    def again(tx: Tx) -> None:
        now = tx.get(COORDINATION, ctx.tenant, record.id)
        if now is not None and now.status == record.status and now.expires_at == record.expires_at:
            mend(ctx, tx, now)

    return Finding(category, f"{name}:{record.id}", message, again)


def _expire(ctx: CallContext, tx: Tx, record: CoordinationRecord) -> None:
    keep(ctx, tx, changed(ctx, record, "expired"), f"{record.kind}_expire")


def _end_sketch(ctx: CallContext, tx: Tx, record: CoordinationRecord) -> None:
    end_sketch(ctx, tx, record, "expired")


def _drop(ctx: CallContext, tx: Tx, record: CoordinationRecord) -> None:
    remove(ctx, tx, record)


# Actions that say they wait and do not, or the other way round


def _stuck(ctx: CallContext, reader: Reader) -> Iterator[Finding]:
    open_ones = reader.find(
        ACTIONS, ctx.tenant, *ctx.sees(), Condition("status", "in", ("pending", "active", "blocked"))
    )
    ids = [one.id for one in open_ones]
    waits, linked = blockers(ctx, reader, open_ones), {one.source_id for one in edges_of(ctx, reader, ids)}
    leased = live_leases(ctx, reader, ids)
    for action in open_ones:
        held = action.id in waits
        if action.status == "blocked" and not held and action.id in linked:
            yield _wrong_status(ctx, action.id, "blocked-by-nothing", "blocked", "pending")
        elif action.status == "pending" and held:
            yield _wrong_status(ctx, action.id, "pending-but-blocked", "pending", "blocked")
        elif action.status == "active" and action.id not in leased:
            yield Finding("actions", f"active-no-lease:{action.id}", "the action is active, and none holds it", None)


def _wrong_status(ctx: CallContext, id: str, name: str, before: str, after: str) -> Finding:
    def mend(tx: Tx) -> None:
        action = tx.get(ACTIONS, ctx.tenant, id)
        if action is not None and action.status == before:
            put_status(ctx, tx, action, after)

    return Finding("actions", f"{name}:{id}", f"the action is {before} and should be {after}", mend)


# What points at records that are gone


def _orphans(ctx: CallContext, reader: Reader) -> Iterator[Finding]:
    for kind, category in ((LEASE, "leases"), (OUTCOME, "actions"), (FACET, "facets"), (SHARE, "shares")):
        for one in found(ctx, reader, kind):
            if not _has_subject(ctx, reader, kind, one):
                yield _finding(ctx, category, f"orphaned-{kind.name}", one, "what it is about is gone", _drop)
    for kind in (CHECKPOINT, SENTINEL):
        for one in found(ctx, reader, kind):
            for id in one.body.get("linkedActionIds", ()):
                if reader.get(ACTIONS, ctx.tenant, id) is None:
                    name = f"missing-action:{one.id}:{id}"
                    yield Finding(f"{kind.name}s", name, "an action that waits for it is gone", None)


def _has_subject(ctx: CallContext, reader: Reader, kind: Kind, record: CoordinationRecord) -> bool:
    tables = {FACET: TARGETS, SHARE: SHARED}.get(kind)
    table = tables.get(str(record.body.get("targetType") or record.body.get("type")), ACTIONS) if tables else ACTIONS
    return reader.get(table, ctx.tenant, record.subject) is not None
