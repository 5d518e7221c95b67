"""Operations on plans of several actions: sketches and routines."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.coordination.coordination_records import ROUTINE, SKETCH, found, view, views
from holdfast.coordination.plans import (
    MOST_STEPS,
    SKETCH_MS,
    Step,
    add_routine,
    add_sketch,
    add_step,
    discard,
    promote,
    run_routine,
    state_of,
)
from holdfast.core.errors import Forbidden
from holdfast.core.model import CleanText, Json
from holdfast.ops.coordination.gates import LastsMs
from holdfast.ops.framework.fields import CleanList, CleanLoose, CleanName, Name, Names, Offset, limit
from holdfast.ops.framework.operation import Operation, Request
from holdfast.store.port import where

_PRIORITY = Field(default=5, ge=0, le=100)


class SketchCreate(Request):
    title: CleanName
    description: CleanLoose = CleanText("")
    project: CleanName | None = None
    expires_in_ms: LastsMs = Field(default=SKETCH_MS, description="Milliseconds until it is dropped. Default: an hour.")


class SketchAnswer(TypedDict):
    success: bool
    sketch: Json


def sketch_create(ctx: CallContext, ask: SketchCreate) -> SketchAnswer:
    """Begin a sketch: steps that are tried out, and dropped after a while unless the sketch is promoted."""
    made = add_sketch(ctx, ask.title, ask.description, ask.project, ask.expires_in_ms)
    return {"success": True, "sketch": _sketch(view(made))}


def _sketch(shown: Json) -> Json:
    ids = shown.get("promotedIds") or [step["id"] for step in shown["steps"]]
    return {**shown, "actionIds": ids, "actionCount": len(ids)}


class SketchAdd(Request):
    sketch_id: Name
    title: CleanName
    description: CleanLoose = CleanText("")
    priority: int = _PRIORITY
    tags: CleanList = ()
    depends_on: Names = Field(default=(), description="Ids of steps of the sketch that come first.")


class SketchAddAnswer(TypedDict):
    success: bool
    action: Json


def sketch_add(ctx: CallContext, ask: SketchAdd) -> SketchAddAnswer:
    """Add a step to a sketch. Its id becomes that of an action when the sketch is promoted."""
    step = Step("", ask.title, ask.description, ask.priority, ask.tags, ask.depends_on)
    return {"success": True, "action": {**add_step(ctx, ask.sketch_id, step), "sketchId": ask.sketch_id}}


class SketchPromote(Request):
    sketch_id: Name
    project: CleanName | None = None


class SketchPromoteAnswer(TypedDict):
    success: bool
    promotedIds: list[str]


def sketch_promote(ctx: CallContext, ask: SketchPromote) -> SketchPromoteAnswer:
    """Make actions of a sketch's steps, which wait for each other as the steps do."""
    return {"success": True, "promotedIds": promote(ctx, ask.sketch_id, ask.project).body["promotedIds"]}


class SketchNamed(Request):
    sketch_id: Name


class SketchDiscardAnswer(TypedDict):
    success: bool
    discardedCount: int


def sketch_discard(ctx: CallContext, ask: SketchNamed) -> SketchDiscardAnswer:
    """Drop a sketch and its steps."""
    return {"success": True, "discardedCount": discard(ctx, ask.sketch_id)}


class Sketches(Request):
    status: Name | None = None
    limit: int = limit(50, 200)
    offset: Offset = 0


class SketchesAnswer(TypedDict):
    success: bool
    sketches: list[Json]


def sketches(ctx: CallContext, ask: Sketches) -> SketchesAnswer:
    """List sketches, newest first."""
    bounds = where(status=ask.status)
    listed = found(ctx, ctx.store.read(), SKETCH, *bounds, limit=ask.limit, offset=ask.offset)
    return {"success": True, "sketches": [_sketch(one) for one in views(listed)]}


class RoutineStep(BaseModel):
    """One step; without an order, its place in the list."""

    model_config = ConfigDict(populate_by_name=True, extra="ignore", frozen=True, hide_input_in_errors=True)

    title: CleanName
    description: CleanLoose = CleanText("")
    order: int | None = Field(default=None, ge=0, le=100_000)
    priority: int = _PRIORITY
    tags: CleanList = ()
    depends_on: tuple[int, ...] = Field(default=(), alias="dependsOn", max_length=MOST_STEPS)


