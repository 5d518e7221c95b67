"""Leases: one agent at a time works on an action, until it gives the action back or its time is up.

There is one record for each action, so that two agents cannot hold it whichever servers they ask.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from holdfast.context import CallContext
from holdfast.coordination.coordination_records import (
    LEASE,
    OUTCOME,
    changed,
    id_of,
    is_over,
    keep,
    made,
)
from holdfast.coordination.readiness import CLOSED, action_named, blockers, put_status, set_free
from holdfast.core.errors import Conflict, InvalidRequest
from holdfast.core.model import Action, CoordinationRecord
from holdfast.store.port import Reader, Tx
from holdfast.store.tables import ACTIONS, COORDINATION

USUAL_MS, LONGEST_MS = 600_000, 3_600_000


@dataclass(frozen=True, slots=True)
class Held:
    """Another agent has the lease."""

    lease: CoordinationRecord


@dataclass(frozen=True, slots=True)
class Granted:
    """The caller has the lease; `new` unless it had it before."""

    lease: CoordinationRecord
    new: bool


def acquire(ctx: CallContext, action_id: str, ttl_ms: int) -> Granted | Held:
    """Take the lease on an action, which becomes active.

    Raises:
        NotFound: no such action.
        Conflict: the action is closed or waits for something.
    """
    agent = _agent(ctx)

    def store(tx: Tx) -> Granted | Held:
        action = action_named(ctx, tx, action_id)
        known = _live(ctx, tx, action)
        if known is not None:
            return Granted(known, new=False) if known.agent == agent else Held(known)
        _check_open(ctx, tx, action)
        lasts, id = min(ttl_ms, LONGEST_MS), id_of(LEASE, action.id)
        lease = made(ctx, LEASE, {}, id=id, subject=action.id, status="active", lasts_ms=lasts)
        keep(ctx, tx, lease, "lease_acquire", action=action.id)
        if action.status != "active":
            put_status(ctx, tx, action, "active")
        return Granted(lease, new=True)

    return ctx.store.write(store)


def renew(ctx: CallContext, action_id: str, ttl_ms: int) -> Granted | Held:
    """Keep the lease for longer, at most an hour from now.

    Raises:
        NotFound: no such action.
        Conflict: the caller's lease has ended.
    """
    agent = _agent(ctx)

    def store(tx: Tx) -> Granted | Held:
        known = _live(ctx, tx, action_named(ctx, tx, action_id))
        if known is None:
            raise Conflict("lease: there is none to renew", hint="Acquire it again; another agent may have had it.")
        if known.agent != agent:
            return Held(known)
        now = ctx.clock.now_ms()
        until = min(max(now, known.expires_at or now) + ttl_ms, now + LONGEST_MS)
        longer = dataclasses.replace(known, expires_at=until, updated_at=now)
        return Granted(keep(ctx, tx, longer, "lease_renew", action=action_id), new=False)

    return ctx.store.write(store)


def release(ctx: CallContext, action_id: str, result: str | None) -> bool | Held:
    """Give the action back, or say what came of it: then it is done. False if the caller held no lease.

    Raises:
        NotFound: no such action.
    """
    agent = _agent(ctx)

    def store(tx: Tx) -> bool | Held:
        action = action_named(ctx, tx, action_id)
        known = _live(ctx, tx, action)
        if known is None:
            return False
        if known.agent != agent:
            return Held(known)
        keep(ctx, tx, changed(ctx, known, "released"), "lease_release", action=action.id)
        if result:
            finish(ctx, tx, action, result)
        elif action.status == "active":
            put_status(ctx, tx, action, "pending")
        return True

    return ctx.store.write(store)


def finish(ctx: CallContext, tx: Tx, action: Action, result: str | None) -> None:
    """Store that an action is done and what came of it, end its lease, and set free what waited for it."""
    if action.status != "done":
        put_status(ctx, tx, action, "done")
    if result:
        note_outcome(ctx, tx, action.id, result)
    lease = tx.get(COORDINATION, ctx.tenant, id_of(LEASE, action.id))
    if lease is not None and lease.status == "active":
        keep(ctx, tx, changed(ctx, lease, "released"), "lease_release", action=action.id)
    set_free(ctx, tx, [action.id])


def note_outcome(ctx: CallContext, tx: Tx, action_id: str, result: str) -> None:
    outcome = made(ctx, OUTCOME, {"result": result}, id=id_of(OUTCOME, action_id), subject=action_id)
    keep(ctx, tx, outcome, "action_update", fields=["result"])


def end_expired(ctx: CallContext, tx: Tx, lease: CoordinationRecord) -> None:
    """End a lease whose time is up; its action can be taken again."""
    keep(ctx, tx, changed(ctx, lease, "expired"), "lease_expire", action=lease.subject)
    action = tx.get(ACTIONS, ctx.tenant, lease.subject)
    if action is not None and action.status == "active":
        put_status(ctx, tx, action, "pending")


def _agent(ctx: CallContext) -> str:
    agent = ctx.writes_as(None)
    if agent is None:
        raise InvalidRequest("agentId: name the agent that holds the lease")
    return agent


def _live(ctx: CallContext, reader: Reader, action: Action) -> CoordinationRecord | None:
    lease = reader.get(COORDINATION, ctx.tenant, id_of(LEASE, action.id))
    ended = lease is None or lease.status != "active" or is_over(lease, ctx.clock.now_ms())
    return None if ended else lease


def _check_open(ctx: CallContext, reader: Reader, action: Action) -> None:
    if action.status in CLOSED:
        raise Conflict(f"lease: the action is {action.status}", hint="holdfast next shows what is open.")
    waits = blockers(ctx, reader, [action]).get(action.id, [])
    if waits or action.status == "blocked":
        raise Conflict(
            f"lease: the action is blocked{' by ' + ', '.join(waits) if waits else ''}",
            hint="holdfast next shows what can be done now.",
        )
