"""Operations on vaults: status, list, verify, prune, copy, sync. They use the server's credentials and require root."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.disk import disk_faults, make_folder
from holdfast.core.errors import Conflict, InvalidRequest, SnapshotDamaged
from holdfast.core.model import Json
from holdfast.core.times import DAY_MS, iso
from holdfast.ops.framework.fields import Name, limit
from holdfast.ops.framework.operation import Operation, Request
from holdfast.ops.snapshots.follow import FollowShape, follow_fields
from holdfast.ops.snapshots.remove import KeepRules
from holdfast.ops.snapshots.selection import VaultName
from holdfast.ops.snapshots.vault_check import vault_verify
from holdfast.snapshot.journal.journal_layout import list_journal, total_size
from holdfast.snapshot.recovery.pending_restore import end_waiting, is_waiting
from holdfast.snapshot.recovery.restore_hints import ANOTHER_VAULT
from holdfast.snapshot.remote.colony import is_colony
from holdfast.snapshot.remote.forks import Fork, fork_notices, held_by
from holdfast.snapshot.remote.protection import look_at_protection
from holdfast.snapshot.remote.transfer import VaultEntry, is_folder, is_missing
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.sync.vault_maintenance import CopyResult, VaultStatus
from holdfast.snapshot.sync.vault_target import copy_between_vaults
from holdfast.store.damage import RESTORE
from holdfast.vault.credentials import with_only

MOST = 100_000
ABSENT = "The folder does not exist yet; the first upload creates it. Check its name, and that its disk is mounted."


def _shape(one: VaultEntry) -> Json:
    layout = "chunks" if one.chunked else "whole"
    return {"id": one.id, "size": one.size, "layout": layout, "status": one.damaged or "complete"}


def _line_shape(number: int, line: Fork, held: set[str]) -> Json:
    return {
        "line": number,
        "id": line.newest,
        "label": line.label,
        "createdAt": iso(line.created_at),
        "snapshots": len(line.ids),
        "signer": line.signer,
        "here": line.newest in held,
    }


def _with_lines(context: SnapshotContext, lines: Sequence[Fork], place: str) -> Json:
    """The fields of an answer about forks: the forks, and how to merge those that are not here."""
    if not lines:
        return {}
    held = held_by(context)
    shown = [_line_shape(number, line, held) for number, line in enumerate(lines, 1)]
    warnings = fork_notices(lines, held, place)
    return {"lines": shown, **({"warnings": warnings} if warnings else {})}


class VaultStatusAnswer(TypedDict):
    place: str
    public: bool
    free: int | None
    snapshots: int
    bytes: int
    newest: str | None
    here: bool  # this memory made, restored or merged one of them
    damaged: list[Json]
    missing: list[str]
    leftovers: int
    packs: int
    packBytes: int
    follow: NotRequired[FollowShape]  # of a read-only copy: whom it follows, and how far behind
    protection: NotRequired[Json]  # what keeps the newest snapshot from being removed, and until when
    journal: NotRequired[Json]  # what it has of the journal, and how far that is behind
    lines: NotRequired[list[Json]]  # where several hosts sent: the newest of each, and whether this memory holds it
    warnings: NotRequired[list[str]]  # what to do about forks that it lacks, or that there is no such folder yet


def vault_status(ctx: CallContext, ask: VaultName) -> VaultStatusAnswer:
    """Show the status of a vault: whether it is reachable, which snapshots it holds, and which are missing."""
    context = snapshot_context(ctx)
    vault = ask.target(context)
    found = vault.standing()
    absent: Json = {"warnings": [ABSENT]} if found.absent else {}
    return {
        "place": vault.place,
        "public": found.state.public,
        "free": found.state.free,
        "snapshots": len(found.snapshots),
        "bytes": sum(one.size for one in found.snapshots),
        "newest": next((one.id for one in found.snapshots if not one.damaged), None),
        "here": not found.absent and _is_here(context, found.snapshots),
        "damaged": [_shape(one) for one in found.snapshots if one.damaged],
        "missing": list(found.missing),
        "leftovers": found.leftovers,
        "packs": found.packs,
        "packBytes": found.pack_bytes,
        **_about(ctx, context, ask, found, absent),  # type: ignore[typeddict-item]
    }


def _about(ctx: CallContext, context: SnapshotContext, ask: VaultName, found: VaultStatus, absent: Json) -> Json:
    kept = {} if found.absent else _protection_shape(context, ask, found.snapshots)
    lines = absent or _with_lines(context, found.lines, ask.named(context))
    shape = kept | _journal_shape(ctx, context, ask) | lines
    return shape | follow_fields(ctx, shape) if ask.named(context) == context.settings.vault else shape


def _protection_shape(context: SnapshotContext, ask: VaultName, found: tuple[VaultEntry, ...]) -> Json:
    """Of the newest snapshot. A Colony vault keeps nothing from whoever has its key."""
    place = ask.named(context)
    if is_colony(place):
        return {}
    seen = look_at_protection(context, place, found)
    shape: Json = {"addOnly": seen.add_only, "mayDelete": seen.may_delete, "protected": seen.any}
    if seen.newest is not None:
        until = seen.newest.until
        shape |= {"by": seen.newest.by, "until": None if until is None else iso(until), "files": seen.looked_at}
        if until is not None:
            shape["days"] = round((until - context.clock.now_ms()) / DAY_MS, 1)
    return {"protection": shape}


def _journal_shape(ctx: CallContext, context: SnapshotContext, ask: VaultName) -> Json:
    """Of the journal in the vault, if there is one, and whether it is this server's."""
    place = ask.named(context)
    if is_colony(place):
        return {}
    found = list_journal(context.vault(place), context.tenant, context.agent)
    lag = ctx.journal.of(ctx.tenant) if place == ctx.settings.vault else None
    if not found and lag is None:
        return {}
    shape: Json = {"lines": len(found), "objects": sum(map(len, found.values())), "bytes": total_size(found.values())}
    if lag is not None:
        shape |= {"behindSeconds": lag.seconds(ctx.clock.now_ms()), "waiting": lag.pieces}
        shape |= {"fault": lag.fault} if lag.fault else {}
    return {"journal": shape}


