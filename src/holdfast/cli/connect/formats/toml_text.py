"""Add, change and remove one TOML table in a text, leaving every other byte as it is.

tomlkit reads and writes the table. It counts comments above the next header to the table before them, so what stands
after our last value is cut off first and put back; and it has had defects with tables out of order. So the result
is checked: tomllib must read the wanted values out of it, and all bytes around our table must be the same.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import tomlkit
from tomlkit.container import Container
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Comment, Item, Key as Name, Null, Table, Whitespace

from holdfast.cli.connect.formats.refusal import Refusal

Key = tuple[str, ...]
Body = list[tuple[Name | None, Item]]

_BOM = "\ufeff"
_MARK = "\0\n"  # stands where our table was; no TOML text has it. Its line end keeps tomlkit from adding one
_OURS = r"[ \t]*[^\s#](?s:.*)"  # begins with a header or a key, not with an empty line or a comment
_OTHER_FORM = "the table is written in a form that cannot be edited separately"


def load(text: str) -> dict[str, Any]:
    """The tables in the text.

    Raises:
        Refusal: the text is not TOML.
    """
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at line \d+", str(error))
        raise Refusal(f"it is not valid TOML ({place.group() if place else 'at the end'})") from None


def set_table(text: str, table: Key, wanted: dict[str, Any]) -> str:
    """The text with exactly the wanted keys in the table; new tables go to the end of the file.

    Raises:
        Refusal: the text is not TOML, or writes the table in a form that cannot be edited by itself.
    """
    before = load(text)
    expected = _put(before, table, wanted)
    if before == expected:
        return text
    known = _get(before, table)
    if known is None:
        return _proved(_appended(text, table, wanted), expected)
    after, pieces = _edited(text, table, known, wanted), _around(text, table)
    if not (_holds(text, pieces) and _holds(after, pieces)):
        raise Refusal(_OTHER_FORM)
    return _proved(after, expected)


def drop_table(text: str, table: Key) -> str:
    """The text without the table and everything below it.

    Raises:
        Refusal: the text is not TOML, or writes the table inside another value.
    """
    before = load(text)
    if _get(before, table) is None:
        return text
    pieces = _around(text, table)
    if not _holds(text, pieces):
        raise Refusal(_OTHER_FORM)
    return _proved("".join([*map(_without_gap, pieces[:-1]), pieces[-1]]), _drop(before, table))


def _proved(text: str, expected: dict[str, Any]) -> str:
    try:
        after = load(text)
    except Refusal:
        after = {}
    if _full(after) != _full(expected):
        raise Refusal(_OTHER_FORM)
    return text


def _holds(text: str, pieces: list[str]) -> bool:
    """Whether the text is these pieces, every byte of them, with a table of ours between each two."""
    return re.fullmatch(_OURS.join(map(re.escape, pieces)), text) is not None


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        document = tomlkit.parse(text.removeprefix(_BOM))
        if document.as_string() == text.removeprefix(_BOM):
            return document
    except TOMLKitError:  # it refuses some valid texts with tables out of order
        pass
    raise Refusal(_OTHER_FORM)


def _appended(text: str, table: Key, wanted: dict[str, Any]) -> str:
    newline = _newline(text)
    ours = tomlkit.table()
    for key, value in wanted.items():
        ours.add(key, _item(value, "\n"))
    gap = "" if not text or text.endswith("\n") else newline
    blank = newline if text.strip() else ""
    return text + gap + blank + f"[{'.'.join(table)}]\n{ours.as_string()}".replace("\n", newline)


def _edited(text: str, table: Key, known: dict[str, Any], wanted: dict[str, Any]) -> str:
    document = _parsed(text)
    found = [body[at][1] for body, at in _places(document, table)]
    ours = found[0] if len(found) == 1 else None
    if not isinstance(ours, Table) or ours.is_super_table():
        raise Refusal("the table is written inside another value")
    after = _cut_trivia(ours.value.body)
    for key in {**known, **wanted}:
        if key in wanted and known.get(key) == wanted[key]:
            continue
        if isinstance(ours.get(key), Table | AoT):
            raise Refusal(_OTHER_FORM)
        if key not in wanted:
            ours.remove(key)
        elif key in known:
            ours[key] = _item(wanted[key], _newline(text))
        else:
            ours.add(key, _item(wanted[key], _newline(text)))
    ours.value.body.extend(after)
    return (_BOM if text.startswith(_BOM) else "") + document.as_string()


def _around(text: str, table: Key) -> list[str]:
    """The text before, between and after the places where the table is written."""
    document = _parsed(text)
    for body, at in list(_places(document, table)):
        item = body[at][1]
        after = "".join(one.as_string() for _, one in _cut_trivia(_last_body(item))) if isinstance(item, Table) else ""
        body[at] = (None, tomlkit.ws(_MARK + after))
    return ((_BOM if text.startswith(_BOM) else "") + document.as_string()).split(_MARK)


def _places(container: Container, table: Key) -> Iterator[tuple[Body, int]]:
    """Where the table is written, as places in the list of statements; several where it is out of order."""
    for at, (key, item) in enumerate(container.body):
        if key is None or key.key != table[0]:
            continue
        if not table[1:]:
            yield container.body, at
        elif isinstance(item, Table):
            yield from _places(item.value, table[1:])


def _last_body(table: Table) -> Body:
    """The statements of the table, or of the last one that is written below it."""
    last = next((item for _, item in reversed(table.value.body) if not isinstance(item, Null)), None)
    if isinstance(last, AoT) and last.body:
        last = last.body[-1]
    return _last_body(last) if isinstance(last, Table) else table.value.body


def _cut_trivia(body: Body) -> Body:
    """Take off the empty lines and comments after the last value: they belong to what follows."""
    end = len(body)
    while end and isinstance(body[end - 1][1], Whitespace | Comment):
        end -= 1
    cut = body[end:]
    del body[end:]
    return cut


def _without_gap(text: str) -> str:
    """Without the empty line that connect puts before its header."""
    gap = next((gap for gap in ("\r\n\r\n", "\n\n") if text.endswith(gap)), "")
    return text[: len(text) - len(gap) // 2]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _item(value: Any, newline: str) -> Item:
    """The value in one line."""
    if isinstance(value, dict):
        item: Item = tomlkit.inline_table()
        item.update({key: _item(one, "") for key, one in value.items()})  # type: ignore[attr-defined]
    else:
        item = tomlkit.item(value)
    item.trivia.trail = newline
    return item


def _get(value: Any, table: Key) -> dict[str, Any] | None:
    for name in table:
        value = value.get(name) if isinstance(value, dict) else None
    if value is not None and not isinstance(value, dict):
        raise Refusal(f"{'.'.join(table)} is not a table")
    return value


def _put(value: Any, table: Key, new: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refusal(f"the table above {table[-1]} is not a table")
    below = _put(value.get(table[0], {}), table[1:], new) if table[1:] else new
    return {**value, table[0]: below}


def _drop(value: dict[str, Any], table: Key) -> dict[str, Any]:
    if not table[1:]:
        return {name: item for name, item in value.items() if name != table[0]}
    return {**value, table[0]: _drop(value[table[0]], table[1:])}


def _full(value: dict[str, Any]) -> dict[str, Any]:
    """Without empty top-level tables: a header with nothing below it means the same as no header."""
    return {name: item for name, item in value.items() if item != {}}
