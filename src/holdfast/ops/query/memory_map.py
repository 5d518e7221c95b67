"""Operations on the map of a memory: folders and concepts, and the memories behind each."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.model import Json
from holdfast.core.wire import shape
from holdfast.ops.framework.answers import MemoryShape
from holdfast.ops.framework.fields import Name, Offset, limit
from holdfast.ops.framework.operation import ChatRequest, Operation
from holdfast.recall.views.memory_map import MapGraph, draw, memories_at

MOST_NODES = 2_000


class FolderGraph(ChatRequest):
    project: Name | None = None
    limit: int = limit(MOST_NODES, MOST_NODES)


class LeftOut(TypedDict):
    memories: int
    folders: int
    concepts: int
    edges: int


class FolderGraphAnswer(TypedDict):
    nodes: list[Json]  # id, kind (folder or concept), name, memories, folder (whose colour it has)
    edges: list[Json]  # source, target, kind (shares or parent), memories
    memories: int  # how many were read, the newest first
    leftOut: LeftOut


def folder_graph(ctx: CallContext, ask: FolderGraph) -> FolderGraphAnswer:
    """Return folders and concepts as a graph: linked where memories name both, and each folder to its parent.

    At most 2,000 nodes, those with the most memories first; leftOut counts the rest.
    """
    drawn = draw(ctx, ask.project, ask.agent_id, ask.limit)
    return {
        "nodes": _nodes(drawn),
        "edges": _edges(drawn),
        "memories": drawn.memories,
        "leftOut": {
            "memories": drawn.left_memories,
            "folders": drawn.left_folders,
            "concepts": drawn.left_concepts,
            "edges": drawn.left_edges,
        },
    }


def _nodes(drawn: MapGraph) -> list[Json]:
    return [
        {
            "id": f"{kind}:{name}",
            "kind": kind,
            "name": name,
            "memories": count,
            "folder": name if kind == "folder" else drawn.homes.get((kind, name), ""),
        }
        for (kind, name), count in drawn.nodes.items()
    ]


def _edges(drawn: MapGraph) -> list[Json]:
    shared = [(edge, "shares", count) for edge, count in drawn.shared]
    parents = [(edge, "parent", 0) for edge in drawn.parents]
    return [
        {"source": ":".join(source), "target": ":".join(target), "kind": kind, "memories": count}
        for (source, target), kind, count in (*parents, *shared)
    ]


class FolderMemories(ChatRequest):
    kind: Literal["folder", "concept"] = "folder"
    name: str = Field(min_length=1, max_length=4_096, description="Name of the folder or concept.")
    project: Name | None = None
    limit: int = limit(50, 200)
    offset: Offset = 0


class FolderMemoriesAnswer(TypedDict):
    memories: list[MemoryShape]
    total: int


def folder_memories(ctx: CallContext, ask: FolderMemories) -> FolderMemoriesAnswer:
    """List the memories of a folder (with its subfolders) or of a concept, newest first."""
    found, total = memories_at(ctx, ask.kind, ask.name, ask.project, ask.agent_id, ask.limit, ask.offset)
    return {"memories": [shape(one) for one in found], "total": total}


FOLDERS = (
    Operation(folder_graph, "GET", "/graph/folders", cli="graph folders"),
    Operation(folder_memories, "GET", "/graph/memories", cli="graph memories", positional=("name",)),
)