def _is_here(context: SnapshotContext, snapshots: Sequence[VaultEntry]) -> bool:
    return not snapshots or not held_by(context).isdisjoint(one.id for one in snapshots)


class VaultInitAnswer(TypedDict):
    success: bool
    place: str
    waited: bool  # whether the data folder waited for a memory in it
    next: NotRequired[str]  # what is missing before the server uses it


def vault_init(ctx: CallContext, ask: VaultName) -> VaultInitAnswer:
    """Declare a vault as new. A data folder that waits to be restored from it then starts empty.

    The folder of the vault is created if needed. A vault that holds snapshots of this memory is rejected.
    """
    context = snapshot_context(ctx)
    target = ask.target(context)
    vault = None if is_colony(ask.named(context)) else context.vault(ask.named(context))
    if vault is not None and is_missing(vault):
        with disk_faults(f"make {vault.place}"):
            make_folder(Path(vault.place))
    if found := target.standing().snapshots:
        raise Conflict(
            f"vault: {target.place} holds snapshots of this memory; the newest is {found[0].id}",
            hint=f"Restore it: {RESTORE}; or, to begin with an empty memory, {ANOTHER_VAULT}",
        )
    waited = is_waiting(context.home)
    end_waiting(context.home)
    if ctx.live is not None:
        ctx.live.try_again()
    answer: VaultInitAnswer = {"success": True, "place": target.place, "waited": waited}
    if not ctx.settings.vault:
        answer["next"] = f"Set HOLDFAST_VAULT={quote(target.place)}: without it nothing goes there by itself."
    return answer


class VaultList(VaultName):
    limit: int = limit(100, 10_000)


class VaultListAnswer(TypedDict):
    place: str
    snapshots: list[Json]
    count: int
    bytes: int
    lines: NotRequired[list[Json]]
    warnings: NotRequired[list[str]]


def vault_list(ctx: CallContext, ask: VaultList) -> VaultListAnswer:
    """List this memory's snapshots in a vault, newest first. Incomplete ones are shown as damaged.

    If several hosts wrote to the vault, snapshots of one host have the same `line`.
    """
    context = snapshot_context(ctx)
    vault = ask.target(context)
    found = vault.list()
    lines = vault.lines(found)
    numbers = {id: number for number, line in enumerate(lines, 1) for id in line.ids}
    return {
        "place": vault.place,
        "snapshots": [
            _shape(one) | ({"line": numbers[one.id]} if one.id in numbers else {}) for one in found[: ask.limit]
        ],
        "count": len(found),
        "bytes": sum(one.size for one in found),
        **_with_lines(context, lines, ask.named(context)),  # type: ignore[typeddict-item]
    }


class VaultPrune(VaultName, KeepRules):
    credentials: Name | None = Field(
        default=None,
        description="File with keys that may delete, as lines NAME=value, for this command only: where the usual "
        "credential may only add.",
    )
    tidy: bool = Field(default=False, description="Also remove incomplete uploads. No other host may be uploading.")
    dry_run: bool = Field(default=False, description="Preview what would be removed. Nothing is removed.")


class VaultPruneAnswer(TypedDict):
    success: bool
    place: str
    dryRun: bool
    keep: list[Json]
    remove: list[str]
    leftovers: int
    packs: Json
    journal: int  # objects of the journal that went


