"""Conditions as SQL. Values are always bound, and names must be columns of the table.

What was made is kept: a short list takes 1.4 times as long without (bench/mechanisms.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson

from holdfast.store.port import Condition, Table
from holdfast.store.rows import RowCodec, shape_of

_VALUELESS = {"is null": "IS NULL", "not null": "IS NOT NULL"}
_FORMS = {
    "in": "{0} = ANY(%s)",
    "has": "EXISTS (SELECT 1 FROM jsonb_array_elements_text({0}::jsonb) AS one WHERE one = %s)",
    # Most lists have one member, which is compared without reading the list.
    "any": "({0} = ANY(%s::text[]) OR EXISTS (SELECT 1 FROM jsonb_array_elements_text({0}::jsonb) AS one "
    "WHERE one = ANY(%s::text[])))",
    "until": "({0} IS NULL OR {0} > %s)",
    "!=": "{0} IS DISTINCT FROM %s",
}


def clause(table: Table[Any], space: int, conditions: Sequence[Condition], prefix: str = "") -> tuple[str, list[Any]]:
    """The WHERE clause of records of a space that meet all conditions, and its values."""
    values: list[Any] = [space]
    for one in conditions:
        values += _values(one)
    shapes = tuple((one.column, "never" if _is_empty(one) else one.op) for one in conditions)
    return _where(table, shapes, prefix), values


def _is_empty(one: Condition) -> bool:
    return one.op in ("in", "any") and not len(one.value)


def _values(one: Condition) -> list[Any]:
    if one.op in _VALUELESS or _is_empty(one):
        return []
    if one.op == "in":
        return [[_plain(value) for value in one.value]]
    if one.op == "any":
        return [[orjson.dumps([value]).decode() for value in one.value], list(one.value)]
    return [_plain(one.value)]


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


@lru_cache(maxsize=512)
def _where(table: Table[Any], conditions: tuple[tuple[str, str], ...], prefix: str) -> str:
    columns = shape_of(table).columns
    parts = [f"{prefix}space = %s"]
    for column, op in conditions:
        if column not in columns:
            raise KeyError(f"{table.name} has no column {column}")
        name = f"{prefix}{column}"
        if op == "never":
            parts.append("false")
        elif op in _VALUELESS:
            parts.append(f"{name} {_VALUELESS[op]}")
        else:
            parts.append(_FORMS.get(op, "{0} " + op + " %s").format(name))
    return " AND ".join(parts)


def order_by(shape: RowCodec, order: str) -> str:
    """The ORDER BY of a column, with a minus for descending. seq settles ties, so that pages neither repeat nor skip a
    record; what is empty comes first, as in SQLite."""
    column = order.removeprefix("-")
    if column not in shape.columns:
        raise KeyError(f"{shape.table} has no column {column}")
    direction = "DESC NULLS LAST" if order.startswith("-") else "ASC NULLS FIRST"
    return f"{column} {direction}" if column == "seq" else f"{column} {direction}, seq {direction}"


@lru_cache(maxsize=64)
def columns_of(table: Table[Any], prefix: str = "") -> str:
    return ", ".join(f"{prefix}{column}" for column in (*shape_of(table).columns, "checksum"))
