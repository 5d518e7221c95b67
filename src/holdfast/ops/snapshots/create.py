"""Operations on snapshots: create, list, status, show, verify, diff, search, export."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.bundle_names import is_bundle_path
from holdfast.core.disk import user_path
from holdfast.core.errors import Forbidden, SnapshotDamaged
from holdfast.core.model import DEFAULT_TENANT, CleanText, Json
from holdfast.core.times import iso
from holdfast.ops.framework.fields import CleanLabel, Name, Names, limit
from holdfast.ops.framework.operation import Nothing, Operation, Request
from holdfast.ops.query.past_context import snapshot_ctx
from holdfast.ops.query.search import Search, SearchAnswer, search
from holdfast.ops.snapshots.nexo import examine_nexo, is_nexo
from holdfast.ops.snapshots.selection import SnapshotName, SnapshotUse, check_whole, root_for, shown
from holdfast.recall.time.moments import parse_moment
from holdfast.snapshot.bundle.manifest import is_id
from holdfast.snapshot.bundle.types import Report
from holdfast.snapshot.create import CreateOptions, create
from holdfast.snapshot.diff import difference
from holdfast.snapshot.nexo.reader import NexoReport
from holdfast.snapshot.recovery.alternatives import instead
from holdfast.snapshot.recovery.auto_restore import FirstRestore, first_restore
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.repo.jobs import Job, State, recent_jobs
from holdfast.snapshot.repo.key_warnings import key_texts
from holdfast.snapshot.repo.paths import is_id_prefix
from holdfast.snapshot.resolve import LATEST, SnapshotSelector, examine, sought
from holdfast.snapshot.scrub import check_these
from holdfast.snapshot.undo import can_undo
from holdfast.snapshot.verify import fault_of
from holdfast.snapshot.wire import difference_shape, manifest_shape, report_shape


class SnapshotCreate(Request):
    label: CleanLabel = Field(default=CleanText(""), description="Description of the snapshot.")
    message: CleanLabel = Field(default=CleanText(""), description="The same as label, which comes first.")
    sign: bool | None = Field(default=None, description="Sign with the signing key of this memory.")
    encrypt: Names = Field(default=(), description="age recipients to encrypt for.")
    redact: bool | None = Field(default=None, description="Redact secrets in text files of memory folders.")
    to: Name | None = Field(default=None, description="Vault to copy the snapshot to.")


class SnapshotAnswer(TypedDict):
    success: bool
    id: str
    path: NotRequired[str]  # for root: other callers need not know where the server keeps its files
    snapshot: Json
    warnings: NotRequired[list[str]]  # about keys that may be lost


def snapshot_create(ctx: CallContext, ask: SnapshotCreate) -> SnapshotAnswer:
    """Create a sealed snapshot of the whole memory. Writes continue meanwhile.

    A snapshot can be verified, compared, searched and restored. Create one before a change that cannot be undone.
    """
    root_for(ctx, to=ask.to)
    if ask.redact is False and not ctx.caller.may("admin"):
        raise Forbidden("redact: disabling redaction requires the scope admin")
    if ask.encrypt and not ctx.caller.may("admin"):  # choosing the recipient takes the memory from its owner
        raise Forbidden("encrypt: choosing recipients requires the scope admin")
    context = snapshot_context(ctx)
    _check_sign(ctx, context, ask.sign)
    options = CreateOptions(
        label=ask.label or ask.message,
        sign=ask.sign,
        recipients=ask.encrypt or None,
        redact=ask.redact,
        vault=ask.to,
        most_per_hour=None if ctx.caller.may("admin") else ctx.settings.snapshot_hand_per_hour,
    )
    key_before = context.keyring.own()
    made = create(context, options)
    answer: SnapshotAnswer = {"success": True, "id": made.id, "snapshot": shown(ctx, made)}
    warnings = [*_key_made(context, key_before), *key_texts(context)]
    if ctx.caller.may("admin") and warnings:
        answer["warnings"] = warnings
    return {**answer, "path": str(made.path)} if ctx.caller.may("root") else answer


def _check_sign(ctx: CallContext, context: SnapshotContext, sign: bool | None) -> None:
    """A first key changes for every tenant what is trusted: a caller that may not make one must find one."""
    if sign and not ctx.caller.may("root") and context.keyring.own() is None:
        raise Forbidden("sign: this memory has no signing key yet, and only root may create one")
    if sign is False and ctx.settings.snapshot_sign and not ctx.caller.may("admin"):
        raise Forbidden("sign: the settings require signatures; omitting one requires the scope admin")


def _key_made(context: SnapshotContext, before: str | None) -> Iterator[str]:
    """Report that signing made this memory's first key, which the caller did not explicitly request."""
    own = context.keyring.own()
    if before is not None or own is None:
        return
    yield (
        f"A signing key was created: {own}. It is stored in keys/own.json of the data folder. From now on "
        "only snapshots signed with a trusted key are restored."
    )
    # A folder whose key was lost looks like one that never had a key, but for the snapshots in it.
    signers = {one.manifest.signer for one in context.repo.list() if one.manifest is not None}
    for signer in sorted(one for one in signers if one and not context.keyring.accepts(one)):
        yield (
            f"Earlier snapshots here are signed by {signer}, whose key is missing. If it is yours, go on trusting it: "
            f"holdfast key trust {signer}"
        )


