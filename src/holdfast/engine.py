"""Composition root: opens the data folder and gives each caller a desk. No logic."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from holdfast.desk import Desk
from holdfast.embedder import embedder_from
from holdfast.errors import Fault
from holdfast.metrics import Metrics
from holdfast.model import DEFAULT_TENANT, Caller, Event
from holdfast.ports import Clock, Embedder, Entropy, Publisher
from holdfast.recalls import Recalls
from holdfast.remote import summarizer_from
from holdfast.settings import Settings
from holdfast.snapshot.archive import Archive, archive_of
from holdfast.snapshot.first import begin_from_vault
from holdfast.snapshot.folders_back import settle_folders, sweep_staged
from holdfast.snapshot.lines import told_of
from holdfast.store.folder import DataFolder, FolderLock
from holdfast.store.generations import Generations
from holdfast.store.sqlite.store import SqliteStore
from holdfast.system import SystemClock, SystemEntropy

log = logging.getLogger("holdfast")

LARGE_IMPORT = 10_000  # records written by one process


class Engine:
    """The memory of one data folder, held by this process alone until it is closed."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        entropy: Entropy | None = None,
        embedder: Embedder | None = None,
    ):
        """Open the folder.

        Raises:
            DataLocked: another process has it open.
            DataTooNew: a newer Holdfast wrote it.
        """
        self.settings = settings
        self.clock = clock or SystemClock()
        self.entropy = entropy or SystemEntropy()
        self.summarizer = summarizer_from(settings, self.clock, self.entropy)
        self.embedder = embedder or embedder_from(settings, self.clock, self.entropy)
        self._started = (self.clock.now_ms(), self.clock.steady())
        self.recalls = Recalls()
        self.metrics = Metrics()
        self.publishers: list[Publisher] = []
        self.folder = DataFolder(settings.folder)
        self.folder.make()
        self._lock = FolderLock(self.folder.home)
        self._lock.__enter__()
        try:
            begun_with = self._begin()
            self._generations = Generations(self.folder, self._open_store)
            if begun_with is not None:
                self._say_begun(begun_with)
            self._opened_at = self.store.last_seq()
        except BaseException:
            self._lock.__exit__()
            raise

    def _begin(self) -> str | None:
        """Finish what a restore began with memory folders; fill an empty folder from the vault if there is one, and say
        with which snapshot."""
        archive = Archive(self.folder.home, self.settings, self.clock, self.entropy, DEFAULT_TENANT)
        self.folder.sweep()
        with suppress(Fault):  # the memory is there without them; doctor says what is wrong, and snapshot mend mends it
            settle_folders(self.folder)
            sweep_staged(archive)
        if self.settings.vault and not self.folder.generations():
            return begin_from_vault(archive, self.folder)
        return None

    def _say_begun(self, snapshot: str) -> None:
        """In the audit log, and what the vault holds beside it: nobody else is there to be told."""
        desk = self.desk(Caller(name="first start"))
        desk.store.write(lambda tx: desk.audit(tx, "snapshot_restore", (snapshot,), None))
        with suppress(Fault):  # the memory is there, whatever the vault answers now
            for warning in told_of(archive_of(desk), self.settings.vault):
                log.warning("%s", warning)

    @property
    def store(self) -> SqliteStore:
        """The live store. Whoever begins something keeps to the one it began with."""
        return self._generations.store

    def exchange(self, build: Callable[[Path | None], str]) -> str:
        """Make the generation live whose name `build` gives; it gets the database of the live one, which takes no
        writes until this has ended. See `Generations.exchange`."""
        name = self._generations.exchange(build)
        self.recalls.take()  # counted for records of the old store
        self._opened_at = self.store.last_seq()
        return name

    def _open_store(self, database: Path) -> SqliteStore:
        """A store of this engine: what is written to it is published, and kept for the broker if there is one."""
        return SqliteStore(database, self._publish, self.clock if self.settings.nats_url else None)

    @property
    def started(self) -> tuple[int, float]:
        """Wall and steady clock when the engine was made."""
        return self._started

    @property
    def path(self) -> Path:
        return self.folder.home

    def database(self) -> Path:
        return self.store.path

    def content_tag(self) -> str:
        return self.store.content_tag()

    def desk(self, caller: Caller) -> Desk:
        """A caller's place at this engine."""
        return Desk(
            self.store,
            self.clock,
            self.entropy,
            self.settings,
            caller,
            self.summarizer,
            self.embedder,
            recalls=self.recalls,
            started=self._started,
            metrics=self.metrics,
            home=self,
        )

    def close(self) -> None:
        """Close the store, then let others open the folder.

        What a large import wrote without a server is folded first: the next to open it would read it row by row.
        """
        if self.store.last_seq() - self._opened_at >= LARGE_IMPORT:
            with suppress(Fault):  # a disk that takes no more must not keep the folder locked
                self.store.fold_words()
        self._generations.close()
        self._lock.__exit__()

    def _publish(self, event: Event) -> None:
        for publisher in self.publishers:
            publisher.publish(event)
