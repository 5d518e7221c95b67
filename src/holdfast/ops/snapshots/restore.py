"""Operations that replace the live memory: restore and undo; and mend after an interrupted restore."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from pathlib import Path
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.disk import user_path
from holdfast.core.errors import Fault, Forbidden, InvalidRequest
from holdfast.core.model import Json
from holdfast.core.times import iso
from holdfast.ops.framework.fields import Name, When, limit, moment
from holdfast.ops.framework.operation import Nothing, Operation, Request
from holdfast.ops.snapshots.selection import SnapshotUse, audit_snapshot, check_did, check_whole, offering, root_for
from holdfast.snapshot.damaged_generations import SEE, DamagedGeneration, damaged_generations
from holdfast.snapshot.recovery.alternatives import RESTORE_COMMAND, also_in_vault, damaged_after
from holdfast.snapshot.remote.forks import fork_notices_of
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.repo.paths import sequence_of
from holdfast.snapshot.resolve import LATEST, SnapshotSelector
from holdfast.snapshot.restore import RestoreResult, branch, preview, restore
from holdfast.snapshot.sources.swap_recovery import mend_folders
from holdfast.snapshot.undo import undo
from holdfast.snapshot.wire import difference_shape

PLAIN_BEFORE = "Do not encrypt the snapshot made before the change, even if snapshots are encrypted."
PREVIEW_FIRST = "Preview with --dry-run, then pass --yes (REST and MCP: yes)."
WAITING = "The snapshot made before the restore is not in the vault yet:"
LEFT_BEHIND = "Unreadable tokens, unsent events and other tenants' records remain in the old files only."


class SnapshotRestore(SnapshotUse):
    id: Name = Field(
        default=LATEST, description="Id of the snapshot, a prefix of the id, latest, or the path of a bundle."
    )
    at: When | None = Field(
        default=None,
        description="Restore the memory as it was at this time: the newest snapshot before it, and the journal in the "
        "vault from there. A time such as 14:03:20 is the last one that a clock showed; without a zone it is UTC.",
    )
    partial: bool = Field(
        default=False,
        description="Restore up to where the journal is damaged or incomplete, and report what is missing.",
    )
    dry_run: bool = Field(default=False, description="Preview all changes. Nothing is changed.")
    yes: bool = Field(default=False, description="Confirm the replacement of the live memory.")
    take_over: Name | None = Field(
        default=None, alias="as", description="Restore another agent's memory as this agent's."
    )
    trust: Name | None = Field(
        default=None, description="did:key of the signer. It is trusted from now on if it signed this snapshot."
    )
    plain_before: bool = Field(default=False, description=PLAIN_BEFORE)
    into: Name | None = Field(default=None, description="Restore into this new folder instead of the live memory.")
    alone: bool = Field(
        default=False,
        description="Do not carry over tokens and other tenants, if the live memory is too damaged to read them.",
    )
    limit: int = limit(100, 10_000)


class SnapshotRestoreAnswer(TypedDict):
    success: bool
    snapshot: str
    dryRun: bool
    generation: NotRequired[str]
    before: NotRequired[str | None]
    path: NotRequired[str]
    rows: NotRequired[dict[str, int]]
    folders: NotRequired[list[str]]
    leftBehind: NotRequired[str]
    upto: NotRequired[str]  # the moment to which the journal brought it
    missing: NotRequired[list[str]]  # what is known to have been written later and could not be restored
    waiting: NotRequired[str]  # why the vault lacks the snapshot of what was live
    warnings: NotRequired[list[str]]  # about what other hosts sent to the same vault
    difference: NotRequired[Json]
    damaged: NotRequired[list[Json]]  # generations that were found damaged and are kept
    next: NotRequired[str]  # how to proceed with them


def snapshot_restore(ctx: CallContext, ask: SnapshotRestore) -> SnapshotRestoreAnswer:
    """Replace the live memory with a snapshot. The previous memory is saved first and can be restored with undo.

    With dryRun, only shows what would change. With into, restores into a new folder instead.
    """
    root_for(ctx, into=ask.into, trust=ask.trust)
    check_whole(into=ask.into)
    if ask.alone and not ctx.caller.may("root"):
        raise Forbidden("alone: leaving out other tenants requires root")
    check_did(trust=ask.trust)
    context = snapshot_context(ctx)
    use = ask.named(ctx, take_over=ask.take_over, trust=ask.trust)
    named = dataclasses.replace(use, plain_before=ask.plain_before, partial=ask.partial)
    at = _moment_of(ctx, ask)
    named = also_in_vault(context, named) if at is None else dataclasses.replace(named, moment=at)
    with offering(ctx, context, named, RESTORE_COMMAND):
        if ask.dry_run:
            return _previewed(context, named, ask)
        if ask.into:
            made = branch(context, named, Path(ask.into))
            return {**_restored_shape(made), "path": str(user_path(ask.into, "into").resolve())}
        if not ask.yes:
            raise InvalidRequest(
                "snapshot_restore: this replaces the live memory and requires confirmation",
                hint=PREVIEW_FIRST,
            )
        made = restore(context, named, alone=ask.alone)
    signers = {made.manifest.signer} | (made.journal.signers if made.journal else set())
    if ask.trust and ask.trust in signers:
        context.keyring.trust(ask.trust, "signed what was restored")
    past = {"other": made.past} if made.past else {}
    audit_snapshot(ctx, "snapshot_restore", made.manifest.identity.id, generation=made.generation, **past)
    answer = _with_notes(context, named, made)
    if ask.trust and ask.trust not in signers:
        unused = f"{ask.trust} did not sign this snapshot and was not added to the trusted keys."
        answer["warnings"] = [*answer.get("warnings", []), unused]
    return answer


def _moment_of(ctx: CallContext, ask: SnapshotRestore) -> int | None:
    if ask.at is not None and ask.id != LATEST:
        raise InvalidRequest("at: a snapshot was named as well", hint="Pass an id or --at, not both.")
    return moment(ctx, ask.at, "at")


def _previewed(context: SnapshotContext, named: SnapshotSelector, ask: SnapshotRestore) -> SnapshotRestoreAnswer:
    changes = preview(context, named, ask.limit, replaces=not ask.into)
    answer: SnapshotRestoreAnswer = {"success": True, "snapshot": changes.b, "dryRun": True}
    if warnings := [*changes.notes, *_passed_over(context, named, changes.b)]:
        answer["warnings"] = warnings
    return {**answer, "difference": difference_shape(changes)}


def _with_notes(context: SnapshotContext, named: SnapshotSelector, made: RestoreResult) -> SnapshotRestoreAnswer:
    """The answer with its warnings and next steps."""
    answer = _restored_shape(made)
    if made.damaged:
        answer["damaged"] = [
            damaged_shape(one) for one in damaged_generations(context.home) if one.name in made.damaged
        ]
        answer["next"] = (
            f"The damaged memory has been kept. Preview what it has that is newer than this snapshot: {SEE}"
        )
    if made.alone:
        answer["leftBehind"] = LEFT_BEHIND
    if made.waiting:
        answer["waiting"] = f"{WAITING} {made.waiting}"
    warnings = _of_lines(context, named.vault) if named.vault else []
    if made.journal is not None:
        warnings = [*warnings, *made.journal.notes]
    if warnings := [*warnings, *_passed_over(context, named, made.manifest.identity.id)]:
        answer["warnings"] = warnings
    return answer


def _passed_over(context: SnapshotContext, named: SnapshotSelector, id: str) -> list[str]:
    """Report that `latest` is not the newest, as a newer one is damaged."""
    if named.vault or named.moment is not None or named.name != LATEST:
        return []
    return [
        f"Snapshot {one.id} is newer but damaged, so {id} was used. Writes made between the two are not included."
        for one in damaged_after(context, sequence_of(id))
    ]


def _of_lines(context: SnapshotContext, place: str) -> list[str]:
    """Notices about forks. A failing vault must not fail a restore that is done."""
    try:
        return fork_notices_of(context, place)
    except Fault:
        return []


def _restored_shape(made: RestoreResult) -> SnapshotRestoreAnswer:
    shape: SnapshotRestoreAnswer = {
        "success": True,
        "snapshot": made.manifest.identity.id,
        "dryRun": False,
        "generation": made.generation,
        "before": made.before,
        "rows": made.rows,
        "folders": list(made.folders),
    }
    if made.journal is not None:
        shape["upto"] = iso(made.journal.upto)
        if made.journal.missing:
            shape["missing"] = list(made.journal.missing)
    return shape


def damaged_shape(one: DamagedGeneration) -> Json:
    """A damaged generation, what is offered for it and how it goes."""
    shape: Json = {"id": one.name, "path": str(one.path), "size": one.size, "why": one.why, "live": one.live}
    return shape if one.live else {**shape, "next": one.next, "remove": one.removal}


class SnapshotUndo(Request):
    yes: bool = Field(default=False, description="Not required: the live memory is saved in a snapshot first.")
    identity: Name | None = Field(
        default=None, description="File with the age identity that decrypts encrypted snapshots."
    )
    plain_before: bool = Field(default=False, description=PLAIN_BEFORE)


class SnapshotUndoAnswer(TypedDict):
    success: bool
    generation: str
    before: str | None
    waiting: NotRequired[str]


def snapshot_undo(ctx: CallContext, ask: SnapshotUndo) -> SnapshotUndoAnswer:
    """Undo the last restore. The memory from before it becomes the live one again."""
    root_for(ctx, identity=ask.identity)
    done = undo(snapshot_context(ctx), SnapshotSelector(LATEST, identity=ask.identity, plain_before=ask.plain_before))
    audit_snapshot(ctx, "snapshot_undo", done.generation)
    answer: SnapshotUndoAnswer = {"success": True, "generation": done.generation, "before": done.before}
    return {**answer, "waiting": f"{WAITING} {done.waiting}"} if done.waiting else answer


class SnapshotMendAnswer(TypedDict):
    success: bool
    mended: list[Json]


def snapshot_mend(ctx: CallContext, ask: Nothing) -> SnapshotMendAnswer:
    """Repair memory folders after a restore that could not finish, for example with a damaged journal.

    Nothing is removed. What cannot be put in place is moved aside; the response names the location.
    """
    done = mend_folders(snapshot_context(ctx))
    if done:
        with suppress(Fault):  # also where the store cannot be opened
            audit_snapshot(ctx, "snapshot_mend", "", mended=[one.name for one in done])
    return {"success": True, "mended": [{"name": one.name, "change": one.how, "path": str(one.path)} for one in done]}


RESTORING = (
    Operation(
        snapshot_restore,
        "POST",
        "/snapshots/restore",
        effect="destroy",
        scope="admin",
        tool="memory_snapshot_restore",
        cli="snapshot restore",
        positional=("id",),
        paths=("id", "from", "identity", "into"),
        long=True,
    ),
    Operation(
        snapshot_undo,
        "POST",
        "/snapshots/undo",
        effect="destroy",
        scope="admin",
        tool="memory_snapshot_undo",
        cli="snapshot undo",
        paths=("identity",),
        long=True,
    ),
    Operation(snapshot_mend, "POST", "/snapshots/mend", effect="write", scope="root", cli="snapshot mend", long=True),
)
