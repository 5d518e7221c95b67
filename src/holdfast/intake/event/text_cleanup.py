"""Cuts and cleans text before anything reads it, so that later steps work on a few thousand characters.

Knows nothing of hooks or tools. Images never pass: neither data URLs, nor image blocks, nor long base64 runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from holdfast.text.excerpt import excerpt

CUT_CHARS = 16_000
SAID_CHARS = 64_000  # what a person or an agent says is kept whole up to here
_TOTAL_CHARS = 64_000
_NODES = 2_000
_DEPTH = 6

_IMAGE_URL = re.compile(r"data:image/[A-Za-z0-9.+-]*[;,][A-Za-z0-9+/=_%;,:-]*")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BINARY_RUN = re.compile(r"[A-Za-z0-9+/]{240,}={0,2}")
_CONTROLS = {code: None for code in (*range(9), 11, 12, *range(14, 32), 127)}
_STRING_FIELD = re.compile(r'"([A-Za-z_]\w{0,40})"\s*:\s*"((?:[^"\\]|\\.)*)')
_IMAGE_KEYS = frozenset({"imagedata", "image", "images", "imageurl", "base64", "screenshot"})
_IMAGE_BLOCKS = frozenset({"image", "inputimage", "imageurl", "outputimage"})
_TEXT_KEYS = ("stdout", "output", "text", "content", "file", "result", "message", "stderr", "error")


def cut(text: str, limit: int = CUT_CHARS) -> str:
    """Beginning and end of a long text and its lines about failures, without images, colours and control characters."""
    if "data:image" in text:
        text = _IMAGE_URL.sub("[image]", text)
    text = excerpt(text, limit)
    text = _ANSI.sub("", text).translate(_CONTROLS)
    return _BINARY_RUN.sub("[binary]", text)


def parsed(value: Any) -> Any:
    """The value inside a JSON string; of an object that was cut off, its string fields; else the value."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return _salvaged(value) or value


def _salvaged(text: str) -> dict[str, Any]:
    # Hooks cut tool input at 4,000 to 8,000 characters, which leaves the last field open.
    if not text.lstrip().startswith("{"):
        return {}
    fields: dict[str, Any] = {}
    for match in _STRING_FIELD.finditer(text[:CUT_CHARS]):
        name, raw = match.group(1), match.group(2)
        fields.setdefault(name, _unescaped(raw))
    return fields


def _unescaped(raw: str) -> str:
    try:
        return str(orjson.loads(f'"{raw}"'))
    except ValueError:
        return raw.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")


class _CopyBudget:
    """How much more of a value may be copied."""

    def __init__(self) -> None:
        self.nodes = _NODES
        self.chars = _TOTAL_CHARS

    def text(self, value: str) -> str:
        kept = cut(value, max(16, min(CUT_CHARS, self.chars)))
        self.chars -= len(kept)
        return kept

    def full(self) -> bool:
        return self.nodes <= 0 or self.chars <= 0


def trim(value: Any) -> Any:
    """A copy of any JSON value that is small, shallow and free of images."""
    return _trimmed(value, _CopyBudget(), _DEPTH)


def _trimmed(value: Any, room: _CopyBudget, depth: int) -> Any:
    room.nodes -= 1
    if isinstance(value, str):
        return room.text(value)
    if isinstance(value, dict):
        return _trimmed_object(value, room, depth)
    if isinstance(value, (list, tuple)):
        items: list[Any] = []
        for item in value if depth else ():
            if room.full():
                break
            items.append(_trimmed(item, room, depth - 1))
        return items
    return value if value is None or isinstance(value, (bool, int, float)) else room.text(str(value))


def _trimmed_object(value: dict[Any, Any], room: _CopyBudget, depth: int) -> Any:
    if _squeezed(value.get("type")) in _IMAGE_BLOCKS:
        return "[image]"
    fields: dict[str, Any] = {}
    for key, item in value.items() if depth else ():
        if room.full():
            break
        if _squeezed(key) in _IMAGE_KEYS and isinstance(item, (str, dict, list)):
            continue
        fields[cut(str(key), 120)] = _trimmed(item, room, depth - 1)
    return fields


def _squeezed(name: Any) -> str:
    return name.replace("_", "").replace("-", "").lower() if isinstance(name, str) else ""


def readable(value: Any) -> str:
    """A trimmed value as people would write it: `key: value, key: value`, text blocks as their text."""
    return ", ".join(piece for piece in _pieces(value) if piece)


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value.strip()
    elif isinstance(value, dict):
        if isinstance(value.get("text"), str) and value.get("type") is not None:
            yield value["text"].strip()
            return
        for key, item in value.items():
            inner = readable(item)
            if inner:
                yield f"{key}: {inner}"
    elif isinstance(value, list):
        for item in value:
            yield readable(item)
    elif value is not None and value is not False:
        yield str(value).lower() if value is True else str(value)


def values_text(value: Any) -> str:
    """The texts of a trimmed value without the names of its fields."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    return "\n".join(text for text in map(values_text, value) if text) if isinstance(value, list) else ""


def body_text(value: Any) -> str:
    """The text that a tool printed or returned, out of whichever field of a trimmed value carries it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(text for text in map(body_text, value) if text)
    if not isinstance(value, dict):
        return ""
    return "\n".join(text for key in _TEXT_KEYS if (text := body_text(value.get(key))))
