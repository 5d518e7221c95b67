"""The explicit list of all operations, and the MCP tools made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.core.errors import NotFound
from holdfast.core.model import Json
from holdfast.ops.coordination.facets import FACETS
from holdfast.ops.coordination.gates import GATES
from holdfast.ops.coordination.messages import MESSAGES
from holdfast.ops.coordination.plans import PLANS
from holdfast.ops.coordination.work import WORK
from holdfast.ops.foreign.knowledge_graph import GRAPH_OPERATIONS
from holdfast.ops.foreign.memory_tool import FILE_OPERATIONS
from holdfast.ops.framework.operation import Operation
from holdfast.ops.oauth.approval import OAUTH_OPERATIONS
from holdfast.ops.query.history import HISTORY
from holdfast.ops.query.memory_map import FOLDERS
from holdfast.ops.query.provenance import PROVENANCE
from holdfast.ops.query.recall_check import CHECKING
from holdfast.ops.query.search import RECALL
from holdfast.ops.query.timeline import TIMELINE
from holdfast.ops.records.actions import ACTION_OPERATIONS
from holdfast.ops.records.addresses import ADDRESS_OPERATIONS
from holdfast.ops.records.forget import FORGETTING
from holdfast.ops.records.items import ITEM_OPERATIONS
from holdfast.ops.records.learning import LEARNING
from holdfast.ops.records.lessons import LESSON_OPERATIONS
from holdfast.ops.records.lifecycle import AGING
from holdfast.ops.records.memories import MEMORY_OPERATIONS
from holdfast.ops.records.memory_scope import CHANGING
from holdfast.ops.records.rule_files import RULES
from holdfast.ops.records.sessions import INTAKE
from holdfast.ops.records.slots import SLOT_OPERATIONS
from holdfast.ops.server.admin import ADMIN
from holdfast.ops.server.examination import EXAMINATION
from holdfast.ops.server.export_import import TRANSFER
from holdfast.ops.server.mesh import MESH
from holdfast.ops.server.overview import OVERVIEW
from holdfast.ops.server.pages import PAGES
from holdfast.ops.server.recover import RECOVERING
from holdfast.ops.server.second_brain import NOTE_OPERATIONS
from holdfast.ops.snapshots.create import SNAPSHOTS
from holdfast.ops.snapshots.damaged_generations import DAMAGED
from holdfast.ops.snapshots.drill import DRILLS
from holdfast.ops.snapshots.follow import FOLLOWING
from holdfast.ops.snapshots.guarded_files import GUARDED
from holdfast.ops.snapshots.keys import KEY_OPERATIONS
from holdfast.ops.snapshots.merge import MERGING
from holdfast.ops.snapshots.nexo import FOREIGN
from holdfast.ops.snapshots.progenly import PROGENLY
from holdfast.ops.snapshots.remove import REMOVING
from holdfast.ops.snapshots.restore import RESTORING
from holdfast.ops.snapshots.vaults import VAULTS

OPERATIONS: tuple[Operation, ...] = (
    *INTAKE,
    *MEMORY_OPERATIONS,
    *ADDRESS_OPERATIONS,
    *FILE_OPERATIONS,
    *GRAPH_OPERATIONS,
    *ITEM_OPERATIONS,
    *FORGETTING,
    *AGING,
    *CHANGING,
    *RECALL,
    *CHECKING,
    *TIMELINE,
    *HISTORY,
    *PROVENANCE,
    *LESSON_OPERATIONS,
    *SLOT_OPERATIONS,
    *ACTION_OPERATIONS,
    *WORK,
    *GATES,
    *MESSAGES,
    *PLANS,
    *FACETS,
    *FOLDERS,
    *LEARNING,
    *NOTE_OPERATIONS,
    *PAGES,
    *TRANSFER,
    *RULES,
    *PROGENLY,
    *SNAPSHOTS,
    *RESTORING,
    *DRILLS,
    *GUARDED,
    *FOLLOWING,
    *MERGING,
    *DAMAGED,
    *RECOVERING,
    *REMOVING,
    *VAULTS,
    *MESH,
    *FOREIGN,
    *KEY_OPERATIONS,
    *OVERVIEW,
    *ADMIN,
    *OAUTH_OPERATIONS,
    *EXAMINATION,
)

BY_NAME: dict[str, Operation] = {operation.name: operation for operation in OPERATIONS}


@dataclass(frozen=True)
class Tool:
    """One MCP tool: an operation under a name that models call."""

    name: str
    operation: Operation

    def arguments(self, given: Mapping[str, Any]) -> Json:
        return {**self.operation.tool_defaults, **given}

    @property
    def schema(self) -> Json:
        return tool_schema(self.operation)


def tool_schema(operation: Operation) -> Json:
    """The tool's arguments in the plain form that every MCP client reads: no references, no null types."""
    full = operation.request.model_json_schema(by_alias=True)
    properties = {name: _simple(prop) for name, prop in full.get("properties", {}).items()}
    for name, value in operation.tool_defaults.items():
        properties[name]["default"] = value
    required = list(dict.fromkeys([*full.get("required", []), *operation.tool_required]))
    schema: Json = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


_KEPT = (
    "type",
    "enum",
    "oneOf",
    "items",
    "description",
    "default",
    "minimum",
    "maximum",
    "format",
    "pattern",
)


def _simple(prop: Json) -> Json:
    if "anyOf" in prop:
        options = [one for one in prop["anyOf"] if one.get("type") != "null"]
        prop = {**prop, **options[0]}
    simple = {name: prop[name] for name in _KEPT if name in prop}
    if simple.get("type") == "integer":
        simple["type"] = "number"
    if simple.get("default", 0) is None or simple.get("default") == ():
        del simple["default"]
    return simple


TOOLS: dict[str, Tool] = {
    name: Tool(name, operation)
    for operation in OPERATIONS
    if operation.tool
    for name in (operation.tool, *operation.tool_also)
}


def tool(name: str) -> Tool:
    """The tool of that name.

    Raises:
        NotFound: there is none.
    """
    try:
        return TOOLS[name]
    except KeyError:
        raise NotFound("tool: there is no tool of that name", hint="tools/list returns all tools.") from None
