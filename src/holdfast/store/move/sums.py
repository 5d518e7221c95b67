"""Counts and checksums of all that a tenant has, the same for every engine.

Numbers of records are left out: a store that keeps many tenants in one order may give later ones. Their order is in the
checksum, as rows are read in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import orjson

from holdfast.store.move.move_port import Rows
from holdfast.store.rows import shape_of
from holdfast.store.tables import TABLES

# By table: how many rows there are, and a checksum of all of them.
Sums = dict[str, tuple[int, str]]

# Beside the records: what is in each table, and its order.
_OTHERS = {"recalls": (("count", "at"), "seq"), "events": (("agent", "kind", "body"), "place")}


def sums_of(store: Rows, tenant: str) -> Sums:
    """Of the tables that have rows."""
    found = {}
    for table in TABLES:
        kept = tuple(name for name in shape_of(table).columns if name != "seq")
        found[table.name] = _sum(store.rows(tenant, table.name, kept, "seq"))
    for name, (columns, order) in _OTHERS.items():
        found[name] = _sum(store.rows(tenant, name, columns, order))
    found["vectors"] = _sum(
        (one.model, one.hash.hex(), one.numbers.astype("<f2").tobytes().hex()) for one in store.vectors(tenant)
    )
    return {name: one for name, one in found.items() if one[0]}


def _sum(rows: Iterable[tuple[Any, ...]]) -> tuple[int, str]:
    total, count = blake2b(digest_size=16), 0
    for row in rows:
        total.update(orjson.dumps(row) + b"\n")
        count += 1
    return count, total.hexdigest()
