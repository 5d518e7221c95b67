"""Add, change and remove one entry of a YAML text, leaving every other byte as it is.

PyYAML says where each value stands; the text is spliced there and nowhere else. YAML has many ways to write the same,
so the result is checked: it must read as what was wanted, or the change is refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import yaml

from holdfast.cli.connect.formats.refusal import Refusal

Keys = tuple[str, ...]

_OTHER_FORM = "the entry is written in a form that cannot be edited separately"
_MOST_VALUES = 100_000
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_DASH = re.compile(r"[ \t]*- +")
_COMMA_AFTER, _COMMA_BEFORE = re.compile(r"\s*,[ \t]*"), re.compile(r",\s*$")


def load(text: str) -> dict[Any, Any]:
    """The mapping in the text; a blank text counts as an empty one.

    Raises:
        Refusal: the text is not one YAML document with a mapping.
    """
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise Refusal(f"it is not valid YAML ({f'at line {mark.line + 1}' if mark else 'at the end'})") from None
    except (ValueError, RecursionError):
        raise Refusal("it is not valid YAML (a value cannot be read)") from None
    if value is not None and not isinstance(value, dict):
        raise Refusal("it does not contain a YAML mapping")
    return _bounded(value or {})


def _bounded(value: dict[Any, Any]) -> dict[Any, Any]:
    """The value, unless aliases make it larger than any settings are, or endless: it is going to be compared."""
    waiting: list[Any] = [value]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return value
        one = waiting.pop()
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    raise Refusal("its aliases repeat too much")


def set_entry(text: str, keys: Keys, wanted: Any, *, listed: bool = False) -> str:
    """The text with the value under the keys; `listed` where the last key is the name of an item of a list.

    Raises:
        Refusal: the text is not YAML, or writes the entry in a form that cannot be edited by itself.
    """
    before = load(text)
    expected = _put(before, keys, wanted, listed)
    if _read_alike(before, expected):
        return text
    path = _path(text, keys)
    if len(path) > len(keys):
        return _proved(_replaced(text, keys, path[-1].value, wanted), expected)
    return _proved(_inserted(text, keys, path, wanted, listed), expected)


def drop_entry(text: str, keys: Keys) -> str:
    """The text without the entry; what contained nothing else is left empty.

    Raises:
        Refusal: the text is not YAML, or writes the entry in a form that cannot be edited by itself.
    """
    before = load(text)
    path = _path(text, keys)
    if len(path) <= len(keys):
        return text
    parent, found = path[-2].value, path[-1]
    edit = _without_flow(text, found) if parent.flow_style else _without_lines(text, found)
    return _proved(edit, _dropped(before, keys))


def find(value: Any, keys: Keys) -> Any:
    """What stands under the keys; an item of a list is found by its name. None where there is nothing."""
    for key in keys:
        if isinstance(value, list):
            value = next((item for item in value if isinstance(item, dict) and item.get("name") == key), None)
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


# Where things stand


@dataclass(frozen=True, slots=True)
class _Place:
    """A value in the text. `start` is where its key begins, or itself where it has none; `key_end` ends the key."""

    value: yaml.Node
    start: int
    key_end: int


def _path(text: str, keys: Keys) -> list[_Place]:
    """The places from the root along the keys, as far as there are any; none in a blank text."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return []
    path = [_Place(root, root.start_mark.index, root.start_mark.index)]
    for key in keys:
        below = _child(path[-1].value, key)
        if below is None:
            break
        path.append(below)
    return path


def _child(node: yaml.Node, key: str) -> _Place | None:
    found: list[_Place] = []
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if isinstance(name, yaml.ScalarNode) and name.value == key:
                found.append(_Place(value, name.start_mark.index, name.end_mark.index))
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            named = _child(item, "name") if isinstance(item, yaml.MappingNode) else None
            if named and named.value.value == key:
                found.append(_Place(item, item.start_mark.index, item.start_mark.index))
    if len(found) > 1:
        raise Refusal(f"{key} is there twice")
    return found[0] if found else None


