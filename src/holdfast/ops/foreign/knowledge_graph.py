"""The operations of the MCP memory server on our memories, with its names, arguments and answers."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

import orjson
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.model import CleanText, Memory
from holdfast.intake.graph.knowledge_graph import (
    TYPES,
    Entity,
    Graph,
    KnowledgeGraph,
    Link,
    NamedTexts,
    clean_beside,
    names_in,
)
from holdfast.ops.framework.fields import CleanItem, CleanLoose, Query
from holdfast.ops.framework.operation import ChatRequest, Operation
from holdfast.protocol.ownership import owned
from holdfast.recall.flow import search
from holdfast.recall.hits import Question

AT_ONCE = 10_000  # entities, relations or observations in one request
FOUND = 10  # of each kind by meaning, where no text has the words as they are

Texts = Annotated[tuple[CleanLoose, ...], Field(max_length=AT_ONCE)]
Names = Annotated[tuple[CleanItem, ...], Field(max_length=AT_ONCE)]


class _Part(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True, hide_input_in_errors=True
    )


class EntityIn(_Part):
    name: CleanItem
    entity_type: CleanItem
    observations: Texts = ()


class RelationIn(_Part):
    source: CleanItem = Field(alias="from")
    target: CleanItem = Field(alias="to")
    relation_type: CleanItem


class ContentsIn(_Part):
    entity_name: CleanItem
    contents: Texts


class DeletionIn(_Part):
    entity_name: CleanItem
    observations: Texts


class GraphEntity(TypedDict):
    name: str
    entityType: str
    observations: list[str]


GraphLink = TypedDict("GraphLink", {"from": str, "to": str, "relationType": str})


class GraphAnswer(TypedDict):
    entities: list[GraphEntity]
    relations: list[GraphLink]


class DeletedAnswer(TypedDict):
    success: bool
    message: str


def _graph(ctx: CallContext, ask: ChatRequest) -> KnowledgeGraph:
    return KnowledgeGraph(ctx, owned(ask.umo, ask.sender_id), ask.agent_id)


def _named(name: CleanText, texts: tuple[CleanText, ...]) -> NamedTexts:
    return NamedTexts(name, clean_beside(name, texts))


def _entities(entities: tuple[Entity, ...] | list[Entity]) -> list[GraphEntity]:
    return [{"name": one.name, "entityType": one.type, "observations": list(one.observations)} for one in entities]


def _links(links: tuple[Link, ...] | list[Link]) -> list[GraphLink]:
    return [{"from": one.source, "to": one.target, "relationType": one.type} for one in links]


def _answer(graph: Graph) -> GraphAnswer:
    return {"entities": _entities(graph.entities), "relations": _links(graph.links)}


class CreateEntities(ChatRequest):
    entities: list[EntityIn] = Field(max_length=AT_ONCE)


class EntitiesAnswer(TypedDict):
    entities: list[GraphEntity]


def create_entities(ctx: CallContext, ask: CreateEntities) -> EntitiesAnswer:
    """Create entities of the knowledge graph, with observations. Returns those that were new."""
    wanted = (Entity(one.name, one.entity_type, clean_beside(one.name, one.observations)) for one in ask.entities)
    return {"entities": _entities(_graph(ctx, ask).create_entities(wanted))}


class NamedRelations(ChatRequest):
    relations: list[RelationIn] = Field(max_length=AT_ONCE)

    def links(self) -> list[Link]:
        return [Link(one.source, one.target, one.relation_type) for one in self.relations]


class RelationsAnswer(TypedDict):
    relations: list[GraphLink]


def create_relations(ctx: CallContext, ask: NamedRelations) -> RelationsAnswer:
    """Create relations between entities, in active voice. Returns those that were new."""
    return {"relations": _links(_graph(ctx, ask).create_links(ask.links()))}


class AddObservations(ChatRequest):
    observations: list[ContentsIn] = Field(max_length=AT_ONCE)


class AddedShape(TypedDict):
    entityName: str
    addedObservations: list[str]


class AddedAnswer(TypedDict):
    results: list[AddedShape]


def add_observations(ctx: CallContext, ask: AddObservations) -> AddedAnswer:
    """Add observations to entities. Returns those that were new; if an entity does not exist, none is added."""
    told = [_named(one.entity_name, one.contents) for one in ask.observations]
    done = _graph(ctx, ask).add_observations(told)
    return {"results": [{"entityName": one.name, "addedObservations": list(one.texts)} for one in done]}


class DeleteEntities(ChatRequest):
    entity_names: Names


def delete_entities(ctx: CallContext, ask: DeleteEntities) -> DeletedAnswer:
    """Delete entities with their observations and relations. They can be restored until they are forgotten."""
    _graph(ctx, ask).delete_entities(ask.entity_names)
    return {"success": True, "message": "Entities deleted successfully"}


class DeleteObservations(ChatRequest):
    deletions: list[DeletionIn] = Field(max_length=AT_ONCE)


def delete_observations(ctx: CallContext, ask: DeleteObservations) -> DeletedAnswer:
    """Delete observations of entities. They can be restored until they are forgotten."""
    _graph(ctx, ask).delete_observations(_named(one.entity_name, one.observations) for one in ask.deletions)
    return {"success": True, "message": "Observations deleted successfully"}


def delete_relations(ctx: CallContext, ask: NamedRelations) -> DeletedAnswer:
    """Delete relations. They can be restored until they are forgotten."""
    _graph(ctx, ask).delete_links(ask.links())
    return {"success": True, "message": "Relations deleted successfully"}


class ReadGraph(ChatRequest):
    format: Literal["graph", "jsonl"] = Field(
        default="graph", description="jsonl: also the lines of the memory server's file, as text."
    )


class ReadGraphAnswer(GraphAnswer):
    text: NotRequired[str]


def read_graph(ctx: CallContext, ask: ReadGraph) -> ReadGraphAnswer:
    """Read the whole knowledge graph."""
    answer = _answer(_graph(ctx, ask).read())
    if ask.format == "graph":
        return {"entities": answer["entities"], "relations": answer["relations"]}
    lines = [orjson.dumps({"type": "entity", **one}) for one in answer["entities"]]
    lines += [orjson.dumps({"type": "relation", **one}) for one in answer["relations"]]
    text = b"\n".join(lines).decode()
    return {"entities": answer["entities"], "relations": answer["relations"], "text": text}


class SearchNodes(ChatRequest):
    query: Query


def search_nodes(ctx: CallContext, ask: SearchNodes) -> GraphAnswer:
    """Find entities whose name, type or observations hold the text, with all their relations.

    Where none does, those are found that the words or the meaning of the query lead to.
    """
    graph, wanted = _graph(ctx, ask).read(), ask.query.lower()
    texts = {one.name: (one.name, one.type, *one.observations) for one in graph.entities}
    found = {name for name, held in texts.items() if any(wanted in text.lower() for text in held)}
    return _answer(graph.around(found or _by_meaning(ctx, ask)))


def _by_meaning(ctx: CallContext, ask: SearchNodes) -> set[str]:
    found: set[str] = set()
    for kind in TYPES:
        question = Question(ask.query, FOUND, agent=ask.agent_id, type=kind, kinds=("memory",), strict=True)
        for hit in search(ctx, question):
            found.update(names_in(hit.record) if isinstance(hit.record, Memory) else ())
    return found


class OpenNodes(ChatRequest):
    names: Names


def open_nodes(ctx: CallContext, ask: OpenNodes) -> GraphAnswer:
    """Show entities by their names, with all their relations. Names that do not exist are passed over."""
    return _answer(_graph(ctx, ask).read().around(frozenset(ask.names)))


GRAPH_OPERATIONS = (
    Operation(create_entities, "POST", "/knowledge-graph/entities", effect="write"),
    Operation(create_relations, "POST", "/knowledge-graph/relations", effect="write"),
    Operation(add_observations, "POST", "/knowledge-graph/observations", effect="write"),
    Operation(delete_entities, "POST", "/knowledge-graph/entities/delete", effect="write"),
    Operation(delete_observations, "POST", "/knowledge-graph/observations/delete", effect="write"),
    Operation(delete_relations, "POST", "/knowledge-graph/relations/delete", effect="write"),
    Operation(read_graph, "GET", "/knowledge-graph", cli="knowledge-graph read"),
    Operation(
        search_nodes, "POST", "/knowledge-graph/search", cli="knowledge-graph search", positional=("query",),
        by_meaning=True,
    ),
    Operation(open_nodes, "POST", "/knowledge-graph/open", cli="knowledge-graph open"),
)  # fmt: skip
