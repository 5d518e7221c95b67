"""The OpenAPI document, made from the operations."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from holdfast.core.model import Json
from holdfast.core.version import VERSION
from holdfast.core.wire import schema
from holdfast.ops.framework.answers import RECORD, RECORDS
from holdfast.ops.framework.operation import Operation, Stream
from holdfast.ops.registry import OPERATIONS

PREFIX = "/agentmemory"
_REF = "#/components/schemas/{model}"


@cache
def openapi() -> Json:
    """The whole document."""
    components: Json = {record.__name__: schema(record) for record in RECORDS}
    components["Fault"] = _FAULT
    paths: Json = {}
    for operation in OPERATIONS:
        for method, path in ((operation.method, operation.path), *operation.also):
            entry = _entry(operation, method, path, components)
            paths.setdefault(PREFIX + path, {})[method.lower()] = entry
    return {
        "openapi": "3.1.0",
        "info": {"title": "Holdfast", "version": VERSION, "license": {"name": "Apache-2.0"}},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}],
    }


_FAULT: Json = {
    "type": "object",
    "properties": {
        "error": {"type": "string"},
        "code": {"type": "string"},
        "hint": {"type": "string"},
        "retryable": {"type": "boolean"},
    },
    "required": ["error", "code", "hint"],
}


def _entry(operation: Operation, method: str, path: str, components: Json) -> Json:
    request = operation.request.model_json_schema(by_alias=True, ref_template=_REF)
    components.update(request.pop("$defs", {}))
    in_path = re.findall(r"\{(\w+)\}", path)
    entry: Json = {
        "operationId": _id(operation, method, path),
        "summary": operation.summary,
        "description": operation.description,
        "responses": _responses(operation, components),
        "x-effect": operation.effect,
        "x-scope": operation.needs,
    }
    properties: Json = request.get("properties", {})
    parameters = [_parameter(name, properties[name], "path", True) for name in in_path]
    rest = {name: prop for name, prop in properties.items() if name not in in_path}
    required = [name for name in request.get("required", []) if name in rest]
    if method == "GET":
        parameters += [_parameter(name, prop, "query", name in required) for name, prop in rest.items()]
    elif rest:
        body = {"type": "object", "properties": rest, "required": required}
        entry["requestBody"] = {"required": bool(required), "content": {"application/json": {"schema": body}}}
    if parameters:
        entry["parameters"] = parameters
    if operation.unguarded:
        entry["security"] = []
    return entry


def _id(operation: Operation, method: str, path: str) -> str:
    if (method, path) == (operation.method, operation.path):
        return operation.name
    return f"{operation.name}_{method.lower()}{path.replace('/', '_').replace('-', '_')}"


def _parameter(name: str, prop: Json, place: str, required: bool) -> Json:
    return {"name": name, "in": place, "required": required, "schema": prop}


def _responses(operation: Operation, components: Json) -> Json:
    fault = {"application/json": {"schema": {"$ref": "#/components/schemas/Fault"}}}
    answer = {"application/json": {"schema": response_schema(operation, components)}}
    statuses = {operation.status, 200 if operation.status_for else operation.status}
    done = {str(status): {"description": "Done.", "content": answer} for status in sorted(statuses)}
    return {**done, "default": {"description": "A fault.", "content": fault}}


def response_schema(operation: Operation, components: Json) -> Json:
    """The schema of the operation's answer; nested ones go to the components."""
    if operation.response is Stream:
        return {"type": "object"}
    made: Any = TypeAdapter(operation.response).json_schema(ref_template=_REF, mode="serialization")
    components.update(_with_references(made.pop("$defs", {})))
    return dict(_with_references(made))


def _with_references(schema: Any) -> Any:
    """The schema with every marked record as a reference."""
    if isinstance(schema, dict):
        if RECORD in schema:
            return {"$ref": f"#/components/schemas/{schema[RECORD]}"}
        return {name: _with_references(inner) for name, inner in schema.items()}
    return [_with_references(inner) for inner in schema] if isinstance(schema, list) else schema
