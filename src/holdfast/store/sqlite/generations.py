"""The live store of a data folder, and how another generation takes its place while others read and write.

1. The live store is retired: what runs is finished, new writes get a retryable fault.
2. The next generation is built, or an older one chosen, from a store that stands still.
3. It is opened. Until now any failure leaves everything as it was.
4. The pointer is switched: the commit point. From here on every caller gets the new store.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from holdfast.core.cleanup import OnFailure
from holdfast.core.errors import Fault
from holdfast.store.data_folder import DataFolder
from holdfast.store.engine_port import Build
from holdfast.store.sqlite.files.frozen_store import FrozenFile
from holdfast.store.sqlite.store import SqliteStore


class Generations:
    """One live store at a time. Use it only while holding the folder's lock."""

    def __init__(self, folder: DataFolder, open_store: Callable[[Path], SqliteStore]):
        """Open the live generation."""
        self._folder = folder
        self._open_store = open_store
        self._exchanging = threading.Lock()
        self._left: weakref.WeakSet[SqliteStore] = weakref.WeakSet()  # old stores that may still have readers
        database = folder.prepare()
        self.store = open_store(database)
        with OnFailure(self.store.close):
            folder.settle(database)

    def exchange(self, build: Build) -> str:
        """Go over to the generation that `build` names; it is given the live store, which takes no writes meanwhile.

        Readers of the old store finish undisturbed. Every write that was acknowledged is in the store that was live
        then; one that comes between is refused and may be sent again.

        Raises:
            Fault: whatever `build` raised, or the new generation cannot be opened; the old one is live as before.
            StorageFailed: the pointer could not be made durable; nothing is written any more.
        """
        with self._exchanging:
            old = self.store
            old.retire()
            with OnFailure(old.resume):
                name = build(FrozenFile(self._folder, old.path))
                new = self._open(name, old.last_seq())
            self._switch(name, old, new)
            self.store = new
            self._left.add(old)
            with suppress(Fault):  # what it wrote is durable in its WAL, whether that is checkpointed now or later
                old.leave()
            return name

    def _open(self, name: str, seq: int) -> SqliteStore:
        new = self._open_store(self._folder.database_of(name))
        with OnFailure(new.close):
            new.skip_to(seq)  # the order of writes never runs backwards
        return new

    def _switch(self, name: str, old: SqliteStore, new: SqliteStore) -> None:
        before = self._folder.current()
        try:
            self._folder.switch(name)
        except BaseException:
            with suppress(Fault):
                new.close()
            if self._has_moved(before):
                # Renamed, but perhaps not on the disk: an answer given now might be gone at the next start.
                old.stop("restore: the pointer to the live generation could not be made durable")
                with suppress(Fault):
                    self._folder.point_back(before)
            old.resume()
            raise

    def _has_moved(self, before: str) -> bool:
        try:
            return self._folder.current() != before
        except Fault:
            return True

    def close(self) -> None:
        """Close the live store, and what is left of older ones."""
        for store in list(self._left):
            store.close()
        self.store.close()
