"""One moment of a tenant's memory as a database file of its own, taken while writers go on.

A file that holds this tenant alone is copied page by page. If it holds others too, this tenant's rows are copied
instead: nothing of theirs is ever in the copy, not even in a page that is free.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import apsw

from holdfast.core.errors import DataDamaged
from holdfast.store.engine_port import CapturedFile
from holdfast.store.journal.journal_port import JournalPlace
from holdfast.store.sqlite.changes.change_rows import place_in
from holdfast.store.sqlite.database import migrate, open_reader
from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.files.copy_rows import (
    FAR,
    attach,
    copy_tenants,
    counter,
    drop_place,
    has_others,
    make_private,
    open_private,
    set_counter,
    tally_again,
)
from holdfast.store.sqlite.integrity import verify_rows
from holdfast.store.tables import AUDIT, MEMORIES, SESSIONS, TABLES


def capture_store(source: Path, into: Path, tenant: str, *, check: bool = True) -> CapturedFile:
    """Write the tenant's memory as it is at one moment into a new file, which is not synced.

    Without `check` the caller has to call `check_store` before it relies on the file.

    Raises:
        DataDamaged: the store cannot be read to its end, or does not add up.
        StorageFull, StorageFailed: the file cannot be written.
    """
    db = open_reader(source)
    try:
        with as_faults():
            db.execute("PRAGMA mmap_size = 0").fetchall()  # every page is read once: mapped, they would all be held
            alone = not has_others(db, tenant)
            journal = _copy_pages(db, into, tenant) if alone else False
            if journal is False:
                journal = _copy_rows(source, into, tenant)
    finally:
        db.close()
    if check:
        check_store(into)
    return replace(describe(into), journal=journal or None)


def _copy_pages(db: apsw.Connection, into: Path, tenant: str) -> JournalPlace | Literal[False] | None:
    """Copy the whole file in one step, and how far its journal was then; False if another tenant came in the moment
    before."""
    into.unlink(missing_ok=True)
    copy = make_private(into)
    try:
        with copy.backup("main", db, "main") as backup:
            backup.step(-1)  # one read transaction: in steps, every write would restart the copy
        copy.execute("PRAGMA main.journal_mode = OFF").fetchall()  # the copy came with its log switched on
        journal = place_in(copy, tenant)
        with copy:
            drop_place(copy)
        return False if has_others(copy, tenant) else journal
    finally:
        copy.close()


def _copy_rows(source: Path, into: Path, tenant: str) -> JournalPlace | None:
    into.unlink(missing_ok=True)
    copy = make_private(into)
    try:
        migrate(copy)
        attach(copy, source)
        with copy:
            copy_tenants(copy, [tenant])
            copy.execute(f"INSERT INTO main.followed SELECT * FROM {FAR}.followed")
            set_counter(copy, counter(copy, FAR))
            tally_again(copy)
            journal = place_in(copy, tenant, FAR)
    finally:
        copy.close()
    return journal


def check_store(path: Path) -> None:
    """Read a captured file to its end.

    Raises:
        DataDamaged: a page is broken, a row is not as it was written, or rows are missing or too many.
    """
    db = open_private(path)
    try:
        with as_faults():
            # All of it: damage is found while the memory it was made of is still there to be repaired, and a restore
            # refuses a snapshot for a single changed row.
            if db.execute("PRAGMA integrity_check(1)").get != "ok":
                raise DataDamaged("capture: the copy of the store is damaged")
            found = verify_rows(db)
    finally:
        db.close()
    if found:
        raise DataDamaged(f"capture: the store is damaged ({found[0].table}: {found[0].message})")


def _tallies(db: apsw.Connection) -> dict[str, tuple[int, int]]:
    rows: Any = db.execute("SELECT source, rows, sum FROM tallies").fetchall()
    return {source: (count, total) for source, count, total in rows}


def describe(path: Path) -> CapturedFile:
    db = open_reader(path)
    try:
        with as_faults():
            tallies = _tallies(db)
            schema: Any = db.pragma("user_version")
    finally:
        db.close()
    rows = tuple((table.name, tallies[table.name][0]) for table in TABLES if tallies.get(table.name, (0, 0))[0])
    return CapturedFile(int(schema), rows, tallies["seq"][0])


def sample_ids(path: Path, ends: int = 20) -> list[tuple[str, str, list[str]]]:
    """Ids of the oldest and newest records of every tenant, by table: enough to recognise the memory elsewhere."""
    found: dict[tuple[str, str], list[str]] = {}
    db = open_reader(path)
    try:
        with as_faults():
            for table in (AUDIT, MEMORIES, SESSIONS):
                for order in ("ASC", "DESC"):
                    sql = f"SELECT tenant, id FROM {table.name} ORDER BY seq {order} LIMIT ?"
                    for tenant, id in db.execute(sql, (ends,)):
                        found.setdefault((str(tenant), table.name), []).append(str(id))
    finally:
        db.close()
    return [(tenant, name, ids) for (tenant, name), ids in found.items()]
