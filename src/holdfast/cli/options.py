"""Command-line options from an operation's request: one option per argument."""

from __future__ import annotations

import argparse
from typing import Any

import orjson

from holdfast.errors import InvalidRequest
from holdfast.model import Json
from holdfast.ops.declare import Operation


def kebab(name: str) -> str:
    """sessionId -> session-id"""
    return "".join(f"-{char.lower()}" if char.isupper() else char for char in name).replace("_", "-")


_COMMON = frozenset({"json", "data", "url"})


def _flag(name: str) -> str:
    """The option of an argument; one that shares its name with a common option is told apart."""
    return f"--{name}-json" if name in _COMMON else f"--{kebab(name)}"


def _dest(name: str) -> str:
    return f"argument_{name}"


def add_common(parser: argparse.ArgumentParser) -> None:
    """The options that every command takes."""
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")
    parser.add_argument("--data", metavar="DIR", help="data folder (HOLDFAST_HOME, ~/.holdfast)")
    parser.add_argument("--url", help="address of a running server (AGENTMEMORY_URL)")


def add_arguments(parser: argparse.ArgumentParser, operation: Operation) -> None:
    """Positional words and options of an operation."""
    schema = operation.request.model_json_schema(by_alias=True)
    required = set(schema.get("required", []))
    for name, prop in schema.get("properties", {}).items():
        if name in operation.positional:
            continue
        flags = [_flag(name)]
        note = prop.get("description") or _note(prop)
        if _is_bool(prop):
            parser.add_argument(*flags, dest=_dest(name), action=argparse.BooleanOptionalAction, default=None)
        elif _is_list(prop):
            help_text = f"{note} (repeat it, or separate by commas)"
            parser.add_argument(*flags, dest=_dest(name), action="append", metavar="X", help=help_text.strip())
        else:
            must = name in required
            parser.add_argument(*flags, dest=_dest(name), metavar="X", help=note, required=must)
    for name in operation.positional:
        optional = name not in required and name not in operation.tool_required
        words = {"nargs": "?"} if optional else {}
        parser.add_argument(_dest(name), metavar=kebab(name).upper().replace("-", "_"), **words)  # type: ignore[arg-type]


def arguments_of(operation: Operation, given: argparse.Namespace) -> Json:
    """What was typed, under the operation's own names; options not given are left out."""
    schema = operation.request.model_json_schema(by_alias=True)
    found: Json = {}
    for name, prop in schema.get("properties", {}).items():
        value: Any = getattr(given, _dest(name), None)
        if value is None:
            continue
        if _is_list(prop):
            value = [part.strip() for one in value for part in one.split(",") if part.strip()]
        elif _kind(prop) == "object" and isinstance(value, str):
            value = _object(value, name)
        found[name] = value
    return found


def _object(text: str, name: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        raise InvalidRequest(f"{_flag(name)}: must be JSON") from None


def _options(prop: Json) -> list[Json]:
    return [one for one in prop.get("anyOf", [prop]) if one.get("type") != "null"] or [prop]


def _kind(prop: Json) -> str | None:
    return _options(prop)[0].get("type")


def _is_bool(prop: Json) -> bool:
    return _kind(prop) == "boolean"


def _is_list(prop: Json) -> bool:
    first = _options(prop)[0]
    return first.get("type") == "array" or any(one.get("type") == "array" for one in first.get("oneOf", []))


def _note(prop: Json) -> str:
    first = _options(prop)[0]
    if "enum" in first:
        return "one of " + ", ".join(map(str, first["enum"]))
    if first.get("format") == "date-time":
        return "a time such as 2026-11-15T20:41:34Z"
    return str(first.get("description", ""))
