"""The snapshots of one memory: whose they are, where they lie, and the memory itself while it is open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.desk import Desk
from holdfast.errors import Conflict
from holdfast.model import Json
from holdfast.ports import Clock, Entropy, Home
from holdfast.settings import Settings
from holdfast.snapshot.keyring import Keyring
from holdfast.snapshot.locks import SnapshotLock
from holdfast.snapshot.shelf import Shelf, shelf_folder

DEFAULT_AGENT = "default"


def _nobody(kind: str, body: Json) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class Archive:
    """One memory's snapshots. `live` is None if the memory itself cannot be opened: then it can only be restored."""

    home: Path
    settings: Settings
    clock: Clock
    entropy: Entropy
    tenant: str
    live: Home | None = None
    tell: Callable[[str, Json], None] = _nobody

    @property
    def agent(self) -> str:
        """Whose memory the folder is. Several agents may write to it; a snapshot holds them all."""
        return self.settings.agent or DEFAULT_AGENT

    @property
    def shelf(self) -> Shelf:
        return Shelf(shelf_folder(self.home, self.tenant, self.agent))

    @property
    def keyring(self) -> Keyring:
        return Keyring(self.home / "keys")

    def locked(self, operation: str) -> SnapshotLock:
        """Nobody else makes, restores or removes snapshots inside this block."""
        return SnapshotLock(self.home, operation, self.settings.snapshot_lock_seconds)


def archive_of(desk: Desk) -> Archive:
    """The archive of the memory that the desk stands in.

    Raises:
        Conflict: the desk stands in none, as when a past memory is read.
    """
    if desk.home is None:
        raise Conflict("snapshots: this memory lies in no data folder", hint="Open the folder itself.")
    return Archive(
        desk.home.path,
        desk.settings,
        desk.clock,
        desk.entropy,
        desk.tenant,
        desk.home,
        desk.announce,
    )