def _with_keys(context: SnapshotContext, ask: VaultPrune) -> SnapshotContext:
    """The context with the keys of the file that is named."""
    if ask.credentials is None:
        return context
    place = ask.named(context)
    if not is_colony(place) and is_folder(context.vault(place)):
        raise InvalidRequest("vault_prune: a folder has no credentials", hint="Prune it without --credentials.")
    return dataclasses.replace(context, settings=with_only(context.settings, ask.credentials))


def vault_prune(ctx: CallContext, ask: VaultPrune) -> VaultPruneAnswer:
    """Remove snapshots from a vault that no retention rule keeps; never the newest intact one.

    The newest snapshot of another host is also kept until it has been merged here. Where this host may only add to
    the vault, pass a file with keys that may delete.
    """
    policy = ask.policy("vault_prune", may_be_empty=ask.tidy)
    context = _with_keys(snapshot_context(ctx), ask)
    vault = ask.target(context)
    done = vault.prune(policy, tidy=ask.tidy, dry_run=ask.dry_run)
    if done.removed:
        ctx.store.write(lambda tx: ctx.audit(tx, "vault_prune", done.removed, None, place=vault.place))
    return {
        "success": True,
        "place": vault.place,
        "dryRun": ask.dry_run,
        "keep": [{"id": id, "why": list(reasons)} for id, reasons in done.plan.keep],
        "remove": list(done.plan.remove if ask.dry_run else done.removed),
        "leftovers": done.leftovers,
        "packs": {
            "removed": done.swept.packs,
            "bytes": done.swept.size,
            "waiting": done.swept.waiting,
            "kept": done.unswept,
        },
        "journal": done.journal,
    }


class VaultMovedAnswer(TypedDict):
    sound: bool
    exitCode: int
    place: str
    sent: list[Json]
    sentBytes: int
    remaining: int
    remainingBytes: int
    damaged: list[Json]


def _moved(place: str, done: CopyResult) -> VaultMovedAnswer:
    return {
        "sound": not done.damaged,
        "exitCode": SnapshotDamaged.exit_code if done.damaged else 0,
        "place": place,
        "sent": [{"id": one.id, "size": one.size, "sentBytes": one.new_bytes} for one in done.sent],
        "sentBytes": sum(one.new_bytes for one in done.sent),
        "remaining": len(done.remaining),
        "remainingBytes": sum(size for _, size in done.remaining),
        "damaged": [{"id": id, "status": why} for id, why in done.damaged],
    }


class VaultCopy(Request):
    source: Name = Field(alias="from", description="Vault to copy from.")
    to: Name = Field(description="Vault to copy to.")
    limit: int = limit(MOST, MOST)


def vault_copy(ctx: CallContext, ask: VaultCopy) -> VaultMovedAnswer:
    """Copy this memory's missing snapshots from one vault to another. Each is verified during the copy."""
    return _moved(*copy_between_vaults(snapshot_context(ctx), ask.source, ask.to, ask.limit))


class VaultSync(VaultName):
    limit: int = limit(MOST, MOST)


def vault_sync(ctx: CallContext, ask: VaultSync) -> VaultMovedAnswer:
    """Upload all missing snapshots to a vault, newest first. Interrupted uploads are resumed."""
    context = snapshot_context(ctx)
    vault = ask.target(context)
    return _moved(vault.place, vault.sync(ask.limit))


VAULTS = (
    Operation(
        vault_status,
        "GET",
        "/vault",
        scope="root",
        cli="vault status",
        positional=("vault",),
        paths=("vault",),
        long=True,
    ),
    Operation(
        vault_init,
        "POST",
        "/vault/init",
        effect="write",
        scope="root",
        cli="vault init",
        positional=("vault",),
        paths=("vault",),
        long=True,
    ),
    Operation(
        vault_list,
        "GET",
        "/vault/snapshots",
        scope="root",
        cli="vault list",
        positional=("vault",),
        paths=("vault",),
        long=True,
    ),
    Operation(
        vault_verify,
        "POST",
        "/vault/verify",
        scope="root",
        cli="vault verify",
        positional=("vault",),
        paths=("vault", "identity"),
        long=True,
    ),
    Operation(
        vault_prune,
        "POST",
        "/vault/prune",
        effect="destroy",
        scope="root",
        cli="vault prune",
        positional=("vault",),
        paths=("vault", "credentials"),
        asks=True,
        long=True,
    ),
    Operation(
        vault_copy,
        "POST",
        "/vault/copy",
        effect="write",
        scope="root",
        cli="vault copy",
        positional=("from", "to"),
        paths=("from", "to"),
        steps=True,
        long=True,
    ),
    Operation(
        vault_sync,
        "POST",
        "/vault/sync",
        effect="write",
        scope="root",
        cli="vault sync",
        positional=("vault",),
        paths=("vault",),
        steps=True,
        long=True,
    ),
)
