"""Operations on damaged generations of the database: list, salvage, discard."""

from __future__ import annotations

from shlex import quote
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Json
from holdfast.ops.framework.fields import Name, limit
from holdfast.ops.framework.operation import Nothing, Operation, Request
from holdfast.ops.snapshots.merge import merged_shape
from holdfast.ops.snapshots.restore import PLAIN_BEFORE, PREVIEW_FIRST, WAITING, damaged_shape
from holdfast.ops.snapshots.selection import audit_snapshot
from holdfast.snapshot.damaged_generations import all_damaged, discard
from holdfast.snapshot.recovery.salvage import SalvagedMemory, salvage
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.resolve import SnapshotSelector
from holdfast.snapshot.switch import live_of
from holdfast.store.damage import RESTORE


class DamagedAnswer(TypedDict):
    generations: list[Json]
    count: int
    next: NotRequired[str]  # what to do with the newest that is kept aside
    remove: NotRequired[str]  # how it is removed


def snapshot_damaged(ctx: CallContext, ask: Nothing) -> DamagedAnswer:
    """List damaged generations of the database: the live one, and those kept aside by restores."""
    context = snapshot_context(ctx)
    found = all_damaged(context, live_of(context))
    answer: DamagedAnswer = {"generations": [damaged_shape(one) for one in found], "count": len(found)}
    kept = next((one for one in found if not one.live), None)
    return {**answer, "next": kept.next, "remove": kept.removal} if kept else answer


class SnapshotSalvage(Request):
    generation: Name | None = Field(
        default=None, description="Damaged generation, as listed by snapshot damaged. Default: the newest."
    )
    dry_run: bool = Field(
        default=False, description="Preview what can be read and what would change. Nothing is changed."
    )
    yes: bool = Field(default=False, description="Confirm the change of the live memory.")
    identity: Name | None = Field(
        default=None, description="File with an age identity. The snapshot made before the change is encrypted for it."
    )
    plain_before: bool = Field(default=False, description=PLAIN_BEFORE)
    alone: bool = Field(
        default=False, description="Use only the readable rows, although a snapshot could be restored first."
    )
    limit: int = limit(100, 10_000)


class SnapshotSalvageAnswer(TypedDict):
    success: bool
    dryRun: bool
    source: str
    read: dict[str, int]  # sound rows by table
    lost: dict[str, int] | None  # rows that cannot be read; None: unknown from the damaged file
    inNeither: NotRequired[dict[str, int] | None]  # those of them that the live memory lacks too
    added: NotRequired[dict[str, int]]
    changed: NotRequired[dict[str, int]]
    removed: NotRequired[dict[str, int]]
    conflicts: NotRequired[list[Json]]
    conflictCount: NotRequired[int]
    generation: NotRequired[str | None]
    before: NotRequired[str | None]
    waiting: NotRequired[str]  # why the vault lacks the snapshot of what was live
    next: NotRequired[str]  # what to do now


def snapshot_salvage(ctx: CallContext, ask: SnapshotSalvage) -> SnapshotSalvageAnswer:
    """Recover the readable part of a damaged memory: every row with a correct checksum, and no other.

    After a restore the rows are merged into the live memory, which recovers what is newer than the snapshot. Without a
    snapshot they become the live memory. The damaged files are kept until snapshot discard removes them.
    """
    if not (ask.dry_run or ask.yes):
        raise InvalidRequest(
            "snapshot_salvage: this changes the live memory and requires confirmation", hint=PREVIEW_FIRST
        )
    named = SnapshotSelector("", identity=ask.identity, plain_before=ask.plain_before)
    done = salvage(snapshot_context(ctx), ask.generation, named, alone=ask.alone, dry_run=ask.dry_run)
    answer = _shape(done, ask)
    if not ask.dry_run:
        audit_snapshot(ctx, "snapshot_salvage", done.source, generation=done.generation)
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
    if done.snapshot is None:
        answer["inNeither"] = done.in_neither
    if ask.dry_run:
        return {**answer, "next": _next(done, ask)}  # type: ignore[typeddict-item]
    answer["generation"] = done.generation
    if done.merged is not None:
        answer["before"] = done.merged.before
        if done.merged.waiting:
            answer["waiting"] = f"{WAITING} {done.merged.waiting}"
    answer["next"] = (
        f"When you no longer need the damaged files, remove them: holdfast snapshot discard {done.source} --yes"
    )
    return answer  # type: ignore[return-value]


def _next(done: SalvagedMemory, ask: SnapshotSalvage) -> str:
    """The command that follows a dry run, with the options that it had."""
    if done.snapshot is not None:
        return f"Restore a snapshot first; salvage then adds the newer records: {RESTORE}"
    words = [
        *([ask.generation] if ask.generation else []),
        *(["--identity", quote(ask.identity)] if ask.identity else []),
        *(["--plain-before"] if ask.plain_before else []),
        *(["--alone"] if ask.alone else []),
    ]
    return f"Add them to the live memory: {' '.join(('holdfast snapshot salvage', *words, '--yes'))}"


class SnapshotDiscard(Request):
    generation: Name = Field(description="Damaged generation, as listed by snapshot damaged.")
    yes: bool = Field(default=False, description="Confirm the removal.")


class SnapshotDiscardAnswer(TypedDict):
    success: bool
    generation: str
    size: int


def snapshot_discard(ctx: CallContext, ask: SnapshotDiscard) -> SnapshotDiscardAnswer:
    """Remove the files of a damaged generation that was kept aside. This cannot be undone."""
    if not ask.yes:
        raise InvalidRequest("snapshot_discard: this removes files and requires confirmation", hint="Pass --yes.")
    gone = discard(snapshot_context(ctx), ask.generation)
    audit_snapshot(ctx, "snapshot_discard", gone.name)
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
        paths=("identity",),
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
