"""Records of every table, made from the tables' own types: a new table or column needs no change here."""

from __future__ import annotations

import dataclasses
import types
import typing
from functools import cache
from typing import Any

from hypothesis import strategies as st

from holdfast.core.model import EVERYBODY
from holdfast.store.port import Store, Table, Tx
from holdfast.store.tables import TABLES

TENANT = "acme"
OTHER = "acme2"

# A memory that says nothing beside its content.
SILENT: dict[str, Any] = {"subject": "", "entities": (), "topics": (), "disclosure": ""}

_FIXED = ("tenant", "id", "seq")

# What no store can keep is refused before it arrives: NUL and half a surrogate pair.
TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=40)
INTS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.dictionaries(TEXTS, st.none() | st.booleans() | INTS | TEXTS | st.lists(TEXTS, max_size=3), max_size=3)


def table_named(name: str) -> Table[Any]:
    return next(table for table in TABLES if table.name == name)


@cache
def columns_of(table: Table[Any]) -> dict[str, tuple[Any, bool]]:
    """Each column's plain type, and whether it may be empty."""
    hints = typing.get_type_hints(table.record)
    return {field.name: _plain(hints[field.name]) for field in dataclasses.fields(table.record)}


def _plain(hint: Any) -> tuple[Any, bool]:
    optional = isinstance(hint, types.UnionType)
    if optional:
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    return typing.get_origin(hint) or hint, optional


def sample(table: Table[Any], id: str = "one", seq: int = 1, *, tenant: str = TENANT, **changes: Any) -> Any:
    """A record with something in every column."""
    made: dict[str, Any] = {
        str: lambda name: f"{name} of {id}",
        int: lambda name: 1_700_000_000_000 + seq,
        float: lambda name: 0.5,
        bool: lambda name: True,
        tuple: lambda name: (f"{name} first", f"{name} second"),
        dict: lambda name: {name: {"deep": [1, None, "x"]}},
    }
    values = {name: made[plain](name) for name, (plain, _) in columns_of(table).items()}
    if "audience" in values:
        values["audience"] = (EVERYBODY,)  # what only some may see is told to nobody else
    return table.record(**{**values, "tenant": tenant, "id": id, "seq": seq, **changes})


def add(store: Store, table: Table[Any], id: str = "one", *, tenant: str = TENANT, **changes: Any) -> Any:
    """Store a sample under the next sequence number; the record as it was stored."""

    def job(tx: Tx) -> Any:
        record = sample(table, id, tx.next_seq(tenant), tenant=tenant, **changes)
        tx.add(table, record)
        return record

    return store.write(job)


def values_of(plain: Any) -> st.SearchStrategy[Any]:
    return {
        str: TEXTS,
        int: INTS,
        float: FLOATS,
        bool: st.booleans(),
        tuple: st.lists(TEXTS, max_size=3).map(tuple),
        dict: JSON,
    }[plain]


@st.composite
def any_record(draw: st.DrawFn, table: Table[Any]) -> Any:
    """A record of the table with any values its types allow; tenant, id and seq are the sample's."""
    drawn = {}
    for name, (plain, optional) in columns_of(table).items():
        if name not in (*_FIXED, "audience"):
            strategy = values_of(plain)
            drawn[name] = draw(st.none() | strategy if optional else strategy)
    return sample(table, **drawn)
