"""Operations on actions (work to be done) and on relations between records."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from typing import Literal

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.coordination.lease import finish, note_outcome
from holdfast.coordination.readiness import (
    PART_OF,
    REQUIRES,
    action_named,
    blockers,
    edges_of,
    frontier_of,
    live_leases,
    outcomes,
    put_status,
    waits_for,
)
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Action, CleanText, Json, Memory, Relation
from holdfast.core.wire import shape
from holdfast.intake.addresses import is_address, memory_named
from holdfast.learn.relations import keep_relation
from holdfast.ops.framework.answers import ActionShape, RelationShape
from holdfast.ops.framework.fields import CleanList, CleanLoose, CleanName, Name, Names, Offset, Query, limit
from holdfast.ops.framework.operation import ChatRequest, Nothing, Operation, Request
from holdfast.projects import of_project, written_project
from holdfast.recall.links import seen_relations
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.tables import ACTIONS, MEMORIES, RELATIONS

Status = Literal["pending", "active", "blocked", "done", "cancelled"]
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
    parent_id: Name | None = Field(default=None, description="Action that this one is part of.")
    requires: Names = Field(default=(), description="Ids of actions that must be done first.")


class ActionCreated(TypedDict):
    success: bool
    action: ActionShape
    edges: list[RelationShape]


def action_create(ctx: CallContext, ask: ActionCreate) -> ActionCreated:
    """Record work to be done, with a priority; higher comes first.

    An action that requires others is blocked until all of them are done.
    """

    def store(tx: Tx) -> tuple[Action, list[Relation]]:
        now = ctx.clock.now_ms()
        needed = [action_named(ctx, tx, id) for id in dict.fromkeys(ask.requires)]
        parent = action_named(ctx, tx, ask.parent_id) if ask.parent_id else None
        waits = any(one.status != "done" for one in needed)
        action = Action(
            tenant=ctx.tenant,
            id=ctx.new_id("act"),
            seq=tx.next_seq(ctx.tenant),
            title=ask.title,
            description=ask.description,
            priority=ask.priority,
            status="blocked" if waits and ask.status == "pending" else ask.status,
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
        edges = [keep_relation(ctx, tx, action.id, one.id, REQUIRES, action.agent) for one in needed]
        if parent is not None:
            edges.append(keep_relation(ctx, tx, action.id, parent.id, PART_OF, action.agent))
        return action, edges

    action, edges = ctx.store.write(store)
    return {"success": True, "action": shape(action), "edges": [shape(one) for one in edges]}


class ActionAnswer(TypedDict):
    success: bool
    action: ActionShape


class ActionUpdate(Request):
    action_id: Name
    title: CleanName | None = None
    description: CleanLoose | None = None
    priority: int | None = Field(default=None, ge=0, le=100)
    status: Status | None = None
    tags: CleanList | None = None
    session_id: CleanName | None = None
    result: CleanLoose | None = Field(default=None, description="What came of the action.")


_NOT_COLUMNS = ("action_id", "agent_id", "result")


def action_update(ctx: CallContext, ask: ActionUpdate) -> ActionAnswer:
    """Change an action: its status when work starts or ends, what came of it, or its title, priority and tags.

    What required an action that is now done, and waits for nothing else, becomes pending.
    """
    changes = {name: value for name, value in ask if name not in _NOT_COLUMNS and name in ask.model_fields_set}
    changes = {name: value for name, value in changes.items() if value is not None}

    def store(tx: Tx) -> Action:
        known = action_named(ctx, tx, ask.action_id)
        action = dataclasses.replace(known, **changes, updated_at=ctx.clock.now_ms())
        tx.replace(ACTIONS, action)
        ctx.audit(tx, "action_update", (action.id,), action.agent, fields=sorted(changes))
        ctx.publish(tx, "action", action)
        if action.status == "done" != known.status:
            finish(ctx, tx, action, ask.result)
        elif ask.result:
            note_outcome(ctx, tx, action.id, ask.result)
        return action

    return {"success": True, "action": _told(ctx, ctx.store.write(store))}


def _told(ctx: CallContext, action: Action) -> Json:
    """The action with what came of it, and who works on it."""
    reader = ctx.store.read()
    result, lease = outcomes(ctx, reader, [action.id]), live_leases(ctx, reader, [action.id])
    told = {"result": result.get(action.id), "assignedTo": lease[action.id].agent if lease else None}
    return {**shape(action), **{name: value for name, value in told.items() if value}}


class ActionGet(Request):
    action_id: Name


class ActionFound(TypedDict):
    success: bool
    action: ActionShape
    edges: list[RelationShape]
    blockers: list[str]
    children: list[ActionShape]


def action_get(ctx: CallContext, ask: ActionGet) -> ActionFound:
    """Show one action: who works on it, what it waits for, what came of it, and its parts."""
    reader = ctx.store.read()
    action = action_named(ctx, reader, ask.action_id)
    edges = edges_of(ctx, reader, [action.id])
    parts = [one.source_id for one in edges if one.type == PART_OF and one.target_id == action.id]
    return {
        "success": True,
        "action": _told(ctx, action),
        "edges": [shape(one) for one in edges],
        "blockers": blockers(ctx, reader, [action]).get(action.id, []),
        "children": [shape(one) for one in reader.find(ACTIONS, ctx.tenant, Condition("id", "in", parts), order="seq")],
    }


class ActionEdge(Request):
    source_action_id: Name = Field(description="The action that waits, or is a part.")
    target_action_id: Name = Field(description="The action that it waits for, conflicts with or is part of.")
    type: Literal["requires", "conflicts_with", "part_of"]


class ActionEdgeAnswer(TypedDict):
    success: bool
    edge: RelationShape


def action_edge(ctx: CallContext, ask: ActionEdge) -> ActionEdgeAnswer:
    """Make an action wait for another, name two that must not be worked on at once, or make one part of another."""

    def store(tx: Tx) -> Relation:
        source, target = (action_named(ctx, tx, id) for id in (ask.source_action_id, ask.target_action_id))
        if source.id == target.id or (ask.type == REQUIRES and waits_for(ctx, tx, target.id, source.id)):
            raise InvalidRequest("targetActionId: an action cannot wait for itself, nor two for each other")
        edge = keep_relation(ctx, tx, source.id, target.id, ask.type, ctx.writes_as(None))
        if ask.type == REQUIRES and source.status == "pending" and target.status != "done":
            put_status(ctx, tx, source, "blocked")
        return edge

    return {"success": True, "edge": shape(ctx.store.write(store))}


class FrontierAsk(Request):
    project: Name | None = None
    limit: int = limit(50, 500)


class FrontierAnswer(TypedDict):
    frontier: list[ActionShape]
    total: int


def frontier(ctx: CallContext, ask: FrontierAsk) -> FrontierAnswer:
    """Show what can be done now, by priority, older before newer: open actions that wait for nothing.

    With agentId, without those that other agents hold a lease on.
    """
    bounds = (*ctx.sees(), *of_project(ctx, ask.project))
    ready = frontier_of(ctx, ctx.store.read(), bounds, ask.agent_id).ready
    return {"frontier": [shape(one.action) for one in ready[: ask.limit]], "total": len(ready)}


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


class GraphQuery(ChatRequest):
    query: Query | None = Field(default=None, description="Part of a node's name.")
    start_node_id: Name | None = Field(default=None, description="Node from which to walk.")
    node_type: Name | None = Field(default=None, description="Only nodes of this type: memory, concept, file, …")
    max_depth: int = Field(default=3, ge=1, le=5, description="Steps to walk, up to 5.")
    project: Name | None = None
    limit: int = limit(100, 500)
    offset: Offset = 0


class GraphQueryAnswer(TypedDict):
    nodes: list[Json]
    edges: list[Json]
    depth: int
    totalNodes: int
    totalEdges: int
    truncated: bool
    limit: int
    offset: int


def graph_query(ctx: CallContext, ask: GraphQuery) -> GraphQueryAnswer:
    """Find nodes of the graph by a part of their name, or walk it from a node; with the relations between them."""
    drawn = graph(ctx, GraphAsk(umo=ask.umo, sender_id=ask.sender_id, project=ask.project, limit=GRAPH_MEMORIES))
    near = _walk(drawn["edges"], ask.start_node_id, ask.max_depth) if ask.start_node_id else None
    fitting = [one for one in drawn["nodes"] if _is_asked_for(one, ask, near)]
    shown = fitting[ask.offset : ask.offset + ask.limit]
    ids = {one["id"] for one in shown}
    whole = near if near is not None and not ask.query and ask.node_type is None else ids
    edges = [one for one in drawn["edges"] if one["source"] in whole and one["target"] in whole]
    return {
        "nodes": [{**one, "type": one["kind"], "name": one["label"]} for one in shown],
        "edges": [{**one, "sourceNodeId": one["source"], "targetNodeId": one["target"]} for one in edges[: ask.limit]],
        "depth": ask.max_depth if near is not None else 0,
        "totalNodes": len(fitting),
        "totalEdges": len(edges),
        "truncated": len(shown) < len(fitting) or len(edges) > ask.limit,
        "limit": ask.limit,
        "offset": ask.offset,
    }


def _is_asked_for(node: Json, ask: GraphQuery, near: set[str] | None) -> bool:
    named = ask.query is None or ask.query.casefold() in str(node["label"]).casefold()
    return named and ask.node_type in (None, node["kind"]) and (near is None or node["id"] in near)


def _walk(edges: list[Json], start: str, depth: int) -> set[str]:
    """The nodes that are at most so many steps away."""
    beside: dict[str, set[str]] = defaultdict(set)
    for one in edges:
        beside[one["source"]].add(one["target"])
        beside[one["target"]].add(one["source"])
    known, new = {start}, {start}
    for _ in range(depth):
        new = {other for one in new for other in beside[one]} - known
        known |= new
    return known


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
    Operation(action_get, "GET", "/actions/get", cli="action show", positional=("actionId",)),
    Operation(
        action_edge,
        "POST",
        "/actions/edges",
        effect="write",
        status=201,
        cli="action edge",
        positional=("sourceActionId", "type", "targetActionId"),
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
    Operation(graph_query, "POST", "/graph/query", tool="memory_graph_query", cli="graph query", positional=("query",)),
    Operation(graph_stats, "GET", "/graph/stats", cli="graph stats"),
)
