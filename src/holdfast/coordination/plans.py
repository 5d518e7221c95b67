"""Plans of several actions, whose steps become actions that wait for each other.

A sketch ends by itself unless it is promoted; a routine is run again and again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from holdfast.context import CallContext
from holdfast.coordination.coordination_records import ROUTINE, RUN, SKETCH, changed, is_over, keep, made, named
from holdfast.coordination.readiness import REQUIRES
from holdfast.core.errors import Conflict, InvalidRequest, LimitReached, NotFound
from holdfast.core.model import Action, CleanText, CoordinationRecord, Json, Relation
from holdfast.core.times import iso
from holdfast.learn.relations import keep_relation
from holdfast.projects import written_project
from holdfast.store.port import Tx
from holdfast.store.tables import ACTIONS

SKETCH_MS = 3_600_000
MOST_STEPS = 200


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a plan; `after` are the keys of steps that come before it."""

    key: str
    title: CleanText
    description: CleanText
    priority: int
    tags: tuple[CleanText, ...] = ()
    after: tuple[str, ...] = ()


def check_order(steps: Sequence[Step]) -> None:
    """Refuse steps that cannot be done one after the other.

    Raises:
        InvalidRequest: two have one key, one comes after itself, or after a step that is not there.
    """
    keys = [one.key for one in steps]
    if len(set(keys)) < len(keys):
        raise InvalidRequest("steps: two steps have the same order")
    unknown = [one.key for one in steps if not set(one.after) <= set(keys)]
    if unknown:
        raise InvalidRequest(f"steps: step {unknown[0]} depends on a step that does not exist")
    try:
        TopologicalSorter({one.key: one.after for one in steps}).prepare()
    except CycleError as error:
        raise InvalidRequest("steps: the steps depend on each other in a circle") from error


def add_actions(
    ctx: CallContext, tx: Tx, steps: Sequence[Step], project: CleanText | None, ids: Mapping[str, str]
) -> tuple[list[Action], list[Relation]]:
    """The steps as actions, under the ids given by key, and the relations between them."""
    now, agent, where = ctx.clock.now_ms(), ctx.writes_as(None), written_project(ctx, project)
    actions, edges = [], []
    for step in steps:
        action = Action(
            tenant=ctx.tenant,
            id=ids[step.key],
            seq=tx.next_seq(ctx.tenant),
            title=step.title,
            description=step.description,
            priority=step.priority,
            status="blocked" if step.after else "pending",
            tags=step.tags,
            session_id=None,
            project=where,
            agent=agent,
            created_at=now,
            updated_at=now,
        )
        tx.add(ACTIONS, action)
        ctx.audit(tx, "action_create", (action.id,), agent)
        ctx.publish(tx, "action", action)
        actions.append(action)
        edges += [keep_relation(ctx, tx, action.id, ids[key], REQUIRES, agent) for key in step.after]
    return actions, edges


# Sketches


def add_sketch(
    ctx: CallContext, title: CleanText, description: CleanText, project: CleanText | None, lasts_ms: int
) -> CoordinationRecord:
    """Store an empty sketch."""
    body = {"title": title, "description": description, "steps": []}
    sketch = made(ctx, SKETCH, body, subject=written_project(ctx, project) or "", status="active", lasts_ms=lasts_ms)
    return ctx.store.write(lambda tx: keep(ctx, tx, sketch, "sketch_create"))


def add_step(ctx: CallContext, sketch_id: str, step: Step) -> Json:
    """Add a step to a sketch; the step with its id.

    Raises:
        NotFound: no such sketch, or no such step before it.
        Conflict: the sketch has ended.
        LimitReached: it has all the steps that a sketch may have.
    """

    def store(tx: Tx) -> Json:
        sketch = _active(ctx, named(ctx, tx, SKETCH, sketch_id))
        steps: list[Json] = sketch.body["steps"]
        if len(steps) >= MOST_STEPS:
            raise LimitReached(f"sketch: a sketch has up to {MOST_STEPS} steps", hint="Promote it, and begin another.")
        if not set(step.after) <= {one["id"] for one in steps}:
            raise NotFound("dependsOn: the sketch has no such step")
        added = {**_step_body(step), "id": ctx.new_id("act")}
        keep(ctx, tx, changed(ctx, sketch, sketch.status, steps=[*steps, added]), "sketch_add")
        return added

    return ctx.store.write(store)


