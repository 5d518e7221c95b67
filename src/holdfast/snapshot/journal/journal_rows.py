"""Changes from a journal, applied to a store that no process uses yet: words, sketches, tallies and what waits for
vectors follow as with any other write."""

from __future__ import annotations

from typing import Any

from holdfast.core.errors import SnapshotDamaged
from holdfast.store.journal.journal_port import Changes, Values
from holdfast.store.port import Condition, Store, Table, Tx
from holdfast.store.rows import shape_of
from holdfast.store.tables import PLACE, TABLES

_TABLES = {table.name: table for table in TABLES if table not in PLACE}


def columns_of(table: str) -> tuple[str, ...]:
    """The columns of a table's rows in their order, without the checksum. Faults as of `apply_changes`."""
    return shape_of(_table(table)).columns


def apply_changes(store: Store, tenant: str, changes: Changes) -> None:
    """Let the tenant's rows be as the changes have them, in one transaction.

    Raises:
        SnapshotDamaged: a row does not match its checksum, or is of no table of this version, or another tenant's.
    """

    store.write(lambda tx: apply_rows(tx, tenant, changes))


def apply_rows(tx: Tx, tenant: str, changes: Changes) -> None:
    """The same as part of a write."""
    for name, numbers in changes.gone.items():
        for record in _known(tx, name, tenant, numbers):
            tx.delete(_table(name), tenant, record.id)
    for name, rows in changes.put.items():
        _put(tx, _table(name), tenant, rows)


def _put(tx: Tx, table: Table[Any], tenant: str, rows: Any) -> None:
    shape = shape_of(table)
    records = [shape.decode(_sound(table, tenant, row)) for row in rows]
    there = {one.id for one in tx.find(table, tenant, Condition("id", "in", [one.id for one in records]))}
    for record in records:
        if record.id in there:
            tx.replace(table, record)
        else:
            tx.add(table, record)
            there.add(record.id)


def _known(tx: Tx, name: str, tenant: str, numbers: Any) -> list[Any]:
    return tx.find(_table(name), tenant, Condition("seq", "in", list(numbers)))


def _table(name: str) -> Table[Any]:
    try:
        return _TABLES[name]
    except KeyError:
        raise SnapshotDamaged("journal: it has rows of an unknown table") from None


def _sound(table: Table[Any], tenant: str, row: Values) -> tuple[Any, ...]:
    found = tuple(row)
    shape = shape_of(table)
    if len(found) != len(shape.columns) + 1 or found[0] != tenant or not shape.is_sound(found):
        raise SnapshotDamaged(f"journal: a row of {table.name} does not match its checksum")
    return found
