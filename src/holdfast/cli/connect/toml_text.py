"""Add, change and remove one TOML table in a text, leaving every other byte as it is.

tomllib reads but does not write, and a writer would lose comments; so the text is cut into statements
and only ours are touched. Every result is read back with tomllib and must equal what was asked for.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from holdfast.cli.connect.refusal import Refusal

Key = tuple[str, ...]

_BLANK = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[ \t]*(?:#[^\n]*$)?")
_HEADER = re.compile(r"""\[\[?((?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\]"'\n])*)\]\]?""")
_KEY = re.compile(r"""((?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^="'\n])*)=[ \t]*""")
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|'  # the closing quotes of a multi-line string may follow one or two of its own
    r"'''.*?'{3,5}|"
    r'"(?:[^"\\\n]|\\.)*"|'
    r"'[^'\n]*'|"
    r"#[^\n]*|"
    r"[\[{]|[\]}]|\r?\n|.",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One header or one `key = value`; `table` is the header it stands under, `end` is after its line."""

    table: Key
    key: Key
    start: int
    value: int
    value_end: int
    end: int

    @property
    def is_header(self) -> bool:
        return not self.key


def load(text: str) -> dict[str, Any]:
    """The tables in the text.

    Raises:
        Refusal: the text is not TOML.
    """
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
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
    after = _appended(text, table, wanted) if known is None else _edited(text, table, known, wanted)
    return _proved(after, expected)


def drop_table(text: str, table: Key) -> str:
    """The text without the table and everything below it.

    Raises:
        Refusal: the text is not TOML, or writes the table inside another value.
    """
    before = load(text)
    if _get(before, table) is None:
        return text
    parts, at = [], 0
    for start, end in _spans(text, table):
        parts.append(text[at:start])
        at = end
    return _proved("".join([*parts, text[at:]]), _drop(before, table))


def _proved(text: str, expected: dict[str, Any]) -> str:
    try:
        after = load(text)
    except Refusal:
        after = {}
    if _full(after) != _full(expected):
        raise Refusal("the table is written in a form that cannot be changed by itself")
    return text


def _appended(text: str, table: Key, wanted: dict[str, Any]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(table)}]", *(f"{key} = {_shown(value)}" for key, value in wanted.items())]
    gap = "" if not text or text.endswith("\n") else newline
    blank = newline if text.strip() else ""
    return text + gap + blank + newline.join(lines) + newline


def _edited(text: str, table: Key, known: dict[str, Any], wanted: dict[str, Any]) -> str:
    parts = list(statements(text))
    header = next((part for part in parts if part.is_header and part.table == table), None)
    if header is None:
        raise Refusal("the table is written inside another value")
    pairs = {part.key[0]: part for part in parts if part.table == table and len(part.key) == 1}
    edits: list[tuple[int, int, str]] = []
    newline = "\r\n" if "\r\n" in text else "\n"
    for key in {**known, **wanted}:
        if key in wanted and known.get(key) == wanted[key]:
            continue
        pair = pairs.get(key)
        if key not in wanted and pair:
            edits.append((pair.start, pair.end, ""))
        elif key in wanted and pair:
            edits.append((pair.value, pair.value_end, _shown(wanted[key])))
        elif key in wanted:
            lead = "" if text[: header.end].endswith("\n") else newline
            edits.append((header.end, header.end, f"{lead}{key} = {_shown(wanted[key])}{newline}"))
    for start, end, new in sorted(edits, key=lambda edit: edit[0], reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _spans(text: str, table: Key) -> Iterator[tuple[int, int]]:
    """Whole lines of the statements that belong to the table, with the empty line before a header."""
    for part in statements(text):
        if (part.table + part.key)[: len(table)] != table:
            continue
        start = part.start
        if part.is_header:
            start -= next((len(gap) for gap in ("\r\n\r\n", "\n\n") if text[:start].endswith(gap)), 0) // 2
        yield start, part.end


def statements(text: str) -> Iterator[Statement]:
    """Every header and pair of a valid TOML text, in order."""
    at = 1 if text.startswith("\ufeff") else 0
    table: Key = ()
    while True:
        at = _past(_BLANK, text, at)
        if at >= len(text):
            return
        if header := _HEADER.match(text, at) if text[at] == "[" else None:
            table = _key(header.group(1))
            end = _value_end(text, header.end())[1]
            yield Statement(table, (), at, header.end(), header.end(), end)
        elif pair := _KEY.match(text, at):
            value_end, end = _value_end(text, pair.end())
            yield Statement(table, _key(pair.group(1)), at, pair.end(), value_end, end)
        else:
            raise Refusal("a statement could not be understood")
        at = end


def _value_end(text: str, at: int) -> tuple[int, int]:
    """Where the value that starts here ends, and where the line after it begins."""
    depth, last = 0, at
    for token in _TOKEN.finditer(text, at):
        word = token.group()
        if word in "[{":
            depth += 1
        elif word in "]}":
            depth -= 1
        elif word.endswith("\n") and not depth and len(word) <= 2:
            return last, token.end()
        if not word.isspace() and not word.startswith("#"):
            last = token.end()
    return last, len(text)


def _key(text: str) -> Key:
    """The parts of a dotted key; tomllib itself takes the quotes off."""
    found, value = [], tomllib.loads(f"{text.strip()} = 0")
    while isinstance(value, dict):
        ((name, value),) = value.items()
        found.append(name)
    return tuple(found)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_name(key)} = {_shown(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    # A JSON string is a TOML basic string, except that TOML wants DEL escaped as well.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _name(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _shown(key)


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


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