def promote(ctx: CallContext, sketch_id: str, project: CleanText | None) -> CoordinationRecord:
    """Make actions of a sketch's steps. A sketch that was promoted before is returned as it is.

    Raises:
        NotFound: no such sketch.
        Conflict: it was discarded, or its time is up.
    """

    def store(tx: Tx) -> CoordinationRecord:
        sketch = named(ctx, tx, SKETCH, sketch_id)
        if sketch.status == "promoted":
            return sketch
        _active(ctx, sketch)
        steps = [_step_from({**one, "key": one["id"]}) for one in sketch.body["steps"]]
        own = CleanText(sketch.subject) if sketch.subject else None  # it was clean when it was stored
        actions, _ = add_actions(ctx, tx, steps, project or own, {one.key: one.key for one in steps})
        ids = [one.id for one in actions]
        done = changed(ctx, sketch, "promoted", promotedIds=ids, promotedAt=iso(ctx.clock.now_ms()))
        return keep(ctx, tx, dataclasses.replace(done, expires_at=None), "sketch_promote")

    return ctx.store.write(store)


def discard(ctx: CallContext, sketch_id: str) -> int:
    """End a sketch and drop its steps; how many there were.

    Raises:
        NotFound: no such sketch.
        Conflict: it was promoted.
    """

    def store(tx: Tx) -> int:
        sketch = named(ctx, tx, SKETCH, sketch_id)
        if sketch.status == "promoted":
            raise Conflict("sketch: it was promoted", hint="Cancel its actions one by one.")
        dropped = len(sketch.body["steps"])
        if sketch.status == "active":
            end_sketch(ctx, tx, sketch, "discarded")
        return dropped

    return ctx.store.write(store)


def end_sketch(ctx: CallContext, tx: Tx, sketch: CoordinationRecord, status: str) -> None:
    keep(ctx, tx, changed(ctx, sketch, status, steps=[]), f"sketch_{status}")


def _active(ctx: CallContext, sketch: CoordinationRecord) -> CoordinationRecord:
    ended = "expired" if sketch.status == "active" and is_over(sketch, ctx.clock.now_ms()) else sketch.status
    if ended != "active":
        raise Conflict(f"sketch: it is {ended}", hint="Create a new sketch.")
    return sketch


def _step_body(step: Step) -> Json:
    return {
        "title": step.title,
        "description": step.description,
        "priority": step.priority,
        "tags": list(step.tags),
        "dependsOn": list(step.after),
    }


def _step_from(body: Json) -> Step:
    """A stored step: its texts were clean when they were stored."""
    tags = tuple(CleanText(one) for one in body["tags"])
    texts = CleanText(body["title"]), CleanText(body["description"])
    return Step(body["key"], *texts, body["priority"], tags, tuple(body["dependsOn"]))


# Routines


def add_routine(
    ctx: CallContext, name: CleanText, description: CleanText, steps: Sequence[Step], tags: Sequence[str]
) -> CoordinationRecord:
    """Store a routine.

    Raises:
        InvalidRequest: its steps cannot be done one after the other.
    """
    check_order(steps)
    kept = [{**_step_body(one), "order": one.key} for one in steps]
    body = {"name": name, "description": description, "steps": kept, "tags": list(tags), "frozen": True}
    return ctx.store.write(lambda tx: keep(ctx, tx, made(ctx, ROUTINE, body), "routine_create"))


def run_routine(ctx: CallContext, routine_id: str, project: CleanText | None, agent: str | None) -> CoordinationRecord:
    """Make actions of a routine's steps; the run, by which they are found again.

    Raises:
        NotFound: no such routine.
    """

    def store(tx: Tx) -> CoordinationRecord:
        routine = named(ctx, tx, ROUTINE, routine_id)
        steps = [_step_from({**one, "key": one["order"]}) for one in routine.body["steps"]]
        of_it = CleanText(f"routine:{routine.id}")
        steps = [dataclasses.replace(one, tags=(*one.tags, of_it)) for one in steps]
        ids = {one.key: ctx.new_id("act") for one in steps}
        add_actions(ctx, tx, steps, project, ids)
        body = {"actionIds": list(ids.values()), "startedAt": iso(ctx.clock.now_ms())}
        return keep(ctx, tx, made(ctx, RUN, body, subject=routine.id, status="running", agent=agent), "routine_run")

    return ctx.store.write(store)


@dataclass(frozen=True, slots=True)
class RunState:
    """How far a run is: completed once all its actions are done, failed once one is cancelled or gone."""

    run: CoordinationRecord
    status: str
    actions: tuple[Action, ...]
    total: int


def state_of(ctx: CallContext, run_id: str) -> RunState:
    """How far a run is.

    Raises:
        NotFound: no such run.
    """
    reader = ctx.store.read()
    run = named(ctx, reader, RUN, run_id)
    ids: list[str] = run.body["actionIds"]
    known = [reader.get(ACTIONS, ctx.tenant, id) for id in ids]
    actions = tuple(one for one in known if one is not None and ctx.may_see(one))
    failed = len(actions) < len(ids) or any(one.status == "cancelled" for one in actions)
    done = all(one.status == "done" for one in actions)
    return RunState(run, "failed" if failed else "completed" if done else "running", actions, len(ids))
