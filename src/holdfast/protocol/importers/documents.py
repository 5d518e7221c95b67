"""Untrusted JSON as Python values, within limits. Knows no system's format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from holdfast.core.errors import InvalidRequest, TooLarge

MOST_BYTES = 64_000_000
MOST_VALUES = 4_000_000


def document(data: bytes) -> Any:
    """The value of a JSON document, or the list of values of JSON lines.

    Raises:
        InvalidRequest: it is neither.
        TooLarge: it is larger than one import may be.
    """
    if len(data) > MOST_BYTES:
        raise TooLarge(f"the export has {len(data)} bytes; the limit is {MOST_BYTES}", hint="Import it in parts.")
    # Before parsing: a few bytes can be a list of its own. Those inside strings are counted too.
    if data.count(b",") + data.count(b"[") + data.count(b"{") > MOST_VALUES:
        raise TooLarge("the export has too many values", hint="Import it in parts.")
    data = data.removeprefix(b"\xef\xbb\xbf")
    value = _parsed(data)
    if value is not _NO_JSON:
        return value
    lines = [line for line in data.split(b"\n") if line.strip()]
    if len(lines) < 2 or not isinstance(_parsed(lines[0]), dict):
        raise InvalidRequest("the export is neither JSON nor JSON lines")
    return [_parsed(line) for line in lines]


_NO_JSON = object()  # stands where there is none, also among lines: no reader takes it for a record


def _parsed(data: bytes) -> Any:
    # The decoder's error holds the whole document: it must not be kept as the cause of a fault.
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return _NO_JSON


def listed(value: Any, *names: str) -> list[Any] | None:
    """The list itself, or the first list under one of the names of an object; None if there is none."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return next((value[name] for name in names if isinstance(value.get(name), list)), None)
    return None


def objects(values: list[Any]) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Each value with a ref by its place; None where it is no object."""
    for number, value in enumerate(values, 1):
        yield f"#{number}", value if isinstance(value, dict) else None
