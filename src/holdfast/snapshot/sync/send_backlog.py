"""The backlog of snapshots that the configured vault has not received yet."""

from __future__ import annotations

from holdfast.core.errors import NotFound
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.send_marks import unsent


def waiting(context: SnapshotContext) -> tuple[str, ...]:
    """Snapshots that it is still to get, the newest first."""
    return tuple(unsent(context.repo.root)) if context.settings.vault else ()


def waiting_ms(context: SnapshotContext) -> int:
    """How long the oldest of them has waited, in milliseconds; 0 if none waits."""
    try:
        first = next(map(context.repo.find, reversed(waiting(context))), None)
    except NotFound:  # it was just removed
        return 0
    if first is None or first.manifest is None:
        return 0
    return max(0, context.clock.now_ms() - first.manifest.identity.created_at)
