"""Whether a data folder and a database belong together: agents that are served another memory than before have lost
theirs, and see no error.

A folder notes which database its server used last. A database that is empty, or that has nothing of what the folder
holds, is refused for a folder that was used otherwise; an address that changed, after a failover for example, is not.
"""

from __future__ import annotations

from pathlib import Path

from psycopg import errors, sql

from holdfast.core.errors import DataDamaged, Fault, StoreAmbiguous
from holdfast.store.data_folder import DATABASE, DataFolder
from holdfast.store.portable import describe, sample_ids
from holdfast.store.postgres.pool import EVERY_SPACE, Connection, View, faults
from holdfast.store.postgres.schema import is_in_use

ENGINE = "postgresql"
_IDENTITY = (
    "SELECT system_identifier || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "|| '/' || current_schema() FROM pg_control_system()"
)


def name_of(db: Connection) -> str:
    """How a folder notes this database: the same for its standbys and at any address, another one for any other."""
    try:
        row = db.execute(_IDENTITY).fetchone()
    except errors.InsufficientPrivilege:  # a provider may withhold it
        row = None
    return f"{ENGINE} {row[0]}" if row is not None else ENGINE


def refuse_another(db: Connection, folder: DataFolder) -> None:
    """Check a database, whatever its schema, for a folder; nothing is changed.

    Raises:
        StoreAmbiguous: one of them holds a memory that the other knows nothing of.
    """
    noted, kept = folder.noted_store(), _records_of(folder)
    with faults():
        if not is_in_use(db):
            _refuse_empty(noted, name_of(db), holds=kept is not None)
        elif kept is not None and not noted and not _knows(db, kept):
            raise StoreAmbiguous(
                "store: the data folder holds a memory, and the database that HOLDFAST_STORE names holds another one",
                hint="Name another data folder with --data to use the database. Unset HOLDFAST_STORE to use the "
                "folder's memory.",
            )


def _refuse_empty(noted: str, name: str, *, holds: bool) -> None:
    if " " in noted and " " in name and noted != name:
        raise StoreAmbiguous(
            "store: the database that HOLDFAST_STORE names is empty, and this data folder was used with another one",
            hint="Correct HOLDFAST_STORE. If that memory is lost, remove the file STORE from the data folder, start, "
            "and restore a snapshot.",
        )
    if holds and " " not in noted:
        raise StoreAmbiguous(
            "store: the data folder holds a memory, and the database that HOLDFAST_STORE names is empty",
            hint="Unset HOLDFAST_STORE to use the folder's memory, or name another data folder with --data to "
            "start with an empty one. holdfast move carries a memory over.",
        )


def _records_of(folder: DataFolder) -> Path | None:
    """The embedded store of the folder, if it has records; one that cannot be read may have."""
    if not folder.generations():
        return None
    try:
        database = folder.home / folder.current() / DATABASE
    except DataDamaged:  # a pointer that is lost, which is made anew
        return None
    try:
        return database if database.is_file() and describe(database).rows else None
    except Fault:
        return database


def _knows(db: Connection, database: Path) -> bool:
    """Whether the database has some of what the embedded store of the folder holds, or that does not tell.

    The oldest and the newest are looked up: of those that were moved some are still there.
    """
    try:
        samples = sample_ids(database)
    except Fault:  # a file that cannot be read
        return True
    with db.transaction():
        view = View(db).see(EVERY_SPACE)
        for tenant, table, ids in samples:
            query = sql.SQL(
                "SELECT 1 FROM {} WHERE space = (SELECT live FROM tenants WHERE tenant = %s) AND id = ANY(%s) LIMIT 1"
            ).format(sql.Identifier(table))
            if view.execute(query, (tenant, ids)).fetchone() is not None:
                return True
    return not samples
