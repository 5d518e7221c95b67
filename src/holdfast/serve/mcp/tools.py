"""The tools of MCP, made from the operations: their list and their calls, without the library that speaks MCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.connection import Connection
from holdfast.core.model import Json
from holdfast.local.project_key import ends_with
from holdfast.ops.registry import TOOLS, tool
from holdfast.serve.http.strict_json import dumps


def call_tool(connection: Connection, name: str, arguments: Mapping[str, Any]) -> Any:
    """The answer of the tool's operation.

    Raises:
        Fault: no such tool, or whatever the operation raised.
    """
    found = tool(name)
    return connection.call(found.operation, found.arguments(arguments))


def call_for_agent(connection: Connection, name: str, arguments: Mapping[str, Any], here: str | None) -> Any:
    """The same for an agent that works in a folder: in brief, and of its project first.

    Raises:
        Fault: as above.
    """
    operation = tool(name).operation
    fields = {field.alias or key for key, field in operation.request.model_fields.items()}
    given = {**operation.brief, **arguments}
    if here and isinstance(given.get("project"), str) and ends_with(here, given["project"]):
        given["project"] = here  # the folder's name, which other projects may have as well
    if given.get("umo"):  # the caller is a chat, not a folder
        here = None
    if here and "here" in fields:
        given.setdefault("here", here)
    elif here and operation.effect == "write" and "project" in fields and not given.get("project"):
        given["project"] = here
    return call_tool(connection, name, given)


def tool_list() -> list[Json]:
    """All tools as the old GET /agentmemory/mcp/tools lists them."""
    return [
        {
            "name": one.name,
            "description": one.operation.description,
            "inputSchema": one.schema,
            "annotations": {
                "readOnlyHint": one.operation.effect == "read",
                "destructiveHint": one.operation.effect == "destroy",
            },
        }
        for one in TOOLS.values()
    ]


def text_of(answer: Any) -> str:
    return dumps(answer).decode()
