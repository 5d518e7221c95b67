"""Operations on a copy that follows another host: what it reports of itself, and its promotion."""

from __future__ import annotations

import dataclasses
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.model import Json
from holdfast.core.times import iso
from holdfast.ops.framework.operation import Operation, Request
from holdfast.snapshot.follow.follow_note import read_follow
from holdfast.snapshot.follow.promotion import promote as take_over
from holdfast.snapshot.repo.context import snapshot_context


class FollowShape(TypedDict):
    vault: str  # where the journal is read; callers other than root see only that there is one
    host: str  # whose journal it is; "" until it was seen
    behindSeconds: float | None  # since this copy had all that the vault has; None: not since it was opened
    lastWriteAt: str | None  # when the newest piece was cut, by the clock of its host
    reachedAt: str | None  # when the vault was reached last, and all of it was here
    fault: NotRequired[str]  # why it has nothing new
    hint: NotRequired[str]


def follow_shape(ctx: CallContext) -> FollowShape | None:
    """How far a copy is behind; None for a memory that follows nobody."""
    if ctx.follow is None:
        return None
    state = ctx.follow.state
    behind = state.behind(ctx.clock.steady())
    shape: FollowShape = {
        "vault": state.vault if ctx.caller.may("root") else "yes",
        "host": state.host,
        "behindSeconds": None if behind is None else round(behind, 1),
        "lastWriteAt": None if state.last_at is None else iso(state.last_at),
        "reachedAt": None if state.reached_ms is None else iso(state.reached_ms),
    }
    if state.fault:
        shape["fault"] = state.fault
        shape["hint"] = state.hint
    return shape


def follow_fields(ctx: CallContext, status: Json) -> Json:
    """What the status of this memory's vault has of copies, and of other hosts that write the same journal."""
    follows, others = follow_shape(ctx), ctx.journal.others(ctx.tenant)
    fields: Json = {} if follows is None else {"follow": follows}
    return {**fields, "warnings": [*status.get("warnings", []), *others]} if others else fields


class Promote(Request):
    yes: bool = Field(
        default=False, description="Take over although the other host still writes, or the vault does not answer."
    )


class PromoteAnswer(TypedDict):
    success: bool
    promoted: bool  # False: this memory followed nobody, and takes writes already
    vault: str  # where this memory writes its journal from now on
    line: str  # of the journal that was followed; "" if only a snapshot was copied
    piece: int  # the last one of it that is here
    host: str  # whose place was taken
    lastWriteAt: str | None
    notes: list[str]


def promote(ctx: CallContext, ask: Promote) -> PromoteAnswer:
    """Let this copy take the place of the host that it follows: it takes what the vault still has, then writes.

    Stop the server of the other host first. What that host writes afterwards is noticed by both and can be merged.
    """
    context = snapshot_context(ctx)
    note = read_follow(context.home)
    if ctx.follow is None or note is None or note.ended:  # also a request that is repeated
        return {**_NOTHING, "vault": ctx.settings.vault}
    made = take_over(context, note, ctx.follow, anyway=ask.yes)
    live = context.live
    if live is not None:
        now = dataclasses.replace(ctx, store=live.store, follow=None)
        now.store.write(lambda tx: now.audit(tx, "promote", (), None, line=f"{made.line}:{made.number}"))
    notes = [f"Set HOLDFAST_VAULT={note.vault} for the agents and services of this host."]
    if made.missed:
        notes.append(f"Not all that the vault has may be here: {made.missed}. What is missing will be reported.")
    return {
        "success": True,
        "promoted": True,
        "vault": note.vault,
        "line": made.line,
        "piece": made.number,
        "host": made.host,
        "lastWriteAt": None if made.last_at is None else iso(made.last_at),
        "notes": notes,
    }


_NOTHING: PromoteAnswer = {
    "success": True,
    "promoted": False,
    "vault": "",
    "line": "",
    "piece": 0,
    "host": "",
    "lastWriteAt": None,
    "notes": ["This memory follows no other host, and takes writes already."],
}

FOLLOWING = (
    Operation(promote, "POST", "/promote", effect="write", scope="root", cli="promote", long=True, on_copy=True),
)