class SnapshotList(Request):
    limit: int = limit(100, 10_000)
    check: bool = Field(
        default=False, description="Also verify snapshots that have not been checked; this reads them completely."
    )


class SnapshotsAnswer(TypedDict):
    snapshots: list[Json]
    count: int
    bytes: int
    undo: bool  # whether a restore can be undone


def snapshot_list(ctx: CallContext, ask: SnapshotList) -> SnapshotsAnswer:
    """List snapshots, newest first, each as verified, damaged or not checked.

    The list does not read the bundles. With check, unchecked snapshots are read and verified, which takes longer.
    """
    context = snapshot_context(ctx)
    found = context.repo.list()
    if ask.check:
        check_these(context, [one.id for one in found[: ask.limit]])
        found = context.repo.list()
    return {
        "snapshots": [shown(ctx, one) for one in found[: ask.limit]],
        "count": len(found),
        "bytes": context.repo.bytes(),
        "undo": can_undo(context),
    }


class SnapshotShowAnswer(TypedDict):
    snapshot: Json


def snapshot_show(ctx: CallContext, ask: SnapshotName) -> SnapshotShowAnswer:
    """Show the manifest of a snapshot: its contents, its signer, what was redacted or left out."""
    one = snapshot_context(ctx).repo.find(ask.id)
    return {"snapshot": shown(ctx, one) | (manifest_shape(one.manifest) if one.manifest else {})}


class SnapshotVerifyAnswer(TypedDict):
    snapshot: str
    sound: bool
    exitCode: int
    findings: list[Json]
    checked: list[str]
    unchecked: list[str]
    hint: NotRequired[str]  # what to do, if it is not sound


class SnapshotVerify(SnapshotUse):
    id: Name = Field(
        default=LATEST, description="Id of the snapshot, a prefix of the id, latest, or the path of a bundle."
    )


def snapshot_verify(ctx: CallContext, ask: SnapshotVerify) -> SnapshotVerifyAnswer:
    """Verify a snapshot, by default the newest: bytes, signature, sequence, owner, then every member.

    Bytes and signature are verified before anything is decompressed. Members of an encrypted snapshot are checked only
    if its identity is given; the response reports unchecked ones.
    """
    context, named = snapshot_context(ctx), ask.named(ctx)
    report: Report | NexoReport
    if is_nexo(ask.id):
        report = examine_nexo(ctx, ask.id, ask.identity)
    else:
        with sought(context, named) as found:
            report = examine(context, named, found)
    fault = fault_of(report)
    if isinstance(fault, SnapshotDamaged) and ctx.caller.may("root") and is_id(report.place) and not named.vault:
        fault.hint = instead(context, report.place, "holdfast snapshot verify {}") or fault.hint
    said = {"exitCode": fault.exit_code, "hint": fault.hint} if fault else {"exitCode": 0}
    return {**report_shape(report), **said}  # type: ignore[typeddict-item]


class SnapshotDiff(Request):
    a: Name = Field(description="The earlier snapshot, or a time: the memory as it was then.")
    b: Name | None = Field(default=None, description="The later snapshot, or a time. Default: the live memory.")
    identity: Name | None = Field(default=None, description="File with the age identity that decrypts them.")
    limit: int = limit(100, 10_000)


class SnapshotDiffAnswer(TypedDict):
    a: str
    b: str
    same: bool
    tables: list[Json]
    folders: list[Json]
    state: list[Json]
    warnings: NotRequired[list[str]]  # what is not known of a moment


def _side(ctx: CallContext, text: str, identity: str | None) -> SnapshotSelector:
    named = SnapshotUse(id=text, identity=identity).named(ctx)
    if text == LATEST or is_id_prefix(text) or is_bundle_path(text) or is_id(text):
        return named
    at = parse_moment(text, ctx.clock.now_ms())
    return named if at is None else dataclasses.replace(named, name=LATEST, moment=at)


