"""A restored database made fit to become a generation: brought to this schema, checked, joined with what must be kept.

What belongs to the place, and the memory of other tenants, comes from the live store. It must take no writes for that:
whatever is written there afterwards is not in the new generation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from holdfast.core.errors import Conflict, DataDamaged
from holdfast.store.journal.journal_port import JournalPlace
from holdfast.store.sqlite.changes.change_rows import note_place
from holdfast.store.sqlite.database import migrate, open_writer
from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.files.copy_rows import (
    CHANGE_LOG,
    FAR,
    RECORDS,
    attach,
    copy_tenants,
    counter,
    drop_place,
    drop_tenants,
    has_others,
    has_table,
    open_private,
    other_tenants,
    set_counter,
    tally_again,
)
from holdfast.store.sqlite.files.derived_data import is_complete, make_derived
from holdfast.store.sqlite.files.rename_agent import rename_agent
from holdfast.store.sqlite.integrity import verify_pages, verify_records
from holdfast.store.tables import ACCESS

# A token that was revoked must not come back, an event not be published twice.
KEPT_HERE = (*(table.name for table in ACCESS), "events")


def prepare(
    restored: Path, tenant: str, *, agent: tuple[str, str] | None = None, own: bool = False
) -> tuple[tuple[tuple[str, int], ...], int]:
    """Make a restored file fit to become a generation, as far as that needs no live store: the tenant's rows by table,
    and how many of them have another agent now. It is thrown away if this fails, and not synced.

    `agent` is (old, new): records of the first become the second's. `own`: it is byte for byte what was captured here,
    so its pages and indexes were checked already.

    Raises:
        DataTooNew: a newer Holdfast wrote it.
        DataDamaged: it is not what was captured, or holds another tenant's memory.
    """
    db = open_private(restored)
    try:
        migrate(db)
        _check(db, restored, tenant, own)
        with as_faults(), db:
            drop_place(db)
            if not is_complete(db):  # the records are sound: an index that is not costs only the time to rebuild it
                make_derived(db)
            renamed = rename_agent(db, *agent) if agent else 0
            found: Any = [(name, db.execute(f"SELECT count(*) FROM {name}").get) for name in RECORDS]
        return tuple((name, count) for name, count in found if count), renamed
    finally:
        db.close()


def _check(db: apsw.Connection, path: Path, tenant: str, own: bool) -> None:
    """Every row and, of what was not captured here, every page."""
    found = verify_records(db) + ([] if own else verify_pages(db))
    if found:
        raise DataDamaged(
            f"restore: the snapshot's store is damaged ({found[0].table}: {found[0].message})",
            hint="Restore another snapshot. List them with: holdfast snapshot list",
            details={"findings": len(found)},
        )
    with as_faults():
        if has_others(db, tenant):
            raise DataDamaged("restore: the snapshot contains another tenant's memory")


def note_followed(restored: Path, tenant: str, place: JournalPlace) -> None:
    """Note which piece of another host's journal the file has."""
    db = open_private(restored)
    try:
        with as_faults(), db:
            note_place(db, tenant, place)
    finally:
        db.close()


def join(restored: Path, live: Path, tenant: str) -> int:
    """Take over from the live store what is not the tenant's memory; how many other tenants there are.

    Raises:
        Conflict: the file comes from elsewhere, and its numbers are other tenants' here.
    """
    db = open_private(restored)
    try:
        with as_faults():
            return _join(db, live, tenant)
    finally:
        db.close()


def rejoin(generation: Path, live: Path, tenant: str) -> int:
    """The same for a generation that was live before and is to be it again: in one durable transaction, so that it
    stays what it was if anything fails."""
    db = open_writer(generation)
    try:
        migrate(db)
        with as_faults():
            return _join(db, live, tenant)
    finally:
        db.close()


def _join(db: apsw.Connection, live: Path, tenant: str) -> int:
    attach(db, live)
    with db:
        _keep_here(db, tenant)
        others = _exchange_others(db, tenant)
        set_counter(db, max(counter(db), counter(db, FAR)))
        tally_again(db)
    return others


def _keep_here(db: apsw.Connection, tenant: str) -> None:
    for name in KEPT_HERE:
        if has_table(db, name):
            db.execute(f"DELETE FROM main.{name}")
            db.execute(f"INSERT INTO main.{name} SELECT * FROM {FAR}.{name}")
    for name in CHANGE_LOG:  # the tenant's journal begins a new line; that of the others goes on
        db.execute(f"DELETE FROM main.{name}")
        if has_table(db, name, FAR):
            db.execute(f"INSERT INTO main.{name} SELECT * FROM {FAR}.{name} WHERE tenant != ?", (tenant,))


def _exchange_others(db: apsw.Connection, tenant: str) -> int:
    """The memory of other tenants is what the live store has."""
    before, now = other_tenants(db, tenant), other_tenants(db, tenant, FAR)
    if before:
        drop_tenants(db, before)
    if not now:
        return 0
    foreign = Conflict(
        "restore: the snapshot comes from another memory, and its record numbers are used by other tenants here",
        hint="Restore it into a new folder with --into DIR.",
    )
    if _meet(db, tenant):
        raise foreign
    try:
        copy_tenants(db, now, (*RECORDS, "answers"))
    except apsw.ConstraintError as error:
        raise foreign from error
    # Which rows were checked for a vector is not the same in both: all are checked once more.
    db.execute("UPDATE main.followed SET upto = 0")
    return len(now)


def _meet(db: apsw.Connection, tenant: str) -> bool:
    """Whether a record here has the number of another tenant's record there, be it in another table."""
    db.execute("CREATE TEMP TABLE held (seq INTEGER PRIMARY KEY)")
    for name in RECORDS:
        db.execute(f"INSERT OR IGNORE INTO temp.held SELECT seq FROM main.{name}")
    sql = "SELECT 1 FROM {0}.{1} WHERE tenant != ? AND seq IN (SELECT seq FROM temp.held) LIMIT 1"
    met = any(db.execute(sql.format(FAR, name), (tenant,)).get is not None for name in RECORDS)
    db.execute("DROP TABLE temp.held")
    return met
