"""How many records have a vector of a model, of those that get one."""

from __future__ import annotations

from holdfast.store.port import Reader
from holdfast.store.tables import TABLES


def vectors_of(reader: Reader, tenant: str, model: str) -> tuple[int, int]:
    """Records with a vector, and all that are to have one."""
    done = reader.with_vector(tenant, model)
    return done, max(done, sum(reader.count(table, tenant) for table in TABLES if table.passage))