def snapshot_diff(ctx: CallContext, ask: SnapshotDiff) -> SnapshotDiffAnswer:
    """Compare two snapshots, or one with the live memory: records by table, files, commits, state."""
    if ctx.settings.isolated and not ctx.caller.may("admin"):
        raise Forbidden("snapshot_diff: agents are isolated; this requires the scope admin")
    one = _side(ctx, ask.a, ask.identity)
    other = _side(ctx, ask.b, ask.identity) if ask.b else None
    found = difference(snapshot_context(ctx), one, other, ask.limit)
    answer: SnapshotDiffAnswer = difference_shape(found)  # type: ignore[assignment]
    return {**answer, "warnings": list(found.notes)} if found.notes else answer


class SnapshotSearch(Search):
    id: Name = Field(description="Snapshot to search: its id, a prefix of the id, or latest.")
    identity: Name | None = Field(default=None, description="File with the age identity that decrypts it.")


def snapshot_search(ctx: CallContext, ask: SnapshotSearch) -> SearchAnswer:
    """Search a snapshot without restoring it."""
    named = SnapshotUse(id=ask.id, identity=ask.identity).named(ctx)
    with snapshot_ctx(ctx, named) as (then, snapshot):
        return {**search(then, ask.model_copy(update={"at": None})), "snapshot": snapshot}


class SnapshotExport(SnapshotName):
    to: Name = Field(description="Folder to write the files of the bundle to.")


class SnapshotExportAnswer(TypedDict):
    success: bool
    id: str
    files: list[str]


def snapshot_export(ctx: CallContext, ask: SnapshotExport) -> SnapshotExportAnswer:
    """Copy a snapshot's files to a folder. Existing files are not overwritten."""
    check_whole(to=ask.to)
    repo = snapshot_context(ctx).repo
    id = repo.find(ask.id).id
    return {"success": True, "id": id, "files": [str(one) for one in repo.export(id, user_path(ask.to, "to"))]}


class SnapshotStatusAnswer(TypedDict):
    running: bool
    works: list[Json]
    restored: NotRequired[Json]  # the empty data folder was filled from the vault: id, createdAt, restoredAt, message


def snapshot_status(ctx: CallContext, ask: Nothing) -> SnapshotStatusAnswer:
    """Show running snapshot operations, and the result of recent ones.

    Use it after a timeout: creating or restoring a snapshot continues in the server.
    """
    context = snapshot_context(ctx)
    every = recent_jobs(context.home)
    own = [(one, state) for one, state in every if (one.tenant, one.agent) == (context.tenant, context.agent)]
    # Only the operator of the server sees what other tenants do.
    seen = every if ctx.caller.may("root") else own
    running = any(state == "running" for _, state in seen)
    answer: SnapshotStatusAnswer = {"running": running, "works": [_work_shape(one, state) for one, state in own]}
    found = first_restore(context.home) if context.tenant == DEFAULT_TENANT else None
    return {**answer, "restored": _restored_shape(found)} if found else answer


def _restored_shape(found: FirstRestore) -> Json:
    return {
        "id": found.id,
        "createdAt": iso(found.created_at),
        "restoredAt": iso(found.restored_at),
        "message": found.message,
    }


def _work_shape(work: Job, state: State) -> Json:
    return {
        "operation": work.operation,
        "status": state,
        "startedAt": iso(work.began),
        "endedAt": iso(work.ended) if work.ended is not None else None,
        "code": work.code,
        "message": work.message,
        "about": work.about,
    }


SNAPSHOTS = (
    Operation(
        snapshot_create,
        "POST",
        "/snapshots",
        effect="write",
        status=201,
        tool="memory_snapshot_create",
        cli="snapshot create",
        paths=("to",),
        long=True,
    ),
    Operation(snapshot_list, "GET", "/snapshots", tool="memory_snapshot_list", cli="snapshot list", long=True),
    Operation(snapshot_status, "GET", "/snapshots/status", tool="memory_snapshot_status", cli="snapshot status"),
    Operation(
        snapshot_show,
        "GET",
        "/snapshots/{id}",
        tool="memory_snapshot_show",
        cli="snapshot show",
        positional=("id",),
    ),
    Operation(
        snapshot_verify,
        "POST",
        "/snapshots/verify",
        tool="memory_snapshot_verify",
        cli="snapshot verify",
        positional=("id",),
        paths=("id", "from", "identity"),
        long=True,
    ),
    Operation(
        snapshot_diff,
        "POST",
        "/snapshots/diff",
        tool="memory_snapshot_diff",
        cli="snapshot diff",
        positional=("a", "b"),
        paths=("a", "b", "identity"),
        long=True,
    ),
    Operation(
        snapshot_search,
        "POST",
        "/snapshots/search",
        tool="memory_snapshot_search",
        cli="snapshot search",
        positional=("id", "query"),
        paths=("id", "identity"),
        long=True,
    ),
    Operation(
        snapshot_export,
        "POST",
        "/snapshots/export",
        effect="write",
        scope="root",  # it writes files of the user who runs the server
        cli="snapshot export",
        positional=("id",),
        paths=("to",),
        long=True,
    ),
)
