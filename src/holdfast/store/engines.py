"""Which engine keeps the memory: the one place that knows them by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from holdfast.core.model import Event
from holdfast.core.ports import Clock
from holdfast.store.damage import WayOut
from holdfast.store.data_folder import DataFolder
from holdfast.store.engine_port import LiveMemory
from holdfast.store.sqlite.live import LiveStore
from holdfast.store.sqlite.store import SqliteStore


def live_memory(
    folder: DataFolder, publish: Callable[[Event], None], telling: Clock | None, way_out: WayOut
) -> LiveMemory:
    """The memory of a data folder, not open yet. What is written to it is published, and with a clock its events are
    kept for a broker."""

    def open_store(database: Path) -> SqliteStore:
        return SqliteStore(database, publish, telling, way_out)

    return LiveStore(folder, open_store)
