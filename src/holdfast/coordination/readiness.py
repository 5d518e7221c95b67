"""Which actions can be worked on now: what keeps each of the others back, and what a change sets free."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from holdfast.context import CallContext
from holdfast.coordination.coordination_records import LEASE, OUTCOME, found
from holdfast.core.errors import NotFound
from holdfast.core.model import Action, CoordinationRecord, Relation
from holdfast.store.port import Condition, Reader, Tx
from holdfast.store.tables import ACTIONS, COORDINATION, RELATIONS

REQUIRES, GATED_BY, CONFLICTS, PART_OF = "requires", "gated_by", "conflicts_with", "part_of"
OPEN, CLOSED = ("pending", "active"), ("done", "cancelled")
PASSED = ("passed", "triggered")
LOOKED_AT = 2_000  # open actions of which the next is chosen
HOUR_MS = 3_600_000


def action_named(ctx: CallContext, reader: Reader, id: str) -> Action:
    """The action of that id.

    Raises:
        NotFound: there is none, or it is not the caller's to see.
    """
    action = reader.get(ACTIONS, ctx.tenant, id)
    if action is None or not ctx.may_see(action):
        raise NotFound("action: no action has that id")
    return action


def edges_of(ctx: CallContext, reader: Reader, ids: Sequence[str]) -> list[Relation]:
    """Relations of these actions to others and to gates, whichever end they are at."""
    kinds = Condition("type", "in", (REQUIRES, GATED_BY, CONFLICTS, PART_OF))
    both = {
        one.id: one
        for end in ("source_id", "target_id")
        for one in reader.find(RELATIONS, ctx.tenant, *ctx.sees(), kinds, Condition(end, "in", list(ids)))
    }
    return sorted(both.values(), key=attrgetter("seq"))


def blockers(ctx: CallContext, reader: Reader, actions: Sequence[Action]) -> dict[str, list[str]]:
    """What each of the actions waits for, in words; those that wait for nothing are left out."""
    edges = [one for one in edges_of(ctx, reader, [action.id for action in actions]) if one.type != PART_OF]
    ends = list({end for one in edges for end in (one.source_id, one.target_id)})
    others = {one.id: one for one in reader.find(ACTIONS, ctx.tenant, Condition("id", "in", ends))}
    gates = {one.id: one for one in reader.find(COORDINATION, ctx.tenant, Condition("id", "in", ends))}
    waits: dict[str, list[str]] = defaultdict(list)
    for edge in edges:
        source, target = edge.source_id, edge.target_id
        if edge.type == CONFLICTS:
            for one, other in ((source, target), (target, source)):
                if other in others and others[other].status == "active":
                    waits[one].append(f"conflict:{other}")
        elif target in others and others[target].status != "done":
            waits[source].append(f"requires:{target}")
        elif target in gates and gates[target].status not in PASSED:
            waits[source].append(f"{gates[target].kind}:{target}")
    return waits


def set_free(ctx: CallContext, tx: Tx, done: Iterable[str]) -> list[Action]:
    """The actions that waited for these and now wait for nothing; they are pending again."""
    edges = edges_of(ctx, tx, list(done))
    ids = list({one.source_id for one in edges if one.type in (REQUIRES, GATED_BY)})
    waiting = tx.find(ACTIONS, ctx.tenant, Condition("id", "in", ids), Condition("status", "=", "blocked"))
    held = blockers(ctx, tx, waiting)
    return [put_status(ctx, tx, one, "pending") for one in waiting if one.id not in held]


def put_status(ctx: CallContext, tx: Tx, action: Action, status: str) -> Action:
    """The action with another status, stored, logged and published."""
    action = dataclasses.replace(action, status=status, updated_at=ctx.clock.now_ms())
    tx.replace(ACTIONS, action)
    ctx.audit(tx, "action_update", (action.id,), action.agent, fields=["status"])
    ctx.publish(tx, "action", action)
    return action


def waits_for(ctx: CallContext, reader: Reader, id: str, other: str) -> bool:
    """Whether an action waits for another, or for one that does."""
    known, new = {id}, {id}
    while new and other not in known:
        edges = edges_of(ctx, reader, list(new))
        new = {one.target_id for one in edges if one.type == REQUIRES and one.source_id in new} - known
        known |= new
    return other in known


def live_leases(ctx: CallContext, reader: Reader, ids: Sequence[str]) -> dict[str, CoordinationRecord]:
    """The leases that hold now, by their actions."""
    held = (Condition("subject", "in", list(ids)), Condition("status", "=", "active"))
    later = Condition("expires_at", ">", ctx.clock.now_ms())
    return {one.subject: one for one in found(ctx, reader, LEASE, *held, later)}


def outcomes(ctx: CallContext, reader: Reader, ids: Sequence[str]) -> dict[str, str]:
    """What came of these actions, as far as it was said."""
    of = Condition("subject", "in", list(ids))
    return {one.subject: str(one.body.get("result", "")) for one in found(ctx, reader, OUTCOME, of)}


@dataclass(frozen=True, slots=True)
class ReadyAction:
    """An action that can be worked on, and how much speaks for it."""

    action: Action
    score: float


@dataclass(frozen=True, slots=True)
class Frontier:
    ready: tuple[ReadyAction, ...]  # the most urgent first, of equals the older
    total: int  # open or blocked actions


def frontier_of(ctx: CallContext, reader: Reader, bounds: tuple[Condition, ...], agent: str | None) -> Frontier:
    """Open actions that wait for nothing and that no other agent holds a lease on."""
    status = Condition("status", "in", OPEN)
    actions = reader.find(ACTIONS, ctx.tenant, *bounds, status, order="-priority", limit=LOOKED_AT)
    ids = [one.id for one in actions]
    held, leases = blockers(ctx, reader, actions), live_leases(ctx, reader, ids)
    free = [
        one
        for one in actions
        if one.id not in held and (one.id not in leases or agent is None or leases[one.id].agent == agent)
    ]
    needed = _needed(ctx, reader, [one.id for one in free])
    ready = [ReadyAction(one, _score(one, needed[one.id], ctx.clock.now_ms())) for one in free]
    ready.sort(key=lambda one: (-one.action.priority, one.action.seq))
    either = Condition("status", "in", (*OPEN, "blocked"))
    return Frontier(tuple(ready), reader.count(ACTIONS, ctx.tenant, *bounds, either))


def _needed(ctx: CallContext, reader: Reader, ids: Sequence[str]) -> dict[str, int]:
    """How many actions wait for each of these."""
    counts: dict[str, int] = defaultdict(int)
    for edge in edges_of(ctx, reader, ids):
        if edge.type == REQUIRES:
            counts[edge.target_id] += 1
    return counts


def _score(action: Action, needed: int, now: int) -> float:
    """Priority first; then work that was begun, what others wait for, and age, by half a point an hour up to 20."""
    age = min(max(0, now - action.created_at) / HOUR_MS * 0.5, 20)
    begun = 15 if action.status == "active" else 0
    return round(action.priority * 10 + age + needed * 5 + begun, 2)
