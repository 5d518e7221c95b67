"""Canonical JSON: one value has exactly one encoding, and only that encoding is read.

Keys in the order of their code points, no spaces, UTF-8 without needless escapes, integers of 64 bits and no floats.
Written again, what was read must give the same bytes: that alone refuses doubled keys, other orders, other escapes,
`1.0`, `-0`, spaces, and bytes that are not UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

MOST_BYTES = 64 * 1024 * 1024
MOST_DEPTH = 16

# 200,000 members and as many files that were redacted and left need 1.8 million values and 400,000 objects. Signs in
# strings count as well: distinguishing them would cost more memory than it saves.
_MOST_VALUES = 3_000_000
_MOST_OPENED = 500_000  # objects and lists
_SLICE, _ROWS = 256 * 1024, 2_000  # of a long list at a time, read and written
_STRETCH = 64 * 1024  # more than the longest string that is written here


class Malformed(ValueError):
    """Bytes or a value that are not what they should be; the message names the place, never the content."""


def dumps(value: Any, *, newline: bool = False) -> bytes:
    """The one spelling of the value.

    Raises:
        Malformed: it holds something that has none: a float, a wide integer, half a surrogate pair, another type.
    """
    _check(value)
    option = orjson.OPT_SORT_KEYS | (orjson.OPT_APPEND_NEWLINE if newline else 0)
    try:
        return orjson.dumps(value, option=option)
    except TypeError as error:  # its text names the kind of value, not which one
        raise Malformed("a value has no canonical form") from error


def loads(data: bytes, *, newline: bool = False, most_bytes: int = MOST_BYTES) -> Any:
    """The value whose canonical spelling these bytes are.

    Raises:
        Malformed: they are not the canonical spelling of any value, or of one too large.
    """
    if len(data) > most_bytes:
        raise Malformed(f"more than {most_bytes} bytes of JSON")
    _check_weight(data)
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = Malformed  # raised below: the decoder's error holds the whole text and would be chained
    if value is Malformed:
        raise Malformed("not JSON")
    if dumps(value, newline=newline) != data:
        raise Malformed("the JSON is not in canonical form")
    return value


@dataclass(frozen=True, slots=True)
class LongList:
    """A list of objects that may have very many, by its key, the first key of each object, and the key after it.

    Canonical bytes let it be cut without reading strings: an unescaped quote never follows a brace inside of one.
    """

    key: bytes
    first: bytes
    after: bytes

    def cut(self, data: bytes) -> tuple[int, int] | None:
        """Where the objects begin and end; None if it is not there in this form, or empty."""
        begin = data.find(b'"%b":[{"%b":' % (self.key, self.first))
        end = data.find(b'}],"%b":' % self.after, begin)
        return (begin + len(self.key) + 4, end + 1) if 0 <= begin < end else None

    def pieces(self, data: bytes, start: int, end: int) -> Iterator[bytes]:
        """The objects as bytes, some thousands at a time."""
        joint = b'},{"%b":' % self.first
        while start < end:
            cut = data.find(joint, start + _SLICE, end) if end - start > _SLICE else -1
            stop = end if cut < 0 else cut + 1
            yield data[start:stop]
            start = stop + 1


def loads_long(data: bytes, long: LongList, *, newline: bool = False) -> tuple[Any, Iterator[Any]]:
    """The value as `loads` gives it, but with an empty list in the place of the long one, and the objects of that one
    by one: all of them at once would take five times the bytes.

    Raises:
        Malformed: as `loads`, also while the objects are taken.
    """
    where = long.cut(data)
    if where is None or len(data) > MOST_BYTES:
        value = loads(data, newline=newline)
        return value, _taken_out(value, long)
    _check_weight(data)
    start, end = where
    return loads(data[:start] + data[end:], newline=newline), _objects(data, long, start, end)


def _taken_out(value: Any, long: LongList) -> Iterator[Any]:
    key = long.key.decode()
    rows = value.get(key) if type(value) is dict else None
    if type(rows) is not list:
        return iter(())
    value[key] = []
    return iter(rows)


def _objects(data: bytes, long: LongList, start: int, end: int) -> Iterator[Any]:
    for piece in long.pieces(data, start, end):
        yield from loads(b"[%b]" % piece)


def dumps_long(value: dict[str, Any], long: LongList, rows: Iterable[Any], *, newline: bool = False) -> bytes:
    """The one spelling of the value with these objects in the place of its empty list.

    Raises:
        Malformed: as `dumps`.
    """
    around = dumps(value, newline=newline)
    begin = around.find(b'"%b":[]' % long.key)
    if begin < 0:
        raise Malformed("the long list has no place")
    begin += len(long.key) + 4
    objects, rest = [], iter(rows)
    while some := list(islice(rest, _ROWS)):
        objects.append(dumps(some)[1:-1])
    return b"".join((around[:begin], b",".join(objects), around[begin:]))


def _check_weight(data: bytes) -> None:
    """Before parsing: 64 MB of "[],[]," would become 21 million lists, and a string of 64 MB be kept three times."""
    opened = data.count(b"{") + data.count(b"[")
    if opened > _MOST_OPENED or opened + data.count(b",") > _MOST_VALUES:
        raise Malformed("too many values of JSON")
    for start in range(0, len(data) - _STRETCH, _STRETCH):
        if data.find(b'"', start, start + _STRETCH) < 0:
            raise Malformed("a value of JSON that is too long")


def _check(value: Any) -> None:
    """Level by level instead of by recursion: the depth is the sender's choice."""
    level = [value]
    for _ in range(MOST_DEPTH):
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return
    raise Malformed(f"JSON nested more than {MOST_DEPTH} deep")


