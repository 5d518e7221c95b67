"""Makes the table of commands from the operations; only `make docs` and its test load this."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from holdfast.core.model import Json
from holdfast.ops.framework.operation import Operation
from holdfast.ops.registry import OPERATIONS


def table_text() -> bytes:
    """The table as JSON, one operation to a line, so that two changes seldom meet in one."""
    lines = [orjson.dumps(_row(operation)) for operation in OPERATIONS]
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


def _row(operation: Operation) -> Json:
    return {
        "name": operation.name,
        "words": operation.cli or "",
        "summary": operation.summary,
        "method": operation.method,
        "path": operation.path,
        "effect": operation.effect,
        "paths": list(operation.paths),
        "long": operation.long,
        "asks": operation.asks,
        "steps": operation.steps,
        "brief": dict(operation.brief),
        "arguments": list(_arguments(operation)) if operation.cli else [],
    }


def _arguments(operation: Operation) -> Iterator[Json]:
    """Options in the order of the request, then the positional words in theirs."""
    schema = operation.request.model_json_schema(by_alias=True)
    required, props = set(schema.get("required", [])), schema.get("properties", {})
    for name, prop in props.items():
        if name not in operation.positional:
            yield _argument(name, prop, name in required, False)
    for name in operation.positional:
        yield _argument(name, props[name], name in required or name in operation.tool_required, True)


def _argument(name: str, prop: Json, required: bool, positional: bool) -> Json:
    note = " ".join(filter(None, (prop.get("description"), _note(prop))))
    return {"name": name, "kind": _kind(prop), "help": note, "required": required, "positional": positional}


def _kind(prop: Json) -> str:
    first = _first(prop)
    if first.get("type") == "boolean":
        return "flag"
    if first.get("type") == "array" or any(one.get("type") == "array" for one in first.get("oneOf", [])):
        return "list"
    return "object" if first.get("type") == "object" else "text"


def _first(prop: Json) -> dict[str, Any]:
    """The first type that is not null."""
    return next((one for one in prop.get("anyOf", [prop]) if one.get("type") != "null"), prop)


def _note(prop: Json) -> str:
    first = _first(prop)
    if "enum" in first:
        return f"One of {', '.join(map(str, first['enum']))}."
    if "enum" in first.get("items", {}):
        return f"Any of {', '.join(map(str, first['items']['enum']))}."
    if first.get("format") == "date-time":
        return "A time such as 2026-11-15T20:41:34Z."
    return "" if first is prop else str(first.get("description", ""))
