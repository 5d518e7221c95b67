"""Which engine keeps the memory: the one place that knows them by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.core.disk import user_path
from holdfast.core.errors import InvalidSettings, NotFound, StoreAmbiguous
from holdfast.core.model import Event
from holdfast.core.ports import Clock
from holdfast.store.data_folder import DATABASE, DataFolder
from holdfast.store.engine_port import LiveMemory
from holdfast.store.move.move_port import EmptyStore, Source, Target, View
from holdfast.store.sqlite.live import LiveStore
from holdfast.store.sqlite.move.folder_move import FolderSource, FolderTarget
from holdfast.store.sqlite.store import SqliteStore

EMBEDDED = "sqlite"
EXTRA = "pip install 'holdfast[postgres]'"


def live_memory(store: str, folder: DataFolder, publish: Callable[[Event], None], telling: Clock | None) -> LiveMemory:
    """The memory that the setting names, not open yet. What is written to it is published, and with a clock its events
    are kept for a broker.

    Raises:
        InvalidSettings: the engine's libraries are not installed.
        StoreAmbiguous: the records are elsewhere.
    """
    if store != EMBEDDED:
        return _on_postgres(store, folder, publish, telling)
    _refuse_elsewhere(folder)

    def open_store(database: Path) -> SqliteStore:
        return SqliteStore(database, publish, telling)

    return LiveStore(folder, open_store)


def _refuse_elsewhere(folder: DataFolder) -> None:
    """A folder whose records are in a database would otherwise get a second, empty memory."""
    noted = folder.noted_store()
    if noted and folder.generations() and not (folder.home / folder.current() / DATABASE).is_file():
        raise StoreAmbiguous(
            f"store: the memory of this data folder is kept in {noted.split()[0]}, and HOLDFAST_STORE does not name it",
            hint="Set HOLDFAST_STORE to its address, or name another data folder with --data.",
        )


def migrate_store(store: str, role: str | None) -> int:
    """Bring a database to this version's schema, and let a role serve from it; the number of the schema.

    Raises:
        InvalidSettings: the setting names no database, or the engine's libraries are not installed.
    """
    if store == EMBEDDED:
        raise InvalidSettings("migrate: no database is named", hint="Pass --store postgresql://owner@host/name.")
    with _installed():
        from holdfast.store.postgres.pool import connected
        from holdfast.store.postgres.schema import grant, migrate
    with connected(store) as db:
        schema = migrate(db)
        if role is not None:
            grant(db, role)
    return schema


def passes_wall(store: str) -> bool:
    """Whether the database shows the role of this address the rows of all tenants, whatever a statement says."""
    with _installed():
        from holdfast.store.postgres.pool import connected
        from holdfast.store.postgres.schema import is_held_by_wall
    with connected(store) as db:
        return not is_held_by_wall(db)


def _on_postgres(url: str, folder: DataFolder, publish: Callable[[Event], None], telling: Clock | None) -> LiveMemory:
    with _installed():
        from holdfast.store.postgres.live import PostgresMemory
    return PostgresMemory(url, folder, publish, telling)


@contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise InvalidSettings("store: PostgreSQL needs libraries that are not installed", hint=EXTRA) from error


def is_database(address: str) -> bool:
    """Whether an address is that of a database; if not, it is a data folder."""
    return address.startswith(("postgresql://", "postgres://"))


def source_of(address: str, stage: Path) -> Source:
    """The store at an address, to be read by a move; faults as of `live_memory`, or NotFound."""
    if not is_database(address):
        return FolderSource(user_path(address, "--from"), stage)
    with _installed():
        from holdfast.store.postgres.move import DatabaseSource
    return DatabaseSource(address)


def target_of(address: str, stage: Path) -> Target:
    """The store at an address, to be filled by a move."""
    if not is_database(address):
        return FolderTarget(user_path(address, "--to"), stage)
    with _installed():
        from holdfast.store.postgres.move import DatabaseTarget
    return DatabaseTarget(address)


def preview_of(address: str, stage: Path) -> View:
    """The same store, to be read only: nothing is made that is not there yet."""
    try:
        return source_of(address, stage)
    except NotFound:
        return EmptyStore()
