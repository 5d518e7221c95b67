"""Operations on actions (work to be done) and on relations between records."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Literal

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import NotFound
from holdfast.core.model import Action, CleanText, Json, Memory, Relation
from holdfast.core.wire import shape
from holdfast.intake.addresses import is_address, memory_named
from holdfast.learn.relations import keep_relation
from holdfast.ops.framework.answers import ActionShape, RelationShape
from holdfast.ops.framework.fields import CleanList, CleanLoose, CleanName, Name, Offset, limit
from holdfast.ops.framework.operation import ChatRequest, Nothing, Operation, Request
from holdfast.projects import of_project, written_project
from holdfast.recall.links import seen_relations
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.tables import ACTIONS, MEMORIES, RELATIONS

Status = Literal["pending", "active", "blocked", "done", "cancelled"]
OPEN = ("pending", "active")
FRONTIER = 50
GRAPH_MEMORIES = 2_000


class Actions(Request):
    status: Status | None = None
    project: Name | None = None
    limit: int = limit(200, 500)
    offset: Offset = 0


class ActionsAnswer(TypedDict):
    actions: list[ActionShape]
    total: int


def actions(ctx: CallContext, ask: Actions) -> ActionsAnswer:
    """List actions, newest first."""
    reader = ctx.store.read()
    bounds = (*ctx.sees(), *of_project(ctx, ask.project), *where(status=ask.status))
    found = reader.find(ACTIONS, ctx.tenant, *bounds, limit=ask.limit, offset=ask.offset)
    return {"actions": [shape(one) for one in found], "total": reader.count(ACTIONS, ctx.tenant, *bounds)}


class ActionCreate(Request):
    title: CleanName
    description: CleanLoose = CleanText("")
    priority: int = Field(default=5, ge=0, le=100)
    status: Status = "pending"
    tags: CleanList = ()
    session_id: CleanName | None = None
    project: CleanName | None = None


class ActionAnswer(TypedDict):
    success: bool
    action: ActionShape


def action_create(ctx: CallContext, ask: ActionCreate) -> ActionAnswer:
    """Record work to be done, with a priority; higher comes first."""

    def store(tx: Tx) -> Action:
        now = ctx.clock.now_ms()
        action = Action(
            tenant=ctx.tenant,
            id=ctx.new_id("act"),
            seq=tx.next_seq(ctx.tenant),
            title=ask.title,
            description=ask.description,
            priority=ask.priority,
            status=ask.status,
            tags=ask.tags,
            session_id=ask.session_id,
            project=written_project(ctx, ask.project),
            agent=ctx.writes_as(None),
            created_at=now,
            updated_at=now,
        )
        tx.add(ACTIONS, action)
        ctx.audit(tx, "action_create", (action.id,), action.agent)
        ctx.publish(tx, "action", action)
        return action

    return {"success": True, "action": shape(ctx.store.write(store))}


class ActionUpdate(Request):
    action_id: Name
    title: CleanName | None = None
    description: CleanLoose | None = None
    priority: int | None = Field(default=None, ge=0, le=100)
    status: Status | None = None
    tags: CleanList | None = None
    session_id: CleanName | None = None


def action_update(ctx: CallContext, ask: ActionUpdate) -> ActionAnswer:
    """Change an action: its status when work starts or ends, or its title, priority and tags."""
    changes = {name: value for name, value in ask if name != "action_id" and name in ask.model_fields_set}
    changes = {name: value for name, value in changes.items() if value is not None}

    def store(tx: Tx) -> Action:
        known = tx.get(ACTIONS, ctx.tenant, ask.action_id)
        if known is None or not ctx.may_see(known):
            raise NotFound("action: no action has that id")
        action = dataclasses.replace(known, **changes, updated_at=ctx.clock.now_ms())
        tx.replace(ACTIONS, action)
        ctx.audit(tx, "action_update", (action.id,), action.agent, fields=sorted(changes))
        ctx.publish(tx, "action", action)
        return action

    return {"success": True, "action": shape(ctx.store.write(store))}


class FrontierAnswer(TypedDict):
    frontier: list[ActionShape]
    total: int


def frontier(ctx: CallContext, ask: Nothing) -> FrontierAnswer:
    """Show what to do next: open actions by priority, older before newer."""
    reader = ctx.store.read()
    bounds = (*ctx.sees(), Condition("status", "in", OPEN))
    found = reader.find(ACTIONS, ctx.tenant, *bounds, order="-priority", limit=500)
    found.sort(key=lambda action: (-action.priority, action.seq))
    return {
        "frontier": [shape(one) for one in found[:FRONTIER]],
        "total": reader.count(ACTIONS, ctx.tenant, *bounds),
    }


class Relations(ChatRequest):
    id: Name | None = Field(default=None, description="Id of a record, or address of a memory.")
    limit: int = limit(500, 1000)
    offset: Offset = 0


class RelationsAnswer(TypedDict):
    relations: list[RelationShape]


def relations(ctx: CallContext, ask: Relations) -> RelationsAnswer:
    """List relations between records; with an id or the address of a memory, those that start or end there."""
    reader = ctx.store.read()
    id = memory_named(ctx, reader, ask.id, ask.agent_id).id if ask.id and is_address(ask.id) else ask.id
    ends = [()] if id is None else [where(source_id=id), where(target_id=id)]
    found = [
        one
        for end in ends
        for one in reader.find(RELATIONS, ctx.tenant, *ctx.sees(), *end, limit=ask.limit, offset=ask.offset)
    ]
    return {"relations": [shape(one) for one in seen_relations(ctx, reader, found)]}


class Relate(ChatRequest):
    source_id: CleanName = Field(description="Id of the record, or address of a memory.")
    target_id: CleanName = Field(description="Id of the record, or address of a memory.")
    type: CleanName


def relate(ctx: CallContext, ask: Relate) -> RelationShape:
    """Add a relation from one record to another: supersedes, contradicts, supports, depends_on and so on.

    In a chat both must be memories that the sender may see.
    """
    agent = ctx.writes_as(None)

    def store(tx: Tx) -> Relation:
        source, target = (_end(ctx, tx, name, ask.agent_id) for name in (ask.source_id, ask.target_id))
        if isinstance(source, Memory) and isinstance(target, Memory):
            ctx.check_change(source, target)
        one, other = (end.id if isinstance(end, Memory) else end for end in (source, target))
        return keep_relation(ctx, tx, one, other, ask.type, agent)

    return shape(ctx.store.write(store))


def _end(ctx: CallContext, reader: Reader, name: str, agent: str | None) -> Memory | str:
    """The memory of an id or address; other ids as they are, except in a chat."""
    return memory_named(ctx, reader, name, agent) if ctx.in_chat or is_address(name) else name


class GraphAsk(ChatRequest):
    project: Name | None = None
    limit: int = limit(500, GRAPH_MEMORIES)


class GraphAnswer(TypedDict):
    success: bool
    nodes: list[Json]
    edges: list[Json]


def graph(ctx: CallContext, ask: GraphAsk) -> GraphAnswer:
    """Return memories, their concepts and files, and the relations between them as nodes and edges."""
    reader = ctx.store.read()
    bounds = (*ctx.sees_memories(), *of_project(ctx, ask.project), *where(latest=True))
    kept = [one for one in reader.find(MEMORIES, ctx.tenant, *bounds, limit=ask.limit) if ctx.may_see(one)]
    weights: Counter[tuple[str, str]] = Counter()
    edges: list[Json] = []
    for one in kept:
        for kind, names in (("concept", one.concepts), ("file", one.files)):
            for name in names:
                weights[(kind, name)] += 1
                edges.append({"source": one.id, "target": f"{kind}:{name}", "type": f"has_{kind}"})
    nodes: list[Json] = [{"id": one.id, "kind": "memory", "label": one.title, "weight": 1} for one in kept]
    nodes += [
        {"id": f"{kind}:{name}", "kind": kind, "label": name, "weight": count}
        for (kind, name), count in weights.most_common()
    ]
    known = {node["id"] for node in nodes}
    related = reader.find(RELATIONS, ctx.tenant, *ctx.sees(), limit=GRAPH_MEMORIES)
    for relation in seen_relations(ctx, reader, related):
        edges.append({"source": relation.source_id, "target": relation.target_id, "type": relation.type})
        for end in (relation.source_id, relation.target_id):
            if end not in known:
                known.add(end)
                nodes.append(
                    {"id": end, "kind": end.partition(":")[0] if ":" in end else "other", "label": end, "weight": 1}
                )
    return {"success": True, "nodes": nodes, "edges": edges}


class GraphStatsAnswer(TypedDict):
    success: bool
    nodes: int
    edges: int


def graph_stats(ctx: CallContext, ask: Nothing) -> GraphStatsAnswer:
    """Count the nodes and edges of the graph."""
    drawn = graph(ctx, GraphAsk(limit=GRAPH_MEMORIES))
    return {"success": True, "nodes": len(drawn["nodes"]), "edges": len(drawn["edges"])}


ACTION_OPERATIONS = (
    Operation(actions, "GET", "/actions", cli="actions"),
    Operation(
        action_create,
        "POST",
        "/actions",
        effect="write",
        tool="memory_action_create",
        cli="action create",
        positional=("title",),
    ),
    Operation(
        action_update,
        "PATCH",
        "/actions/{actionId}",
        effect="write",
        tool="memory_action_update",
        cli="action update",
        positional=("actionId",),
    ),
    Operation(frontier, "GET", "/frontier", tool="memory_frontier", cli="frontier"),
    Operation(relations, "GET", "/relations", cli="relations"),
    Operation(
        relate,
        "POST",
        "/relations",
        effect="write",
        status=201,
        cli="relate",
        positional=("sourceId", "targetId", "type"),
    ),
    Operation(graph, "GET", "/graph", cli="graph show"),
    Operation(graph_stats, "GET", "/graph/stats", cli="graph stats"),
)
