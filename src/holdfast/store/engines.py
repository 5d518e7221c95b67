"""Which engine keeps the memory: the one place that knows them by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from holdfast.core.errors import InvalidSettings
from holdfast.core.model import Event
from holdfast.core.ports import Clock
from holdfast.store.damage import WayOut
from holdfast.store.data_folder import DataFolder
from holdfast.store.engine_port import LiveMemory
from holdfast.store.sqlite.live import LiveStore
from holdfast.store.sqlite.store import SqliteStore

EMBEDDED = "sqlite"
EXTRA = "pip install 'holdfast[postgres]'"


def live_memory(
    store: str, folder: DataFolder, publish: Callable[[Event], None], telling: Clock | None, way_out: WayOut
) -> LiveMemory:
    """The memory that the setting names, not open yet. What is written to it is published, and with a clock its events
    are kept for a broker.

    Raises:
        InvalidSettings: the engine's libraries are not installed.
    """
    if store != EMBEDDED:
        return _on_postgres(store, folder, publish, telling)

    def open_store(database: Path) -> SqliteStore:
        return SqliteStore(database, publish, telling, way_out)

    return LiveStore(folder, open_store)


def _on_postgres(url: str, folder: DataFolder, publish: Callable[[Event], None], telling: Clock | None) -> LiveMemory:
    try:
        from holdfast.store.postgres.live import PostgresMemory
    except ImportError as error:
        raise InvalidSettings("store: PostgreSQL needs libraries that are not installed", hint=EXTRA) from error
    return PostgresMemory(url, folder, publish, telling)
