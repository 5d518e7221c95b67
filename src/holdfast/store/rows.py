"""Records as rows: encoding by the record's types, and the checksum that every row carries."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any

import orjson
from xxhash import xxh3_64_intdigest

from holdfast.store.port import Table

Row = tuple[Any, ...]

KEYS = ("tenant", "id", "seq")  # with which every record begins; a test holds it to that


def _list_text(value: Any) -> str:
    return orjson.dumps(list(value)).decode() if value else "[]"


def _dict_text(value: Any) -> str:
    return orjson.dumps(value).decode()


def _tuple(text: str) -> tuple[Any, ...]:
    return tuple(orjson.loads(text))


_Codec = tuple[Callable[[Any], Any] | None, Callable[[Any], Any] | None]

# SQLite gives back exactly what STRICT columns took, so a value must have its column's type before it is
# checksummed: 7 in a REAL column would come back as 7.0.
_CODECS: dict[Any, _Codec] = {
    str: (None, None),
    int: (int, None),
    float: (float, None),
    bool: (int, bool),
    tuple: (_list_text, _tuple),
    dict: (_dict_text, orjson.loads),
}
_TEXTS = (str, tuple, dict)
_SAME: dict[Any, type[Any]] = {int: int, float: float}


@dataclasses.dataclass(frozen=True)
class RowCodec:
    """How a table's records become rows and back."""

    table: str
    columns: tuple[str, ...]
    writers: tuple[tuple[int, Callable[[Any], Any], type[Any] | None], ...]  # with the type that needs no writing
    readers: tuple[tuple[int, Callable[[Any], Any]], ...]
    floats: tuple[int, ...]  # columns that hold them
    texts: tuple[int, ...]  # columns of text, but for the tenant's name
    record: type[Any]
    values_of: Callable[[Any], Row]

    def encode(self, record: Any) -> list[Any]:
        """The row's values in column order, without the checksum."""
        values = list(self.values_of(record))
        for at, write, plain in self.writers:
            value = values[at]
            if value is not None and type(value) is not plain:
                values[at] = write(value)
        return values

    def decode(self, row: Row) -> Any:
        """The record of a row whose last value, the checksum, is ignored."""
        values = list(row[: len(self.columns)])
        for at, read in self.readers:
            if values[at] is not None:
                values[at] = read(values[at])
        return self.record(*values)

    def is_sound(self, row: Row) -> bool:
        """Whether a row, whose last value is its checksum, is as it was written."""
        try:
            return bool(self.checksum(row[:-1]) == row[-1])
        except (TypeError, ValueError):  # bytes or bad UTF-8 where text was
            return False

    def checksum(self, values: list[Any] | Row) -> int:
        """64 bits over the table's name and every value; signed, as SQLite keeps integers."""
        return row_checksum(self._bytes(values))

    def text_bytes(self, values: list[Any] | Row) -> int:
        """How long the row's text is in UTF-8."""
        found = [values[at] for at in self.texts]
        return sum(len(one) if one.isascii() else len(one.encode()) for one in found if one)

    def content_hash(self, record: Any) -> str:
        """256 bits over the table's name and every value but tenant, id and seq, as hexadecimal text."""
        return blake2b(self._bytes(self.encode(record), len(KEYS)), digest_size=32).hexdigest()

    def _bytes(self, values: list[Any] | Row, skipped: int = 0) -> bytes:
        # JSON has no endless numbers: orjson would write both as null. And SQLite gives back 0.0 for -0.0.
        for at in self.floats:
            if type(values[at]) is float and (values[at] == 0 or values[at] - values[at] != 0):
                plain = repr(values[at]) if values[at] else 0.0
                values = [*values[:at], plain, *values[at + 1 :]]
        return orjson.dumps([self.table, *values[skipped:]])


WRAP = 1 << 64


def signed64(value: int) -> int:
    """The value modulo 2^64, as SQLite's signed integer."""
    value %= WRAP
    return value - WRAP if value >= WRAP >> 1 else value


def row_checksum(text: bytes) -> int:
    """Against damage, not against an attacker who can write to the database and so compute any checksum anew. So it is
    the quickest one that misses nothing by chance; a cryptographic one takes a third of the time of a restore."""
    return signed64(xxh3_64_intdigest(text))


@cache
def shape_of(table: Table[Any]) -> RowCodec:
    hints = typing.get_type_hints(table.record)
    names = tuple(field.name for field in dataclasses.fields(table.record))
    codecs = [_CODECS[_plain(hints[name])] for name in names]
    return RowCodec(
        table=table.name,
        columns=names,
        writers=tuple((at, codec[0], _SAME.get(codec[0])) for at, codec in enumerate(codecs) if codec[0]),
        readers=tuple((at, codec[1]) for at, codec in enumerate(codecs) if codec[1]),
        floats=tuple(at for at, name in enumerate(names) if _plain(hints[name]) is float),
        texts=tuple(at for at, name in enumerate(names) if name != "tenant" and _plain(hints[name]) in _TEXTS),
        record=table.record,
        values_of=attrgetter(*names),
    )


def _plain(hint: Any) -> Any:
    """str for str | None, tuple for tuple[str, ...], dict for Json."""
    if isinstance(hint, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    return typing.get_origin(hint) or hint
