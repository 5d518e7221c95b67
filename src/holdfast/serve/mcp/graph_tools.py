"""The tools of the MCP memory server (@modelcontextprotocol/server-memory 2026.8), for prompts written for it.

Names, arguments and answers are its own; each tool carries out the operation of the same name.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import mcp_types as types

from holdfast.core.errors import Fault
from holdfast.core.model import Json


def _text(meaning: str) -> Json:
    return {"type": "string", "description": meaning}


def _list(items: Json, meaning: str = "") -> Json:
    return {"type": "array", "items": items, **({"description": meaning} if meaning else {})}


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}


_TEXTS = {"type": "string"}
_ENTITY = _object(
    name=_text("Name of the entity."),
    entityType=_text("What kind of entity it is."),
    observations=_list(_TEXTS, "What is known of it, one fact each."),
)
_RELATION = _object(
    **{"from": _text("Name of the entity where it begins."), "to": _text("Name of the entity where it ends.")},
    relationType=_text("What the one does or is to the other, in active voice."),
)
_ADDED = _object(entityName=_TEXTS, addedObservations=_list(_TEXTS))
_GRAPH = _object(entities=_list(_ENTITY), relations=_list(_RELATION))
_DONE = _object(success={"type": "boolean"}, message=_TEXTS)


@dataclass(frozen=True, slots=True)
class GraphTool:
    name: str
    description: str
    arguments: Json
    answer: Json
    destroys: bool = False

    @property
    def reads(self) -> bool:
        return self.answer is _GRAPH

    def listed(self) -> types.Tool:
        return types.Tool(
            name=self.name,
            title=self.name.replace("_", " ").title(),
            description=self.description,
            input_schema=self.arguments,
            output_schema=self.answer,
            annotations=types.ToolAnnotations(
                read_only_hint=self.reads,
                destructive_hint=self.destroys,
                idempotent_hint=self.reads or self.destroys,
                open_world_hint=False,
            ),
        )

    def result(self, answer: Json) -> types.CallToolResult:
        """The answer as structured content and as that server's text: the message, the graph, or the one list."""
        given = {name: answer[name] for name in self.answer["properties"]}
        shown: Any = given if self.reads else given.get("message") or next(iter(given.values()))
        text = shown if isinstance(shown, str) else json.dumps(shown, indent=2, ensure_ascii=False)
        content: list[types.ContentBlock] = [types.TextContent(text=text)]
        if answer.get("notice"):
            content.append(types.TextContent(text=answer["notice"]))
        return types.CallToolResult(content=content, structured_content=given)


def failed(fault: Fault) -> types.CallToolResult:
    """What went wrong as a sentence, as that server has it."""
    return types.CallToolResult(content=[types.TextContent(text=fault.message)], is_error=True)


GRAPH_TOOLS = {
    one.name: one
    for one in (
        GraphTool(
            "create_entities",
            "Create entities of the knowledge graph. One that exists stays as it is.",
            _object(entities=_list(_ENTITY)),
            _object(entities=_list(_ENTITY)),
        ),
        GraphTool(
            "create_relations",
            "Create relations between entities of the knowledge graph, in active voice.",
            _object(relations=_list(_RELATION)),
            _object(relations=_list(_RELATION)),
        ),
        GraphTool(
            "add_observations",
            "Add observations to entities that exist in the knowledge graph.",
            _object(
                observations=_list(
                    _object(entityName=_text("Name of the entity."), contents=_list(_TEXTS, "What to add."))
                )
            ),
            _object(results=_list(_ADDED)),
        ),
        GraphTool(
            "delete_entities",
            "Delete entities from the knowledge graph, with their observations and relations.",
            _object(entityNames=_list(_TEXTS, "Names of the entities.")),
            _DONE,
            destroys=True,
        ),
        GraphTool(
            "delete_observations",
            "Delete observations of entities from the knowledge graph.",
            _object(
                deletions=_list(
                    _object(entityName=_text("Name of the entity."), observations=_list(_TEXTS, "As they were stored."))
                )
            ),
            _DONE,
            destroys=True,
        ),
        GraphTool(
            "delete_relations",
            "Delete relations from the knowledge graph.",
            _object(relations=_list(_RELATION)),
            _DONE,
            destroys=True,
        ),
        GraphTool("read_graph", "Read the whole knowledge graph.", _object(), _GRAPH),
        GraphTool(
            "search_nodes",
            "Find entities of the knowledge graph by their names, types and observations.",
            _object(query=_text("A name, words of an observation, or a question.")),
            _GRAPH,
        ),
        GraphTool(
            "open_nodes",
            "Show entities of the knowledge graph by their names, with their relations.",
            _object(names=_list(_TEXTS, "Names of the entities.")),
            _GRAPH,
        ),
    )
}
