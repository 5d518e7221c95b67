"""Operations on work that agents share: what is next, who does it, and what is wrong with it."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import Field, field_validator
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.coordination.coordination_records import remove, view
from holdfast.coordination.coordination_repair import CATEGORIES, findings, repair as repair_found
from holdfast.coordination.lease import USUAL_MS, Held, acquire, release, renew
from holdfast.coordination.readiness import frontier_of, set_free
from holdfast.core.errors import Conflict, NotFound
from holdfast.core.model import Json
from holdfast.core.times import iso
from holdfast.ops.coordination.gates import LastsMs
from holdfast.ops.framework.answers import Success
from holdfast.ops.framework.fields import CleanLoose, Name, Names
from holdfast.ops.framework.operation import Operation, Request
from holdfast.projects import of_project
from holdfast.store.port import Tx
from holdfast.store.tables import COORDINATION


class NextAsk(Request):
    project: Name | None = None


class NextAnswer(TypedDict):
    success: bool
    suggestion: Json | None
    message: str
    totalActions: int
    totalUnblocked: int


def next_action(ctx: CallContext, ask: NextAsk) -> NextAnswer:
    """Suggest the one action to work on now: open, not blocked, and with no lease of another agent.

    Priority counts most, then work that was begun, what others wait for, and age. Take it with memory_lease.
    """
    bounds = (*ctx.sees(), *of_project(ctx, ask.project))
    found = frontier_of(ctx, ctx.store.read(), bounds, ctx.agent())
    best = max(found.ready, key=lambda one: (one.score, -one.action.seq), default=None)
    counts = {"totalActions": found.total, "totalUnblocked": len(found.ready)}
    if best is None:
        return {"success": True, "suggestion": None, "message": "No action can be worked on now.", **counts}  # type: ignore[typeddict-item]
    action = best.action
    suggestion = {
        "actionId": action.id,
        "title": action.title,
        "description": action.description,
        "priority": action.priority,
        "score": best.score,
        "tags": list(action.tags),
    }
    message = f"Suggested: {action.title} (priority {action.priority}, score {best.score:.2f})"
    return {"success": True, "suggestion": suggestion, "message": message, **counts}  # type: ignore[typeddict-item]


class Lease(Request):
    operation: Literal["acquire", "renew", "release"]
    action_id: Name
    result: CleanLoose | None = Field(
        default=None, description="With release: what came of the action, which is then done."
    )
    ttl_ms: LastsMs = Field(default=USUAL_MS, description="Milliseconds that the lease lasts, an hour at most.")


class LeaseAnswer(TypedDict):
    success: bool
    lease: NotRequired[Json]
    renewed: NotRequired[bool]
    released: NotRequired[bool]
    message: NotRequired[str]
    error: NotRequired[str]
    heldBy: NotRequired[str | None]
    expiresAt: NotRequired[str]
    exitCode: NotRequired[int]


def lease(ctx: CallContext, ask: Lease) -> LeaseAnswer:
    """Acquire, renew or release the lease on an action, so that no two agents work on it at once.

    If another agent holds it, success is false, and heldBy and expiresAt tell who and until when. Releasing it with a
    result marks the action as done.
    """
    if ask.operation == "release":
        done = release(ctx, ask.action_id, ask.result or None)
        return _refused(done) if isinstance(done, Held) else {"success": True, "released": done}
    take = acquire if ask.operation == "acquire" else renew
    granted = take(ctx, ask.action_id, ask.ttl_ms)
    if isinstance(granted, Held):
        return _refused(granted)
    answer: LeaseAnswer = {"success": True, "lease": view(granted.lease), "renewed": ask.operation == "renew"}
    if ask.operation == "acquire" and not granted.new:
        answer["message"] = "This agent holds the lease already."
    return answer


def _refused(held: Held) -> LeaseAnswer:
    until = iso(held.lease.expires_at or 0)
    return {
        "success": False,
        "error": f"lease: {held.lease.agent} holds it until {until}",
        "heldBy": held.lease.agent,
        "expiresAt": until,
        "exitCode": Conflict.exit_code,
    }


class Heal(Request):
    categories: Names = Field(default=(), description=f"Of {', '.join(CATEGORIES)}. Default: all.")
    dry_run: bool = Field(default=False, description="Only report what would be repaired.")

    @field_validator("categories")
    @classmethod
    def _known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not set(value) <= set(CATEGORIES):
            raise ValueError(f"must be of {', '.join(CATEGORIES)}")
        return value


class HealAnswer(TypedDict):
    success: bool
    dryRun: bool
    fixed: int
    skipped: int
    details: list[str]
    checks: list[Json]


def heal(ctx: CallContext, ask: Heal) -> HealAnswer:
    """Repair what is wrong with actions, leases, gates, sketches, signals, facets and shares.

    Actions that wait for nothing are unblocked, what is past its time is ended, and what points at records that are
    gone is removed. What an agent has to decide is only reported.
    """
    wrong = findings(ctx, ctx.store.read(), ask.categories or CATEGORIES)
    mended = [one for one in wrong if one.repair is not None] if ask.dry_run else repair_found(ctx, wrong)
    return {
        "success": True,
        "dryRun": ask.dry_run,
        "fixed": len(mended),
        "skipped": len(wrong) - len(mended),
        "details": [f"{one.name}: {one.message}" for one in mended],
        "checks": [
            {"name": one.name, "category": one.category, "message": one.message, "fixable": one.repair is not None}
            for one in wrong
        ],
    }


class Remove(Request):
    id: Name = Field(description="Id of a signal, lease, checkpoint, sentinel, sketch, routine, run, facet or share.")


def coordination_remove(ctx: CallContext, ask: Remove) -> Success:
    """Remove a signal or another record of coordination for good. Actions that wait for it no longer do."""

    def store(tx: Tx) -> None:
        record = tx.get(COORDINATION, ctx.tenant, ask.id)
        if record is None or not ctx.may_see(record):
            raise NotFound("coordination: no record has that id")
        remove(ctx, tx, record)
        set_free(ctx, tx, [record.id])

    ctx.store.write(store)
    return {"success": True}


WORK = (
    Operation(next_action, "GET", "/next", tool="memory_next", cli="next"),
    Operation(
        lease,
        "POST",
        "/leases/{operation}",
        effect="write",
        tool="memory_lease",
        cli="lease",
        positional=("operation", "actionId"),
    ),
    Operation(
        coordination_remove,
        "DELETE",
        "/coordination/{id}",
        effect="destroy",
        cli="coordination-remove",
        positional=("id",),
    ),
    Operation(heal, "POST", "/diagnostics/heal", effect="write", tool="memory_heal", cli="heal"),
)
