"""The snapshots of one memory: whose they are, where they lie, and the memory itself while it is open."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.desk import Desk
from holdfast.errors import Conflict
from holdfast.metrics import Metrics
from holdfast.model import Json, Lifecycle
from holdfast.ports import Clock, Entropy
from holdfast.settings import Settings
from holdfast.snapshot.keyring import Keyring
from holdfast.snapshot.locks import SnapshotLock
from holdfast.snapshot.places import shelf_folder
from holdfast.snapshot.shelf import Shelf
from holdfast.store.port import Home

DEFAULT_AGENT = "default"


def _nobody(kind: Lifecycle, body: Json) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class Archive:
    """One memory's snapshots. Without `live` there is no memory yet; it can only be restored."""

    home: Path
    settings: Settings
    clock: Clock
    entropy: Entropy
    tenant: str
    live: Home | None = None
    tell: Callable[[Lifecycle, Json], None] = _nobody
    metrics: Metrics = dataclasses.field(default_factory=Metrics)

    @property
    def agent(self) -> str:
        """Whose memory the folder is. Several agents may write to it; a snapshot holds them all."""
        return self.settings.agent or DEFAULT_AGENT

    @property
    def shelf(self) -> Shelf:
        return Shelf(shelf_folder(self.home, self.tenant, self.agent))

    @property
    def keyring(self) -> Keyring:
        return Keyring(self.home / "keys", self.entropy)

    def locked(self, operation: str) -> SnapshotLock:
        """Nobody else makes, restores or removes snapshots inside this block."""
        return SnapshotLock(self.home, operation, self.settings.snapshot_lock_seconds)


def archive_of(desk: Desk) -> Archive:
    """The archive of the memory that the desk stands in.

    Raises:
        Conflict: the desk stands in none, as when a past memory is read.
    """
    home = desk.home
    if home is None:
        raise Conflict("snapshots: this memory lies in no data folder", hint="Open the folder itself.")

    def tell(kind: Lifecycle, body: Json) -> None:
        # A restore may have exchanged the store since the desk was made.
        dataclasses.replace(desk, store=home.store).announce(kind, body)

    return Archive(home.path, desk.settings, desk.clock, desk.entropy, desk.tenant, home, tell, desk.metrics)