def _end(node: yaml.Node) -> int:
    """Where the text of a value ends. PyYAML ends a block after the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


# Changes


def _inserted(text: str, keys: Keys, path: list[_Place], wanted: Any, listed: bool) -> str:
    parent = path[-1] if path else None
    rest = keys[len(path) - 1 :] if path else keys
    newline = "\r\n" if "\r\n" in text else "\n"
    if parent is None or len(path) == 1:
        if parent is not None and parent.value.flow_style:
            return _into_flow(text, parent.value, rest, wanted, listed)
        indent = parent.value.start_mark.column if parent else 0
        gap = "" if not text.removeprefix("\ufeff") or text.endswith("\n") else newline
        return text + gap + _lines(_chain(rest, wanted, listed), indent, newline)
    value = parent.value
    empty = isinstance(value, yaml.ScalarNode) and value.tag == "tag:yaml.org,2002:null"
    if isinstance(value, yaml.CollectionNode) and value.flow_style:
        return _into_flow(text, value, rest, wanted, listed)
    if empty and value.start_mark.index != value.end_mark.index:
        flow = json.dumps(_chain(rest, wanted, listed), ensure_ascii=False)
        return text[: value.start_mark.index] + flow + text[value.end_mark.index :]
    if not empty and not isinstance(value, yaml.CollectionNode):
        raise Refusal(f"{keys[len(path) - 2]} is neither a mapping nor a list")
    indent = _column(text, parent.start) + 2 if empty else value.start_mark.column
    at = _line_end(text, parent.key_end)
    gap = "" if text[:at].endswith("\n") else newline
    return text[:at] + gap + _lines(_chain(rest, wanted, listed), indent, newline) + text[at:]


def _into_flow(text: str, node: yaml.Node, rest: Keys, wanted: Any, listed: bool) -> str:
    shown = json.dumps(_chain(rest, wanted, listed), ensure_ascii=False)[1:-1]
    at = node.start_mark.index + 1
    return text[:at] + shown + (", " if node.value else "") + text[at:]


def _replaced(text: str, keys: Keys, node: yaml.Node, wanted: Any) -> str:
    if isinstance(node, yaml.MappingNode) and isinstance(wanted, dict):
        known = find(load(text), keys)
        for key in [*known, *(key for key in wanted if key not in known)]:
            one = (*keys, key)
            text = set_entry(text, one, wanted[key]) if key in wanted else drop_entry(text, one)
        return text
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        raise Refusal(_OTHER_FORM)
    shown = json.dumps(wanted, ensure_ascii=False) if isinstance(wanted, dict | list) else _scalar(wanted)
    start, end = node.start_mark.index, node.end_mark.index
    return text[:start] + (" " if start == end else "") + shown + text[end:]


def _without_lines(text: str, found: _Place) -> str:
    line, end = text.rfind("\n", 0, found.start) + 1, _end(found.value)
    if text[line : found.start].strip(" \t\ufeff") and not _DASH.fullmatch(text[line : found.start]):
        raise Refusal(_OTHER_FORM)
    after = end if text[:end].endswith("\n") else _line_end(text, end)
    mark = "\ufeff" if text.startswith("\ufeff") and line == 0 else ""
    return text[:line] + mark + text[after:]


def _without_flow(text: str, found: _Place) -> str:
    end = _end(found.value)
    after = _COMMA_AFTER.match(text, end)
    if after:
        return text[: found.start] + text[after.end() :]
    return _COMMA_BEFORE.sub("", text[: found.start]) + text[end:]


def _line_end(text: str, at: int) -> int:
    """Behind the end of the line."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _column(text: str, at: int) -> int:
    return at - (text.rfind("\n", 0, at) + 1) - (1 if text.startswith("\ufeff") and "\n" not in text[:at] else 0)


# Texts of new entries


def _chain(keys: Keys, wanted: Any, listed: bool) -> Any:
    """The value below the place where the first of the keys is missing."""
    if not keys:
        return wanted
    if len(keys) == 1:
        return [wanted] if listed else {keys[0]: wanted}
    return {keys[0]: _chain(keys[1:], wanted, listed)}


def _lines(value: Any, indent: int, newline: str) -> str:
    pad = " " * indent
    if isinstance(value, list):
        items = [_lines(item, indent + 2, newline) for item in value]
        return "".join(f"{pad}- {item.removeprefix(pad + '  ')}" for item in items)
    shown = ""
    for key, one in value.items():
        items = one if isinstance(one, list) else []
        deeper = (isinstance(one, dict) and one) or any(isinstance(item, dict) for item in items)
        below = newline + _lines(one, indent + 2, newline) if deeper else f" {_scalar(one)}{newline}"
        shown += f"{pad}{_scalar(key)}:{below}"
    return shown


def _scalar(value: Any) -> str:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    plain = isinstance(value, str) and _PLAIN.fullmatch(value) and yaml.safe_load(value) == value
    return str(value) if plain else json.dumps(value, ensure_ascii=False)


# What the result must read as


def _proved(text: str, expected: Any) -> str:
    try:
        after = load(text)
    except Refusal:
        raise Refusal(_OTHER_FORM) from None
    if not _read_alike(after, expected):
        raise Refusal(_OTHER_FORM)
    return text


def _read_alike(left: Any, right: Any) -> bool:
    return bool(_plain_form(left) == _plain_form(right))


def _plain_form(value: Any) -> Any:
    """For comparing: 1, 1.0 and true differ, the order of keys does not count, and nothing is nothing."""
    if isinstance(value, dict) and value:
        return sorted((repr(key), _plain_form(item)) for key, item in value.items() if not _is_empty(item))
    if isinstance(value, list) and value:
        return [_plain_form(item) for item in value]
    return "" if _is_empty(value) else repr(value)


def _is_empty(value: Any) -> bool:
    return value is None or value == {} or value == []


def _put(value: Any, keys: Keys, new: Any, listed: bool) -> Any:
    if not keys:
        return new
    if isinstance(value, list) or (listed and len(keys) == 1 and _is_empty(value)):
        items, known = value or [], find(value or [], keys[:1])
        if known is None:
            return [_put(None, keys[1:], new, listed), *items]
        return [_put(item, keys[1:], new, listed) if item is known else item for item in items]
    if not _is_empty(value) and not isinstance(value, dict):
        raise Refusal(f"what {keys[0]} would be in is not a mapping")
    value = value or {}
    return {**value, keys[0]: _put(value.get(keys[0]), keys[1:], new, listed)}


def _dropped(value: Any, keys: Keys) -> Any:
    if isinstance(value, list):
        known = find(value, keys[:1])
        if not keys[1:]:
            return [item for item in value if item is not known]
        return [_dropped(item, keys[1:]) if item is known else item for item in value]
    if not keys[1:]:
        return {key: item for key, item in value.items() if key != keys[0]}
    return {**value, keys[0]: _dropped(value[keys[0]], keys[1:])}
