"""The live store of a data folder on SQLite, or the fault that explains why it cannot be used.

Without a store a memory can still be restored: the next generation is built beside what is there and made live.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from holdfast.core.disk import disk_fault
from holdfast.core.errors import Fault
from holdfast.store.data_folder import DATABASE, DataFolder
from holdfast.store.engine_port import Build, CapturedFile
from holdfast.store.fleet.fleet_port import Fleet
from holdfast.store.fleet.single_server import SingleServer
from holdfast.store.port import Store
from holdfast.store.sqlite.files.capture import capture_store
from holdfast.store.sqlite.files.salvage_rows import unreadable
from holdfast.store.sqlite.generations import Generations
from holdfast.store.sqlite.store import SqliteStore
from holdfast.store.unavailable import ClosedStore


class LiveStore:
    """One data folder's store; fulfils `engine_port.LiveMemory`. Use it only while holding the folder's lock."""

    def __init__(self, folder: DataFolder, open_store: Callable[[Path], SqliteStore]):
        self._folder = folder
        self._open_store = open_store
        self._generations: Generations | None = None
        self._fault: Fault | None = Fault("store: it is not open yet")
        self.fleet: Fleet = SingleServer()

    def has_any(self) -> bool:
        return bool(self._folder.generations())

    def recover(self) -> None:
        """Nothing is to be done: the pointer of the folder is what an exchange changes."""

    def open(self) -> None:
        """Open the live generation, a new one if there is none; it answers nothing before `accept`.

        Raises:
            DataDamaged, DataTooNew: it cannot be opened.
        """
        if self._generations is None:
            self._generations = Generations(self._folder, self._open_store)

    def accept(self) -> None:
        """Answer reads and writes with the store that is open."""
        self._fault = None

    def refuse(self, fault: Fault) -> None:
        """Answer every read and write with this fault, until another generation is made live or `accept` is called."""
        self._fault = fault

    def is_open(self) -> bool:
        return self._generations is not None and self._fault is None

    @property
    def fault(self) -> Fault | None:
        return self._fault

    @property
    def store(self) -> Store:
        return ClosedStore(self._fault) if self._fault is not None else self._usable()

    def _usable(self) -> SqliteStore:
        """The store itself.

        Raises:
            Fault: why it cannot be used.
        """
        if self._fault is not None:
            raise self._fault
        return self.opened()

    def opened(self) -> SqliteStore:
        """The same, also while nothing is to be answered with it."""
        if self._generations is None:
            raise self._fault or Fault("store: it is not open yet")
        return self._generations.store

    def content_tag(self, tenant: str) -> str:
        return self._usable().content_tag()

    def size(self, tenant: str) -> int:
        path = self._usable().path
        try:
            return path.stat().st_size
        except OSError as error:
            raise disk_fault(error, "capture the store") from error

    def capture(self, into: Path, tenant: str, *, check: bool = True) -> CapturedFile:
        return capture_store(self._usable().path, into, tenant, check=check)

    def as_file(self, scratch: Path, tenant: str, *, check: bool = True) -> Path:
        return self._usable().path

    def undo_target(self, tenant: str) -> str | None:
        return self._folder.previous()

    def unreadable(self, generation: str, tenant: str) -> str | None:
        return unreadable(self._folder.home / generation / DATABASE)

    def exchange(self, build: Build, tenant: str) -> str:
        """See `engine_port.Memory.exchange`."""
        if self._generations is not None:
            name = self._generations.exchange(build)
        else:
            name = build(None)
            self._open_store(self._folder.database_of(name)).close()  # nothing is pointed to that does not open
            self._point(name)
            self._generations = Generations(self._folder, self._open_store)
        self._fault = None
        return name

    def _point(self, name: str) -> None:
        try:
            self._folder.current()
        except Fault:  # there is no pointer, or it is what is wrong
            self._folder.point_back(name)
        else:
            self._folder.switch(name)

    def close(self) -> None:
        if self._generations is not None:
            self._generations.close()

    def close_anyway(self) -> None:
        """The same for a store that could not be used: the folder's lock must be freed in any case."""
        with suppress(Fault):
            self.close()
