"""What to do about a damaged memory: one command, by what is damaged and which snapshots there are."""

from __future__ import annotations

from holdfast.core.errors import Fault
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.store.damage import REPAIR, RESTORE, SALVAGE, Damage


def way_out(context: SnapshotContext, damage: Damage) -> str:
    """A sentence with that command."""
    if damage.extent != "records":
        return f"Check what is damaged, and repair the index if only the index is: {REPAIR}"
    if context.settings.vault or _has_snapshot(context):
        return f"Restore the newest snapshot: {RESTORE}"
    return f"There is no snapshot. Recover the readable rows: {SALVAGE}"


def _has_snapshot(context: SnapshotContext) -> bool:
    try:
        return context.repo.newest() is not None
    except Fault:  # the repository is damaged as well; restoring reports how
        return True
