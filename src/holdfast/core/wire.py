"""Records as the clients read them: camelCase names, ISO times; and back, for import.

One table of names per record gives both directions, so an export always imports again.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from holdfast.core.errors import InvalidRequest
from holdfast.core.model import EVERYBODY, AuditEntry, Commit, Json, Memory, Observation, Session, Slot, Summary
from holdfast.core.session_keys import session_name
from holdfast.core.times import iso, parse_time

R = TypeVar("R")

_HIDDEN = frozenset({"tenant", "seq", "content_hash", "secret_hash"})
_TIMES = frozenset({"at", "valid_from", "valid_to", "forget_after"})
_NAMES = {"agent": "agentId", "at": "timestamp", "hook": "hookType", "latest": "isLatest", "root": "rootId"}
_OWN_NAMES: dict[tuple[type[Any], str], str] = {
    (Memory, "source_ids"): "sourceObservationIds",
    (Summary, "id"): "sessionId",
    (Summary, "decisions"): "keyDecisions",
    (Summary, "files"): "filesModified",
}
_OWN_HIDDEN = {(Memory, "audience")}  # follows from the scope, the chat and the owners
# Names that are left out where they have these values: most memories were made in no chat.
_USUAL: dict[type[Any], Json] = {
    Memory: {
        "visibility": "group", "umo": None, "owners": [], "shareIntoGroups": False, "uri": "", "domain": "",
        "memoryType": "normal", "disclosure": "", "subject": "", "entities": [], "topics": [],
        "state": "active", "deprecatedAt": None, "foldedInto": None,
    },
    AuditEntry: {"audience": [EVERYBODY]},
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class _Field:
    column: str
    name: str
    kind: type[Any]
    optional: bool
    is_time: bool


def _camel(column: str) -> str:
    head, *rest = column.split("_")
    return head + "".join(part.capitalize() for part in rest)


_known: dict[type[Any], tuple[_Field, ...]] = {}


def _fields(record: type[Any]) -> tuple[_Field, ...]:
    if record not in _known:
        _known[record] = _read_fields(record)
    return _known[record]


def _read_fields(record: type[Any]) -> tuple[_Field, ...]:
    hints = typing.get_type_hints(record)
    found = []
    for field in dataclasses.fields(record):
        if field.name in _HIDDEN or (record, field.name) in _OWN_HIDDEN:
            continue
        hint = hints[field.name]
        optional = isinstance(hint, types.UnionType)
        if optional:
            hint = next(part for part in typing.get_args(hint) if part is not type(None))
        name = _OWN_NAMES.get((record, field.name)) or _NAMES.get(field.name) or _camel(field.name)
        kind = typing.get_origin(hint) or hint
        is_time = kind is int and (field.name in _TIMES or field.name.endswith("_at"))
        found.append(_Field(field.name, name, kind, optional, is_time))
    return tuple(found)


def shape(record: Any) -> Json:
    """The record as JSON. Observations and commits carry a few derived names that clients read."""
    kind = type(record)
    names, values_of, turns = _turns(kind)
    answer: Json = dict(zip(names, values_of(record), strict=True))
    for name, turn in turns:
        value = answer[name]
        if value is not None:
            answer[name] = turn(value)
    for name, usual in _USUAL.get(kind, _NOTHING).items():
        if answer[name] == usual:
            del answer[name]
    extra = _EXTRAS.get(kind)
    return {**answer, **extra(record)} if extra else answer


_NOTHING: Json = {}

_Turn = Callable[[Any], Any]
_Turns = tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]], tuple[tuple[str, _Turn], ...]]


def _turn(record: type[Any], field: _Field) -> _Turn | None:
    if field.is_time:
        return iso
    if field.column == "session_ids":
        return _session_names
    if field.column == "session_id" or (record in (Session, Summary) and field.column == "id"):
        return session_name
    return list if field.kind is tuple else None


def _session_names(keys: tuple[str, ...]) -> list[str]:
    return [session_name(key) for key in keys]


_known_turns: dict[type[Any], _Turns] = {}


def _turns(record: type[Any]) -> _Turns:
    """The names, the values for them, and how some are written; worked out once, as every answer goes through here."""
    if record not in _known_turns:
        fields = _fields(record)
        turned = tuple((field.name, turn) for field in fields if (turn := _turn(record, field)))
        columns = attrgetter(*(field.column for field in fields))
        _known_turns[record] = tuple(field.name for field in fields), columns, turned
    return _known_turns[record]


def _observation_extras(seen: Observation) -> Json:
    raw = seen.raw
    pairs = {
        "toolName": raw.get("tool_name"),
        "toolInput": raw.get("tool_input"),
        "toolOutput": raw.get("tool_output", raw.get("error")),
        "userPrompt": raw.get("prompt"),
    }
    return {name: value for name, value in pairs.items() if value is not None}


def _commit_extras(commit: Commit) -> Json:
    return {"shortSha": commit.sha[:7]}


_EXTRAS: dict[type[Any], Callable[[Any], Json]] = {Observation: _observation_extras, Commit: _commit_extras}


def record_from(record: type[R], data: Mapping[str, Any], given: Mapping[str, Any]) -> R:
    """A record from its JSON; `given` are columns that the caller decides, over anything in the data.

    Missing names take their usual value or the empty one of their type, so that exports of older systems can be read.

    Raises:
        InvalidRequest: a value has the wrong type; the message names it.
    """
    values: dict[str, Any] = {}
    usual = _USUAL.get(record, _NOTHING)
    for field in _fields(record):
        if field.column not in given:
            values[field.column] = _value(field, data.get(field.name, usual.get(field.name)))
    return record(**{**values, **given})


def _value(field: _Field, value: Any) -> Any:
    if value is None:
        return None if field.optional else _empty(field)
    if field.is_time:
        return parse_time(str(value), field.name)
    if field.kind is tuple and isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    if field.kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if field.kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, field.kind) and (field.kind is bool or not isinstance(value, bool)):
        return value
    raise InvalidRequest(f"{field.name} must be a {_word(field.kind)}")


def _empty(field: _Field) -> Any:
    return field.kind()


def _word(kind: type[Any]) -> str:
    return {str: "text", int: "whole number", float: "number", bool: "boolean", tuple: "list of texts"}.get(
        kind, "object"
    )


def schema(record: type[Any]) -> Json:
    """The JSON schema of a record's shape. Names that are left out where they have their usual value are optional."""
    properties: Json = {}
    usual = _USUAL.get(record, _NOTHING)
    for field in _fields(record):
        kind: Json = {"type": _SCHEMA_TYPES[field.kind]}
        if field.is_time:
            kind = {"type": "string", "format": "date-time"}
        if field.kind is tuple:
            kind["items"] = {"type": "string"}
        empty = field.optional or (record is Slot and field.is_time)  # a standard slot never written to has no times
        properties[field.name] = {"anyOf": [kind, {"type": "null"}]} if empty else kind
    return {"type": "object", "properties": properties, "required": [name for name in properties if name not in usual]}


_SCHEMA_TYPES = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    tuple: "array",
    dict: "object",
}
