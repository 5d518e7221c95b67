"""Gates: what actions wait for beside other actions.

A checkpoint is passed by the one who knows; a sentinel by a timer, a number, a word in what was observed, or by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from holdfast.context import CallContext
from holdfast.coordination.coordination_records import (
    CHECKPOINT,
    SENTINEL,
    Kind,
    changed,
    found,
    is_over,
    keep,
    made,
    named,
)
from holdfast.coordination.readiness import GATED_BY, OPEN, action_named, put_status, set_free
from holdfast.coordination.watch_terms import is_reached, matches
from holdfast.core.errors import Conflict
from holdfast.core.model import CleanText, CoordinationRecord, Json
from holdfast.core.times import iso
from holdfast.learn.relations import keep_relation
from holdfast.store.port import Condition, Reader, Table, Tx, where
from holdfast.store.tables import ACTIONS, LESSONS, MEMORIES, OBSERVATIONS, SESSIONS

PENDING, WATCHING, TRIGGERED = "pending", "watching", "triggered"
READ_AT_ONCE = 2_000  # observations that one look at a pattern reads: more than come between two looks
METRICS: dict[str, tuple[Table[Any], tuple[Condition, ...]]] = {
    "observations": (OBSERVATIONS, ()),
    "errors": (OBSERVATIONS, where(type="error")),
    "memories": (MEMORIES, where(latest=True)),
    "lessons": (LESSONS, where(deleted=False)),
    "sessions": (SESSIONS, ()),
    "actions": (ACTIONS, ()),
    "open_actions": (ACTIONS, (Condition("status", "in", (*OPEN, "blocked")),)),
    "done_actions": (ACTIONS, where(status="done")),
}


@dataclass(frozen=True, slots=True)
class GateDraft:
    name: CleanText
    type: str
    actions: Sequence[str]
    lasts_ms: int | None
    more: Json  # what only checkpoints, or only sentinels, have


@dataclass(frozen=True, slots=True)
class Opened:
    """A gate, and how many actions no longer wait because of it."""

    gate: CoordinationRecord
    freed: int


def add_checkpoint(ctx: CallContext, draft: GateDraft) -> CoordinationRecord:
    """Store a checkpoint, and let its actions wait for it.

    Raises:
        NotFound: one of the actions does not exist.
    """
    return _add(ctx, CHECKPOINT, draft, PENDING)


def add_sentinel(ctx: CallContext, draft: GateDraft) -> CoordinationRecord:
    """The same for a sentinel."""
    return _add(ctx, SENTINEL, draft, WATCHING)


def _add(ctx: CallContext, kind: Kind, draft: GateDraft, status: str) -> CoordinationRecord:
    def store(tx: Tx) -> CoordinationRecord:
        actions = [action_named(ctx, tx, id) for id in dict.fromkeys(draft.actions)]
        body = {"name": draft.name, "type": draft.type, **draft.more, "linkedActionIds": [one.id for one in actions]}
        gate = keep(ctx, tx, made(ctx, kind, body, status=status, lasts_ms=draft.lasts_ms), f"{kind.name}_create")
        for action in actions:
            keep_relation(ctx, tx, action.id, gate.id, GATED_BY, gate.agent)
            if action.status == "pending":
                put_status(ctx, tx, action, "blocked")
        return gate

    return ctx.store.write(store)


def resolve_checkpoint(ctx: CallContext, id: str, status: str, result: Json | None) -> Opened:
    """Say how a checkpoint ended. Once it is passed, what waited for nothing else can begin.

    Raises:
        NotFound: no such checkpoint.
        Conflict: it ended in another way before.
    """
    return ctx.store.write(lambda tx: _end(ctx, tx, named(ctx, tx, CHECKPOINT, id), PENDING, status, result))


def trigger_sentinel(ctx: CallContext, id: str, result: Json | None) -> Opened:
    """Trigger a sentinel by hand.

    Raises:
        NotFound: no such sentinel.
        Conflict: it was cancelled, or its time is up.
    """
    return ctx.store.write(lambda tx: _end(ctx, tx, named(ctx, tx, SENTINEL, id), WATCHING, TRIGGERED, result))


def cancel_sentinel(ctx: CallContext, id: str) -> CoordinationRecord:
    """Stop watching; what waits for the sentinel goes on waiting.

    Raises:
        NotFound: no such sentinel.
        Conflict: it was triggered, or its time is up.
    """
    return ctx.store.write(lambda tx: _end(ctx, tx, named(ctx, tx, SENTINEL, id), WATCHING, "cancelled", None)).gate


def _end(ctx: CallContext, tx: Tx, gate: CoordinationRecord, before: str, status: str, result: Json | None) -> Opened:
    if gate.status == status:  # said before
        return Opened(gate, 0)
    if gate.status != before or is_over(gate, ctx.clock.now_ms()):
        ended = "expired" if gate.status == before else gate.status
        raise Conflict(f"{gate.kind}: it is {ended} and cannot become {status}", hint=f"Create a new {gate.kind}.")
    more = {"resolvedBy": ctx.agent(), "result": result} if gate.kind == CHECKPOINT.name else {"result": result}
    moment = "resolvedAt" if gate.kind == CHECKPOINT.name else "triggeredAt"
    more |= {moment: iso(ctx.clock.now_ms())}
    gate = keep(ctx, tx, changed(ctx, gate, status, **more), f"{gate.kind}_{status}")
    freed = set_free(ctx, tx, [gate.id]) if status in ("passed", TRIGGERED) else []
    return Opened(gate, len(freed))


def gates_of(
    ctx: CallContext, kind: Kind, status: str | None, type: str | None, limit: int, offset: int
) -> list[CoordinationRecord]:
    """Checkpoints or sentinels, newest first."""
    listed = found(ctx, ctx.store.read(), kind, *where(status=status))
    return [one for one in listed if type in (None, one.body["type"])][offset : offset + limit]


# Watching


def check_sentinels(ctx: CallContext) -> tuple[list[CoordinationRecord], int]:
    """Look whether the conditions of sentinels are met; those that were triggered, and how many were looked at."""
    reader, now = ctx.store.read(), ctx.clock.now_ms()
    watched = [one for one in found(ctx, reader, SENTINEL, *where(status=WATCHING)) if not is_over(one, now)]
    triggered = []
    for sentinel in watched:
        look = _LOOKS.get(str(sentinel.body["type"]))
        met = look(ctx, reader, sentinel) if look else None
        done = ctx.store.write(partial(_trigger, ctx, sentinel.id, met)) if met else None
        triggered += [done] if done else []
    return triggered, len(watched)


def _trigger(ctx: CallContext, id: str, met: Json, tx: Tx) -> CoordinationRecord | None:
    """Trigger it, unless another server was faster."""
    sentinel = named(ctx, tx, SENTINEL, id)
    return _end(ctx, tx, sentinel, WATCHING, TRIGGERED, met).gate if sentinel.status == WATCHING else None


_Look = Callable[[CallContext, Reader, CoordinationRecord], Json | None]


def _timer(ctx: CallContext, reader: Reader, sentinel: CoordinationRecord) -> Json | None:
    duration = sentinel.body["config"]["durationMs"]
    met = ctx.clock.now_ms() >= sentinel.created_at + duration
    return {"reason": "timer_elapsed", "durationMs": duration} if met else None


def _threshold(ctx: CallContext, reader: Reader, sentinel: CoordinationRecord) -> Json | None:
    config = sentinel.body["config"]
    table, bounds = METRICS[config["metric"]]
    now = reader.count(table, ctx.tenant, *_of_owner(ctx, sentinel), *bounds)
    met = is_reached(now, config["operator"], config["value"])
    return {"reason": "threshold_crossed", **config, "currentValue": now} if met else None


def _pattern(ctx: CallContext, reader: Reader, sentinel: CoordinationRecord) -> Json | None:
    """The newest observations since it was set."""
    pattern, later = sentinel.body["config"]["pattern"], Condition("seq", ">", sentinel.seq)
    for one in reader.find(OBSERVATIONS, ctx.tenant, *_of_owner(ctx, sentinel), later, limit=READ_AT_ONCE):
        if matches(pattern, f"{one.title}\n{one.narrative}"):
            return {"reason": "pattern_matched", "pattern": pattern, "matchedObservationId": one.id}
    return None


_LOOKS: dict[str, _Look] = {"timer": _timer, "threshold": _threshold, "pattern": _pattern}


def _of_owner(ctx: CallContext, sentinel: CoordinationRecord) -> tuple[Condition, ...]:
    """What the agent that set it may see, also when the server itself looks."""
    return where(agent=sentinel.agent) if ctx.settings.isolated else ()
