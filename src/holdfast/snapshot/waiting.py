"""What waits for the vault of the settings."""

from __future__ import annotations

from holdfast.snapshot.archive import Archive
from holdfast.snapshot.unsent import unsent


def waiting(archive: Archive) -> tuple[str, ...]:
    """Snapshots that it is still to get, the newest first."""
    return tuple(unsent(archive.shelf.root)) if archive.settings.vault else ()
