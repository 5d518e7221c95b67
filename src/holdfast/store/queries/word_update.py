"""Words of records that an earlier version stored are written anew, as this version cuts them.

An index of an earlier version answers and verifies as it is: it only lacks the words by which names in code are also
found. The background work of a server adds them, some records at a time; `verify --repair-index` does it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

from holdfast.core.model import Note
from holdfast.store.port import Store, Table, Tx
from holdfast.store.tables import MEMORIES, NOTES, OBSERVATIONS

VERSION = "2"
KIND = "word_index"
BATCH = 200  # records in one transaction
# Of fewer records no note is kept: reading them all takes some milliseconds.
NOTED = 200


def update_words(store: Store, tenant: str, now: int, stop: Callable[[], bool] = lambda: False) -> int:
    """Bring the words of a tenant's records to this version; how many records may have changed. A memory that was
    looked through is noted as such; one that was left in between is begun again."""
    reader = store.read()
    known = reader.get(NOTES, tenant, KIND)
    if known is not None and known.content == VERSION:
        return 0
    looked = changed = 0
    for table in _tables():
        records = reader.each(table, tenant)
        while some := list(islice(records, BATCH)):
            if stop():
                return changed
            looked += len(some)
            named = [one.id for one in some if table.index is not None and table.index(one).codes]
            if named:
                store.write(partial(_again, tenant=tenant, table=table, ids=named))
                changed += len(named)
    if looked >= NOTED:
        store.write(partial(_note, tenant=tenant, now=now))
    return changed


def _tables() -> Iterator[Table[Any]]:
    yield MEMORIES
    yield OBSERVATIONS


def _again(tx: Tx, tenant: str, table: Table[Any], ids: list[str]) -> None:
    for id in ids:
        record = tx.get(table, tenant, id)
        if record is not None:
            tx.index_again(table, record)


def _note(tx: Tx, tenant: str, now: int) -> None:
    tx.replace(NOTES, Note(tenant, KIND, tx.next_seq(tenant), KIND, VERSION, now))
