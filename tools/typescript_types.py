"""clients/typescript/src/generated.ts, the types of every operation, from the OpenAPI document; `make docs` writes it.

The client has no dependency at run time, so there is one here neither: the document uses a small part of JSON Schema,
and what it does not use is refused instead of being guessed at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from holdfast.ops.openapi import openapi

Schema = dict[str, Any]

PREFIX = "/agentmemory"
HEAD = (
    "// Generated from Holdfast's OpenAPI document by tools/typescript_types.py (`make docs`). Do not edit.\n\n"
    "/** Any JSON object. */\nexport type Json = { [name: string]: unknown };"
)
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def source() -> str:
    """The whole module."""
    document = openapi()
    parts = [HEAD]
    for name, schema in sorted(document["components"]["schemas"].items()):
        parts.append(_declaration(name, schema))
    operations = list(_operations(document))
    for name, method, path, entry in operations:
        doc = _doc(entry["description"])
        parts.append(f"{doc}export type {_title(name)}Request = {_type(_request(entry))};")
        parts.append(f"/** What `{method.upper()} {path}` answers. */\n" + _answer(name, entry))
    rows = "".join(
        f"  {name}: {{ request: {_title(name)}Request; answer: {_title(name)}Answer }};\n" for name, *_ in operations
    )
    parts.append(f"/** Every operation, with what it takes and gives. */\nexport interface Operations {{\n{rows}}}")
    rows = "".join(
        f"  {name}: [{_quoted(method.upper())}, {_quoted(path)}, {_quoted(entry['x-effect'])}],\n"
        for name, method, path, entry in operations
    )
    row = "readonly [method: string, path: string, effect: string]"
    parts.append(
        "/** How each is reached: method, path, and what it does to the memory. */\n"
        f"export const ROUTES: {{ readonly [N in keyof Operations]: {row} }} = {{\n{rows}}};"
    )
    return "\n\n".join(parts) + "\n"


def _operations(document: Schema) -> Iterator[tuple[str, str, str, Schema]]:
    """Each operation at its own path; older paths of the same are left out."""
    for path, entries in document["paths"].items():
        for method, entry in entries.items():
            if f"_{method}_" not in entry["operationId"]:
                yield entry["operationId"], method, path.removeprefix(PREFIX), entry


def _request(entry: Schema) -> Schema:
    """All arguments as one object, wherever they are sent."""
    body = entry.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    named = entry.get("parameters", [])
    return {
        "type": "object",
        "properties": {**{one["name"]: one["schema"] for one in named}, **body.get("properties", {})},
        "required": [*(one["name"] for one in named if one["required"]), *body.get("required", [])],
    }


def _answer(name: str, entry: Schema) -> str:
    answers = {code: one for code, one in entry["responses"].items() if code != "default"}
    schemas = [one.get("content", {}).get("application/json", {}).get("schema", {}) for one in answers.values()]
    types = list(dict.fromkeys(_type(schema) for schema in schemas))
    return f"export type {_title(name)}Answer = {' | '.join(types)};"


def _declaration(name: str, schema: Schema) -> str:
    return f"{_doc(schema.get('description', ''))}export type {name} = {_type(schema)};"


def _type(schema: Schema, depth: int = 0) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " | ".join(dict.fromkeys(_type(one, depth) for one in schema[word]))
    kind = schema.get("type")
    if kind == "array":
        inner = _type(schema.get("items", {}), depth)
        return f"({inner})[]" if " " in inner and not inner.startswith("{") else f"{inner}[]"
    if kind == "object":
        return _object(schema, depth)
    if kind is None and not set(schema) - {"title", "description", "default"}:
        return "unknown"
    return _PLAIN[str(kind)]


def _object(schema: Schema, depth: int) -> str:
    properties, required = schema.get("properties"), set(schema.get("required", ()))
    if not properties:
        more = schema.get("additionalProperties")
        return f"{{ [name: string]: {_type(more, depth)} }}" if isinstance(more, dict) and more else "Json"
    indent = "  " * (depth + 1)
    lines = []
    for name, inner in properties.items():
        mark = "" if name in required else "?"
        shown = name if re.fullmatch(r"[A-Za-z_]\w*", name) else _quoted(name)
        lines.append(f"{_doc(inner.get('description', ''), indent)}{indent}{shown}{mark}: {_type(inner, depth + 1)};\n")
    return "{\n" + "".join(lines) + "  " * depth + "}"


def _doc(text: str, indent: str = "") -> str:
    """A comment with the text, or nothing."""
    lines = text.replace("*/", "* /").strip().split("\n")
    if lines == [""]:
        return ""
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    inner = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{inner}{indent} */\n"


def _title(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _quoted(text: str) -> str:
    return json.dumps(text)
