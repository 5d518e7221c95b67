"""What a backup or a pruning will do, decided before the first change. Pure: nothing here reads or writes a vault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from holdfast.colony.file_names import age_order, began
from holdfast.colony.manifest import MOST_FILE_BYTES, SnapshotParts
from holdfast.colony.survey import ExaminedSnapshot, SnapshotState
from holdfast.core.errors import ColonyInvalid, ColonyRateLimited, QuotaExceeded

# No writer takes this long for a snapshot; what has no manifest by then was left by a writer that stopped.
ORPHANED_AFTER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Deletion:
    """A snapshot, or the leftover parts of one, that is to be deleted."""

    id: str
    files: int
    size: int
    finished: bool  # it has a manifest: it counts as a snapshot


@dataclass(frozen=True, slots=True)
class Plan:
    first: tuple[Deletion, ...]  # as soon as room is needed for the next file
    after: tuple[Deletion, ...]  # once the new snapshot is stored


def checked_keep(keep: object, name: str) -> int:
    """How many snapshots to keep.

    Raises:
        ColonyInvalid: it is not a number from 1. To delete the last one, name it to delete_snapshot().
    """
    if type(keep) is not int or keep < 1:
        raise ColonyInvalid(f"{name}: must be a whole number from 1")
    return keep


def prunable(snapshots: Sequence[ExaminedSnapshot], keep: int) -> list[str]:
    """The ids that are not among the newest `keep` complete ones and are of no use, oldest first.

    Broken ones go only if they are older than a complete one: until then they are all there is. What another signer or
    a newer version wrote stays.
    """
    complete = [one.id for one in snapshots if one.state is SnapshotState.COMPLETE]
    if not complete:
        return []
    newest = age_order(complete[0])
    broken = [
        one.id
        for one in snapshots
        if one.state in (SnapshotState.DAMAGED, SnapshotState.INCOMPLETE) and age_order(one.id) < newest
    ]
    return sorted(broken, key=age_order) + sorted(complete[keep:], key=age_order)


def abandoned(orphaned: Sequence[str], now_ms: int) -> list[str]:
    """The leftover ids that no writer is working on any more, judged by the times in them."""
    limit = datetime.fromtimestamp(now_ms / 1000, UTC) - ORPHANED_AFTER
    return [id for id in orphaned if (time := began(id)) is None or time < limit]


def plan_backup(
    built: SnapshotParts, pointer: str, room: int | None, drops: Sequence[Deletion], changes_left: int | None, wait: int
) -> Plan:
    """What to delete before and after storing the files; `drops` are what may go, the least needed first.

    Raises:
        QuotaExceeded: a file is too large for the vault, or all of them are, even when everything goes that may.
        ColonyRateLimited: the vault would refuse the changes halfway.
    """
    sizes = [len(text) for _, text in built.files()] + [len(pointer)]  # ASCII, all of it
    _check_files(built)
    first = _to_make_room(sum(sizes), room, drops)
    needed = len(sizes) + sum(one.files for one in first)
    if changes_left is not None and needed > changes_left:
        raise rate_limited("backup", needed, changes_left, wait)
    left = None if changes_left is None else changes_left - needed
    return Plan(tuple(first), tuple(affordable(drops[len(first) :], left)))


def rate_limited(doing: str, needed: int, left: int, wait: int) -> ColonyRateLimited:
    return ColonyRateLimited(
        f"{doing}: {needed} changes are needed, and the vault allows {left} more this hour; nothing was changed",
        details={"retry_after": wait},
    )


def affordable(drops: Sequence[Deletion], changes_left: int | None) -> list[Deletion]:
    """As many of the first drops as the changes suffice for: none is begun that could not be finished."""
    if changes_left is None:
        return list(drops)
    taken: list[Deletion] = []
    for drop in drops:
        changes_left -= drop.files
        if changes_left < 0:
            break
        taken.append(drop)
    return taken


def _check_files(built: SnapshotParts) -> None:
    _, text = built.manifest
    if len(text) > MOST_FILE_BYTES:
        raise QuotaExceeded(
            f"backup: the manifest has {len(text)} bytes, and the limit for a vault file is {MOST_FILE_BYTES}",
            hint="Join documents, give them shorter names, or encrypt: an encrypted manifest holds no names.",
        )


def _to_make_room(need: int, room: int | None, drops: Sequence[Deletion]) -> list[Deletion]:
    if room is None:
        return []
    taken: list[Deletion] = []
    free = room
    for drop in drops:
        if free >= need:
            break
        taken.append(drop)
        free += drop.size
    if free < need:
        raise QuotaExceeded(f"backup: the snapshot needs {need} bytes, and the vault has room for {free}")
    return taken