def _inside(value: Any) -> Iterator[Any]:
    kind = type(value)
    if kind is dict:
        if not all(type(key) is str for key in value):
            raise Malformed("a key is not a string")
        yield from value.values()
    elif kind is list:
        yield from value
    elif value is not None and kind not in (str, int, bool):
        raise Malformed("a value is neither text, a whole number, true, false nor null")


class Fields:
    """One JSON object read field by field: each has its type and range, and none may be left over."""

    def __init__(self, value: Any, name: str):
        self._name = name
        if type(value) is not dict:
            raise Malformed(f"{name} is not an object")
        self._left: dict[str, Any] = dict(value)

    def take(self, key: str) -> Any:
        if key not in self._left:
            raise Malformed(f"{self._name} has no {key}")
        return self._left.pop(key)

    def text(self, key: str, pattern: re.Pattern[str] | None = None, most: int = 1024) -> str:
        value = self.take(key)
        if type(value) is not str or len(value) > most or "\0" in value:
            raise self._wrong(key)
        if pattern and not pattern.fullmatch(value):
            raise self._wrong(key)
        return value

    def text_or_none(self, key: str, pattern: re.Pattern[str] | None = None, most: int = 1024) -> str | None:
        if self._left.get(key, "") is None:
            self.take(key)
            return None
        return self.text(key, pattern, most)

    def number(self, key: str, lowest: int = 0, highest: int = 2**63 - 1) -> int:
        value = self.take(key)
        if type(value) is not int or not lowest <= value <= highest:
            raise self._wrong(key)
        return value

    def flag(self, key: str) -> bool:
        value = self.take(key)
        if type(value) is not bool:
            raise self._wrong(key)
        return value

    def items(self, key: str, most: int) -> list[Any]:
        value = self.take(key)
        if type(value) is not list or len(value) > most:
            raise self._wrong(key)
        return value

    def texts(self, key: str, most: int, pattern: re.Pattern[str] | None = None) -> tuple[str, ...]:
        values = self.items(key, most)
        if any(type(one) is not str or (pattern and not pattern.fullmatch(one)) for one in values):
            raise self._wrong(key)
        return tuple(values)

    def pairs(self, key: str, kind: type[int] | type[str], most: int = 1024) -> tuple[tuple[str, Any], ...]:
        """An object of one kind of values, as pairs in the order of their keys."""
        value = self.take(key)
        if type(value) is not dict or len(value) > most:
            raise self._wrong(key)
        if any(type(one) is not kind for one in value.values()):
            raise self._wrong(key)
        return tuple(sorted(value.items()))

    def counts(self, key: str, most: int = 1024) -> tuple[tuple[str, int], ...]:
        found = self.pairs(key, int, most)
        if any(count < 0 for _, count in found):
            raise self._wrong(key)
        return found

    def inner(self, key: str) -> Fields:
        return Fields(self.take(key), key)

    def end(self) -> None:
        if self._left:
            raise Malformed(f"{self._name} has unknown fields")

    def _wrong(self, key: str) -> Malformed:
        return Malformed(f"{key} of {self._name} has an invalid value")
