"""A data folder whose store cannot be opened: its snapshots can still be listed, verified and restored."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from holdfast.desk import Desk
from holdfast.errors import Fault
from holdfast.metrics import Metrics
from holdfast.model import Caller
from holdfast.ports import Embedder
from holdfast.settings import Settings
from holdfast.store.closed import ClosedStore
from holdfast.store.folder import DataFolder, FolderLock
from holdfast.store.generations import Generations
from holdfast.store.port import Store
from holdfast.store.sqlite.store import SqliteStore
from holdfast.system import SystemClock, SystemEntropy


class Rescue:
    """In the place of an engine: every operation that needs the store gets the fault that opening it gave."""

    embedder: Embedder | None = None

    def __init__(self, settings: Settings, fault: Fault):
        """Hold the folder.

        Raises:
            DataLocked: another process has it open.
        """
        self.settings = settings
        self.clock = SystemClock()
        self.entropy = SystemEntropy()
        self.metrics = Metrics()
        self.folder = DataFolder(settings.folder)
        self._closed = ClosedStore(fault)
        self._fault = fault
        self._generations: Generations | None = None  # once a restore has given it a store that opens
        self._lock = FolderLock(self.folder.home)
        self._lock.__enter__()

    @property
    def path(self) -> Path:
        return self.folder.home

    @property
    def store(self) -> Store:
        return self._generations.store if self._generations else self._closed

    def database(self) -> Path:
        return self._mended().path

    def content_tag(self) -> str:
        return self._mended().content_tag()

    def _mended(self) -> SqliteStore:
        if self._generations is None:
            raise self._fault
        return self._generations.store

    def exchange(self, build: Callable[[Path | None], str]) -> str:
        """Make the generation live whose name `build` gives; the one that cannot be opened stays where it is."""
        if self._generations is not None:
            return self._generations.exchange(build)
        name = build(None)
        self._open_store(self.folder.database_of(name)).close()  # nothing is pointed to that does not open
        self._point(name)
        self._generations = Generations(self.folder, self._open_store)
        return name

    def _open_store(self, database: Path) -> SqliteStore:
        return SqliteStore(database, lambda event: None, self.clock if self.settings.nats_url else None)

    def _point(self, name: str) -> None:
        try:
            self.folder.current()
        except Fault:  # the pointer itself is what is wrong
            self.folder.point_back(name)
        else:
            self.folder.switch(name)

    def desk(self, caller: Caller) -> Desk:
        """A caller's place."""
        return Desk(self.store, self.clock, self.entropy, self.settings, caller, metrics=self.metrics, home=self)

    def close(self) -> None:
        if self._generations is not None:
            with suppress(Fault):
                self._generations.close()
        self._lock.__exit__()
