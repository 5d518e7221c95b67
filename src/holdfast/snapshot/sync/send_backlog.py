"""The backlog of snapshots that the configured vault has not received yet."""

from __future__ import annotations

from holdfast.core.errors import NotFound
from holdfast.snapshot.repo.context import Archive
from holdfast.snapshot.repo.send_marks import unsent


def waiting(archive: Archive) -> tuple[str, ...]:
    """Snapshots that it is still to get, the newest first."""
    return tuple(unsent(archive.repo.root)) if archive.settings.vault else ()


def waiting_ms(archive: Archive) -> int:
    """How long the oldest of them has waited, in milliseconds; 0 if none waits."""
    try:
        first = next(map(archive.repo.find, reversed(waiting(archive))), None)
    except NotFound:  # it was just removed
        return 0
    if first is None or first.manifest is None:
        return 0
    return max(0, archive.clock.now_ms() - first.manifest.identity.created_at)
