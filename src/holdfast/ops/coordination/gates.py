"""Operations on what actions wait for: checkpoints and sentinels."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

import orjson
from pydantic import BeforeValidator, Field, WithJsonSchema
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.coordination.coordination_records import CHECKPOINT, SENTINEL, view, views
from holdfast.coordination.gates import (
    METRICS,
    GateDraft,
    add_checkpoint,
    add_sentinel,
    cancel_sentinel,
    check_sentinels,
    gates_of,
    resolve_checkpoint,
    trigger_sentinel,
)
from holdfast.coordination.watch_terms import LONGEST_MS, check_config
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import CleanText, Json
from holdfast.ops.framework.fields import CleanJson, CleanLoose, CleanName, Name, Names, Offset, limit
from holdfast.ops.framework.operation import Operation, Request


def _object(value: Any) -> Any:
    """JSON as it is, or in a text, as tools send it."""
    if isinstance(value, str):
        try:
            return orjson.loads(value) if value.strip() else {}
        except orjson.JSONDecodeError as error:
            raise ValueError("must be a JSON object") from error
    return value


_EITHER = {"oneOf": [{"type": "string"}, {"type": "object"}]}
JsonText = Annotated[CleanJson, BeforeValidator(_object), WithJsonSchema(_EITHER)]
LastsMs = Annotated[int, Field(ge=1, le=LONGEST_MS)]
CheckpointType = Literal["ci", "approval", "deploy", "external", "timer"]
CheckpointStatus = Literal["pending", "passed", "failed", "expired"]
_LINKED = Field(default=(), description="Ids of actions that wait for it.")


class Checkpoint(Request):
    operation: Literal["create", "resolve", "list"] = "create"
    name: CleanName | None = Field(default=None, description="With create: what is waited for.")
    description: CleanLoose = CleanText("")
    type: CheckpointType | None = None
    linked_action_ids: Names = _LINKED
    expires_in_ms: LastsMs | None = None
    checkpoint_id: Name | None = Field(default=None, description="With resolve: its id.")
    status: CheckpointStatus | None = Field(default=None, description="With resolve: passed or failed.")
    result: JsonText | None = None


class CheckpointAnswer(TypedDict):
    success: bool
    checkpoint: NotRequired[Json]
    unblockedCount: NotRequired[int]
    checkpoints: NotRequired[list[Json]]


def checkpoint(ctx: CallContext, ask: Checkpoint) -> CheckpointAnswer:
    """Create, resolve or list checkpoints: a CI result, an approval or a deploy that actions wait for.

    The linked actions are blocked until all their checkpoints are resolved as passed.
    """
    if ask.operation == "list":
        return {"success": True, "checkpoints": views(gates_of(ctx, CHECKPOINT, ask.status, ask.type, 200, 0))}
    if ask.operation == "resolve":
        if ask.checkpoint_id is None or ask.status not in ("passed", "failed"):
            raise InvalidRequest("checkpoint: resolve needs checkpointId, and a status: passed or failed")
        done = resolve_checkpoint(ctx, ask.checkpoint_id, ask.status, ask.result)
        return {"success": True, "checkpoint": view(done.gate), "unblockedCount": done.freed}
    if ask.name is None:
        raise InvalidRequest("checkpoint: create needs a name")
    more = {"description": ask.description}
    draft = GateDraft(ask.name, ask.type or "external", ask.linked_action_ids, ask.expires_in_ms, more)
    return {"success": True, "checkpoint": view(add_checkpoint(ctx, draft))}


class GateList(Request):
    status: Name | None = None
    type: Name | None = None
    limit: int = limit(200, 500)
    offset: Offset = 0


class CheckpointsAnswer(TypedDict):
    success: bool
    checkpoints: list[Json]


def checkpoints(ctx: CallContext, ask: GateList) -> CheckpointsAnswer:
    """List checkpoints, newest first."""
    return {
        "success": True,
        "checkpoints": views(gates_of(ctx, CHECKPOINT, ask.status, ask.type, ask.limit, ask.offset)),
    }


class SentinelCreate(Request):
    name: CleanName
    type: Literal["timer", "threshold", "pattern", "approval", "custom"] = Field(
        description="timer, threshold and pattern trigger by themselves; approval and custom by sentinel trigger."
    )
    config: JsonText = Field(
        default_factory=dict,
        description="timer: durationMs. threshold: metric "
        f"({', '.join(METRICS)}), operator (gt, lt, eq), value. pattern: pattern, plain text with | and .*",
    )
    linked_action_ids: Names = _LINKED
    expires_in_ms: LastsMs | None = None


class SentinelAnswer(TypedDict):
    success: bool
    sentinel: Json
    unblockedCount: NotRequired[int]


def sentinel_create(ctx: CallContext, ask: SentinelCreate) -> SentinelAnswer:
    """Watch for a condition: a time that passes, a number that is reached, a text that is observed, an approval.

    The linked actions are blocked until it is triggered. There are no webhooks: let the other program trigger it.
    """
    more = {"config": check_config(ask.type, ask.config, METRICS)}
    draft = GateDraft(ask.name, ask.type, ask.linked_action_ids, ask.expires_in_ms, more)
    return {"success": True, "sentinel": view(add_sentinel(ctx, draft))}


class SentinelTrigger(Request):
    sentinel_id: Name
    result: JsonText | None = Field(default=None, description="JSON that is kept with it.")


def sentinel_trigger(ctx: CallContext, ask: SentinelTrigger) -> SentinelAnswer:
    """Trigger a sentinel by hand. Actions that wait for nothing else become pending."""
    done = trigger_sentinel(ctx, ask.sentinel_id, ask.result)
    return {"success": True, "sentinel": view(done.gate), "unblockedCount": done.freed}


class SentinelNamed(Request):
    sentinel_id: Name


def sentinel_cancel(ctx: CallContext, ask: SentinelNamed) -> SentinelAnswer:
    """Stop watching for the condition of a sentinel. What waits for it goes on waiting."""
    return {"success": True, "sentinel": view(cancel_sentinel(ctx, ask.sentinel_id))}


class SentinelsAnswer(TypedDict):
    success: bool
    sentinels: list[Json]


def sentinels(ctx: CallContext, ask: GateList) -> SentinelsAnswer:
    """List sentinels, newest first."""
    return {"success": True, "sentinels": views(gates_of(ctx, SENTINEL, ask.status, ask.type, ask.limit, ask.offset))}


class SentinelCheck(Request):
    """Nothing beside the agent."""


class SentinelCheckAnswer(TypedDict):
    success: bool
    triggered: list[str]
    checkedCount: int


def sentinel_check(ctx: CallContext, ask: SentinelCheck) -> SentinelCheckAnswer:
    """Check the conditions of all sentinels now; a running server does it every few seconds."""
    triggered, checked = check_sentinels(ctx)
    return {"success": True, "triggered": [one.id for one in triggered], "checkedCount": checked}


GATES = (
    Operation(checkpoints, "GET", "/checkpoints", cli="checkpoints"),
    Operation(
        checkpoint,
        "POST",
        "/checkpoints/{operation}",
        effect="write",
        also=(("POST", "/checkpoints"),),
        tool="memory_checkpoint",
        tool_required=("operation",),
        cli="checkpoint",
        positional=("operation", "name"),
    ),
    Operation(sentinels, "GET", "/sentinels", cli="sentinel list"),
    Operation(
        sentinel_create,
        "POST",
        "/sentinels",
        effect="write",
        tool="memory_sentinel_create",
        cli="sentinel create",
        positional=("name", "type"),
    ),
    Operation(
        sentinel_trigger,
        "POST",
        "/sentinels/trigger",
        effect="write",
        tool="memory_sentinel_trigger",
        cli="sentinel trigger",
        positional=("sentinelId",),
    ),
    Operation(
        sentinel_cancel,
        "POST",
        "/sentinels/cancel",
        effect="write",
        cli="sentinel cancel",
        positional=("sentinelId",),
    ),
    Operation(sentinel_check, "POST", "/sentinels/check", effect="write", cli="sentinel check"),
)