class RoutineCreate(Request):
    name: CleanName
    description: CleanLoose = CleanText("")
    steps: tuple[RoutineStep, ...] = Field(
        min_length=1, max_length=MOST_STEPS, description="Each with a title, and the orders of steps it depends on."
    )
    tags: CleanList = ()


class RoutineAnswer(TypedDict):
    success: bool
    routine: Json


def routine_create(ctx: CallContext, ask: RoutineCreate) -> RoutineAnswer:
    """Keep a routine: steps that are done again and again, in their order."""
    steps = [
        Step(
            key=str(place if one.order is None else one.order),
            title=one.title,
            description=one.description,
            priority=one.priority,
            tags=one.tags,
            after=tuple(map(str, one.depends_on)),
        )
        for place, one in enumerate(ask.steps)
    ]
    return {"success": True, "routine": _routine(view(add_routine(ctx, ask.name, ask.description, steps, ask.tags)))}


def _routine(shown: Json) -> Json:
    def numbered(step: Json) -> Json:
        return {**step, "order": int(step["order"]), "dependsOn": [int(one) for one in step["dependsOn"]]}

    return {**shown, "steps": [numbered(one) for one in shown["steps"]]}


class Routines(Request):
    limit: int = limit(50, 200)
    offset: Offset = 0


class RoutinesAnswer(TypedDict):
    success: bool
    routines: list[Json]


def routines(ctx: CallContext, ask: Routines) -> RoutinesAnswer:
    """List routines, newest first."""
    listed = found(ctx, ctx.store.read(), ROUTINE, limit=ask.limit, offset=ask.offset)
    return {"success": True, "routines": [_routine(one) for one in views(listed)]}


class RoutineRun(Request):
    routine_id: Name
    project: CleanName | None = None
    initiated_by: CleanName | None = Field(default=None, description="Agent that runs it, as agentId.")


class RoutineRunAnswer(TypedDict):
    success: bool
    run: Json
    actionsCreated: int


def routine_run(ctx: CallContext, ask: RoutineRun) -> RoutineRunAnswer:
    """Run a routine: each of its steps becomes an action, blocked until the steps that it depends on are done."""
    if ask.initiated_by and ctx.agent(ask.initiated_by) != ask.initiated_by:
        raise Forbidden("initiatedBy: this token is bound to another agent")
    run = run_routine(ctx, ask.routine_id, ask.project, ask.initiated_by)
    return {"success": True, "run": view(run), "actionsCreated": len(run.body["actionIds"])}


class RunNamed(Request):
    run_id: Name


class RoutineStatusAnswer(TypedDict):
    success: bool
    run: Json
    actions: list[Json]
    progress: dict[str, int]


def routine_status(ctx: CallContext, ask: RunNamed) -> RoutineStatusAnswer:
    """Show how far the run of a routine is."""
    state = state_of(ctx, ask.run_id)
    counts: dict[str, Any] = {"total": state.total}
    for status in ("done", "active", "pending", "blocked", "cancelled"):
        counts[status] = sum(one.status == status for one in state.actions)
    listed = [{"actionId": one.id, "status": one.status, "title": one.title} for one in state.actions]
    return {"success": True, "run": {**view(state.run), "status": state.status}, "actions": listed, "progress": counts}


PLANS = (
    Operation(sketches, "GET", "/sketches", cli="sketch list"),
    Operation(
        sketch_create,
        "POST",
        "/sketches",
        effect="write",
        tool="memory_sketch_create",
        cli="sketch create",
        positional=("title",),
    ),
    Operation(sketch_add, "POST", "/sketches/add", effect="write", cli="sketch add", positional=("sketchId", "title")),
    Operation(
        sketch_promote,
        "POST",
        "/sketches/promote",
        effect="write",
        tool="memory_sketch_promote",
        cli="sketch promote",
        positional=("sketchId",),
    ),
    Operation(
        sketch_discard,
        "POST",
        "/sketches/discard",
        effect="write",
        cli="sketch discard",
        positional=("sketchId",),
    ),
    Operation(routines, "GET", "/routines", cli="routine list"),
    Operation(routine_create, "POST", "/routines", effect="write", status=201),
    Operation(
        routine_run,
        "POST",
        "/routines/run",
        effect="write",
        status=201,
        tool="memory_routine_run",
        cli="routine run",
        positional=("routineId",),
    ),
    Operation(routine_status, "GET", "/routines/status", cli="routine status", positional=("runId",)),
)
