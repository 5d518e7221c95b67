"""Operations on damaged generations: what is kept aside, saving what can be read of one, and removing it."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.desk import Desk
from holdfast.errors import InvalidRequest
from holdfast.model import Json
from holdfast.ops.declare import Nothing, Operation, Request
from holdfast.ops.fields import Name, limit
from holdfast.ops.merging import merged_shape
from holdfast.ops.restoring import PREVIEW_FIRST, WAITING, damaged_shape
from holdfast.ops.snapshot_use import audit_snapshot
from holdfast.snapshot.archive import archive_of
from holdfast.snapshot.damaged import damaged_generations, discard
from holdfast.snapshot.salvage import SalvagedMemory, salvage


class DamagedAnswer(TypedDict):
    generations: list[Json]
    count: int
    next: NotRequired[str]  # what to do with the newest that is kept aside
    remove: NotRequired[str]  # how it is removed


def snapshot_damaged(desk: Desk, ask: Nothing) -> DamagedAnswer:
    """List generations of the memory that were found damaged: the live one, and those that restores kept aside."""
    found = damaged_generations(archive_of(desk).home)
    answer: DamagedAnswer = {"generations": [damaged_shape(one) for one in found], "count": len(found)}
    kept = next((one for one in found if not one.live), None)
    return {**answer, "next": kept.next, "remove": kept.removal} if kept else answer


class SnapshotSalvage(Request):
    generation: Name | None = Field(
        default=None, description="A damaged generation, as snapshot damaged lists it; without it the newest."
    )
    dry_run: bool = Field(default=False, description="Show what can be read and what it would change; change nothing.")
    yes: bool = Field(default=False, description="Really change the live memory.")
    limit: int = limit(100, 10_000)


class SnapshotSalvageAnswer(TypedDict):
    success: bool
    dryRun: bool
    source: str
    read: dict[str, int]  # sound rows by table
    lost: dict[str, int] | None  # rows that cannot be read; None: the damaged file does not tell
    added: NotRequired[dict[str, int]]
    changed: NotRequired[dict[str, int]]
    removed: NotRequired[dict[str, int]]
    conflicts: NotRequired[list[Json]]
    conflictCount: NotRequired[int]
    generation: NotRequired[str | None]
    before: NotRequired[str | None]
    waiting: NotRequired[str]  # why the vault has not got the snapshot of what was live
    next: NotRequired[str]  # what to do now


def snapshot_salvage(desk: Desk, ask: SnapshotSalvage) -> SnapshotSalvageAnswer:
    """Save what can still be read of a damaged memory: every row whose checksum holds, and no other.

    After a restore they are merged into the live memory, so that what was newer than the snapshot comes back. Without a
    restore they become the live memory. The damaged files stay until snapshot discard removes them.
    """
    if not (ask.dry_run or ask.yes):
        raise InvalidRequest("snapshot_salvage: it changes the live memory, and was not confirmed", hint=PREVIEW_FIRST)
    done = salvage(archive_of(desk), ask.generation, dry_run=ask.dry_run)
    answer = _shape(done, ask)
    if not ask.dry_run:
        audit_snapshot(desk, "snapshot_salvage", done.source, generation=done.generation)
    return answer


def _shape(done: SalvagedMemory, ask: SnapshotSalvage) -> SnapshotSalvageAnswer:
    answer: Json = {
        "success": True,
        "dryRun": ask.dry_run,
        "source": done.source,
        "read": done.read.rows,
        "lost": done.read.lost,
    }
    if done.merged is not None:
        told = merged_shape(done.merged, ask.limit)
        answer |= {name: told[name] for name in ("added", "changed", "removed", "conflicts", "conflictCount")}
    if ask.dry_run:
        return {**answer, "next": "Bring it in: holdfast snapshot salvage --yes"}  # type: ignore[typeddict-item]
    answer["generation"] = done.generation
    if done.merged is not None:
        answer["before"] = done.merged.before
        if done.merged.waiting:
            answer["waiting"] = f"{WAITING} {done.merged.waiting}"
    answer["next"] = f"Once you need nothing more of it, remove it: holdfast snapshot discard {done.source} --yes"
    return answer  # type: ignore[return-value]


class SnapshotDiscard(Request):
    generation: Name = Field(description="A damaged generation, as snapshot damaged lists it.")
    yes: bool = Field(default=False, description="Really remove its files.")


class SnapshotDiscardAnswer(TypedDict):
    success: bool
    generation: str
    size: int


def snapshot_discard(desk: Desk, ask: SnapshotDiscard) -> SnapshotDiscardAnswer:
    """Remove the files of a damaged generation that was kept aside. They cannot be brought back."""
    if not ask.yes:
        raise InvalidRequest("snapshot_discard: this removes files, and was not confirmed", hint="Pass --yes.")
    gone = discard(archive_of(desk), ask.generation)
    audit_snapshot(desk, "snapshot_discard", gone.name)
    return {"success": True, "generation": gone.name, "size": gone.size}


# Files of the whole server, all tenants' in one: for root alone.
DAMAGED = (
    Operation(snapshot_damaged, "GET", "/snapshots/damaged", scope="root", cli="snapshot damaged"),
    Operation(
        snapshot_salvage,
        "POST",
        "/snapshots/salvage",
        effect="destroy",
        scope="root",
        cli="snapshot salvage",
        positional=("generation",),
        long=True,
    ),
    Operation(
        snapshot_discard,
        "POST",
        "/snapshots/discard",
        effect="destroy",
        scope="root",
        cli="snapshot discard",
        positional=("generation",),
        long=True,
    ),
)
