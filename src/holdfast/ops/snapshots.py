"""Operations on snapshots: create, list, show, verify, diff, search, restore, undo, export, delete, prune, import."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from pathlib import Path
from typing import Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.desk import Desk
from holdfast.errors import Fault, Forbidden, InvalidRequest
from holdfast.model import CleanText, Json
from holdfast.ops.declare import Nothing, Operation, Request
from holdfast.ops.fields import CleanLabel, Name, Names, limit
from holdfast.ops.foreign import examine_nexo, is_nexo
from holdfast.ops.past import snapshot_desk
from holdfast.ops.recalling import Search, SearchAnswer, search
from holdfast.snapshot import keeping
from holdfast.snapshot.archive import Archive, archive_of
from holdfast.snapshot.checking import check_these
from holdfast.snapshot.difference import difference, preview
from holdfast.snapshot.finding import LATEST, Named, examine, sought
from holdfast.snapshot.flow import Wish, create
from holdfast.snapshot.folder_mending import mend_folders
from holdfast.snapshot.key_care import key_warnings
from holdfast.snapshot.nexo import NexoReport
from holdfast.snapshot.restore import Restored, branch, restore, undo
from holdfast.snapshot.retention import Policy
from holdfast.snapshot.shapes import difference_shape, manifest_shape, report_shape, shelved_shape
from holdfast.snapshot.shelved import Shelved
from holdfast.snapshot.values import Report
from holdfast.snapshot.verify import fault_of
from holdfast.snapshot.works import State, Work, told_works
from holdfast.times import iso

PLAIN_BEFORE = "Keep what is live in the clear, though snapshots are encrypted."
WAITING = "The vault gets the snapshot of what was live later:"
LEFT_BEHIND = "What was live cannot be read: its tokens, unsent events and other tenants stay in its old files."


def _root_for(desk: Desk, **given: object) -> None:
    """Files and places of the user who runs the server are for root alone."""
    for name, value in given.items():
        if value and not desk.caller.may("root"):
            raise Forbidden(f"{name}: this credential reaches no files of the server")


def _check_whole(**given: str | None) -> None:
    """Whoever asks a server does not know which folder it stands in; the command line makes its paths whole."""
    for name, path in given.items():
        if path and not Path(path).expanduser().is_absolute():
            raise InvalidRequest(f"{name}: must be a whole path, from / on")


def _shown(desk: Desk, one: Shelved) -> Json:
    """The snapshot as a caller may see it."""
    shape = shelved_shape(one)
    return shape | {"path": str(one.path)} if desk.caller.may("root") else shape


class SnapshotCreate(Request):
    label: CleanLabel = Field(default=CleanText(""), description="A name for people.")
    sign: bool | None = Field(default=None, description="Sign it with this memory's own key.")
    encrypt: Names = Field(default=(), description="age recipients who can open it.")
    redact: bool | None = Field(default=None, description="Take secrets out of memory folders' text.")
    to: Name | None = Field(default=None, description="Vault that gets a copy.")


class SnapshotAnswer(TypedDict):
    success: bool
    id: str
    path: NotRequired[str]  # for root: where the server keeps its files is nobody else's concern
    snapshot: Json
    warnings: NotRequired[list[str]]  # about keys that would be missed


def snapshot_create(desk: Desk, ask: SnapshotCreate) -> SnapshotAnswer:
    """Make a sealed snapshot of the whole memory as it is now, while others go on writing.

    It can be verified, compared, searched and restored later. Use it before something that cannot be undone.
    """
    _root_for(desk, to=ask.to)
    if ask.redact is False and not desk.caller.may("admin"):
        raise Forbidden("redact: only an admin may keep secrets in a snapshot")
    if ask.encrypt and not desk.caller.may("admin"):  # whoever chooses the reader takes the memory from its owner
        raise Forbidden("encrypt: only an admin may say who can open a snapshot")
    archive = archive_of(desk)
    _check_sign(desk, archive, ask.sign)
    wish = Wish(
        label=ask.label,
        sign=ask.sign,
        recipients=ask.encrypt or None,
        redact=ask.redact,
        vault=ask.to,
        most_per_hour=None if desk.caller.may("admin") else desk.settings.snapshot_hand_per_hour,
    )
    made = create(archive, wish)
    answer: SnapshotAnswer = {"success": True, "id": made.id, "snapshot": _shown(desk, made)}
    if desk.caller.may("admin") and (warnings := key_warnings(archive)):
        answer["warnings"] = warnings
    return {**answer, "path": str(made.path)} if desk.caller.may("root") else answer


def _check_sign(desk: Desk, archive: Archive, sign: bool | None) -> None:
    """A first key changes for every tenant what is trusted: whoever may not make one must find one."""
    if sign and not desk.caller.may("root") and archive.keyring.own() is None:
        raise Forbidden("sign: this server has no key yet, and only root makes one")
    if sign is False and desk.settings.snapshot_sign and not desk.caller.may("admin"):
        raise Forbidden("sign: the settings want signatures; only an admin may leave one out")


class SnapshotList(Request):
    limit: int = limit(100, 10_000)
    check: bool = Field(default=False, description="Read to their end those that were not checked before.")


class SnapshotsAnswer(TypedDict):
    snapshots: list[Json]
    count: int
    bytes: int


def snapshot_list(desk: Desk, ask: SnapshotList) -> SnapshotsAnswer:
    """List snapshots, newest first: verified, damaged, or not checked since they were last written.

    Nothing large is read for a list; with check those are that were not checked, which takes as long as reading them.
    """
    archive = archive_of(desk)
    found = archive.shelf.list()
    if ask.check:
        check_these(archive, [one.id for one in found[: ask.limit]])
        found = archive.shelf.list()
    return {
        "snapshots": [_shown(desk, one) for one in found[: ask.limit]],
        "count": len(found),
        "bytes": sum(one.size for one in found),
    }


class SnapshotName(Request):
    id: Name = Field(description="Its id, the beginning of one, or latest.")


class SnapshotShowAnswer(TypedDict):
    snapshot: Json


def snapshot_show(desk: Desk, ask: SnapshotName) -> SnapshotShowAnswer:
    """Show what a snapshot says about itself: what it holds, who sealed it, what was redacted or left out."""
    one = archive_of(desk).shelf.find(ask.id)
    return {"snapshot": _shown(desk, one) | (manifest_shape(one.manifest) if one.manifest else {})}


class SnapshotUse(Request):
    """A snapshot that is to be opened."""

    id: Name = Field(description="Its id, the beginning of one, latest, or the path of a bundle.")
    source: Name | None = Field(default=None, alias="from", description="Vault to fetch it from.")
    identity: Name | None = Field(default=None, description="File with the age identity that opens it.")
    allow_older: bool = Field(default=False, description="Though a newer one is known.")
    allow_unsigned: bool = Field(default=False, description="Though signatures are expected.")

    def named(self, desk: Desk, *, take_over: str | None = None) -> Named:
        """What it means.

        Raises:
            Forbidden: it names a file or place of the server, and the caller is not root.
        """
        path = self.id if "/" in self.id or self.id.endswith((".json", ".zst", ".age", ".sha256")) else None
        _root_for(desk, id=path, **{"from": self.source}, identity=self.identity)
        if (self.allow_older or self.allow_unsigned) and not desk.caller.may("admin"):
            raise Forbidden("allowOlder, allowUnsigned: only an admin may waive a check")
        waived = {"allow_older": self.allow_older, "allow_unsigned": self.allow_unsigned}
        return Named(self.id, self.source, self.identity, take_over=take_over, **waived)


class SnapshotVerifyAnswer(TypedDict):
    snapshot: str
    sound: bool
    exitCode: int
    findings: list[Json]
    checked: list[str]
    unchecked: list[str]
    hint: NotRequired[str]  # what to do, if it is not sound


def snapshot_verify(desk: Desk, ask: SnapshotUse) -> SnapshotVerifyAnswer:
    """Check a snapshot: its bytes, its signature, its place in the sequence, whose it is, then every member.

    Nothing is decompressed before its bytes and signature hold. Without the identity of an encrypted one the
    members stay unchecked, and the answer says so.
    """
    archive, named = archive_of(desk), ask.named(desk)
    report: Report | NexoReport
    if is_nexo(ask.id):
        report = examine_nexo(desk, ask.id, ask.identity)
    else:
        with sought(archive, named) as found:
            report = examine(archive, named, found)
    fault = fault_of(report)
    said = {"exitCode": fault.exit_code, "hint": fault.hint} if fault else {"exitCode": 0}
    return {**report_shape(report), **said}  # type: ignore[typeddict-item]


class SnapshotDiff(Request):
    a: Name = Field(description="The earlier snapshot.")
    b: Name | None = Field(default=None, description="The later one; without it, the memory as it is now.")
    identity: Name | None = Field(default=None, description="File with the age identity that opens them.")
    limit: int = limit(100, 10_000)


class SnapshotDiffAnswer(TypedDict):
    a: str
    b: str
    same: bool
    tables: list[Json]
    folders: list[Json]
    state: list[Json]


def snapshot_diff(desk: Desk, ask: SnapshotDiff) -> SnapshotDiffAnswer:
    """Compare two snapshots, or one with the memory as it is now: records by table, files, commits, state."""
    if desk.settings.isolated and not desk.caller.may("admin"):
        raise Forbidden("snapshot_diff: agents are isolated; only an admin sees what changed for all of them")
    one = SnapshotUse(id=ask.a, identity=ask.identity).named(desk)
    other = SnapshotUse(id=ask.b, identity=ask.identity).named(desk) if ask.b else None
    found = difference(archive_of(desk), one, other, ask.limit)
    return difference_shape(found)  # type: ignore[return-value]


class SnapshotSearch(Search):
    id: Name = Field(description="The snapshot to search: its id, the beginning of one, latest.")
    identity: Name | None = Field(default=None, description="File with the age identity that opens it.")


def snapshot_search(desk: Desk, ask: SnapshotSearch) -> SearchAnswer:
    """Find what was known when a snapshot was made, without restoring it."""
    named = SnapshotUse(id=ask.id, identity=ask.identity).named(desk)
    with snapshot_desk(desk, named) as (then, snapshot):
        return {**search(then, ask.model_copy(update={"at": None})), "snapshot": snapshot}


class SnapshotRestore(SnapshotUse):
    dry_run: bool = Field(default=False, description="Show exactly what would change, and change nothing.")
    yes: bool = Field(default=False, description="Really replace the live memory.")
    take_over: Name | None = Field(
        default=None, alias="as", description="Take another agent's memory over as this agent's."
    )
    plain_before: bool = Field(default=False, description=PLAIN_BEFORE)
    into: Name | None = Field(default=None, description="Start a second memory from it in this new folder.")
    alone: bool = Field(
        default=False, description="Leave tokens and other tenants behind, if what is live is too damaged to read them."
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
    waiting: NotRequired[str]  # why the vault has not got the snapshot of what was live
    difference: NotRequired[Json]


def snapshot_restore(desk: Desk, ask: SnapshotRestore) -> SnapshotRestoreAnswer:
    """Make a snapshot's memory the live one; what was live is kept in a snapshot and can be brought back by undo.

    With dryRun it shows what would change; with into it starts a second memory in a new folder instead.
    """
    _root_for(desk, into=ask.into)
    _check_whole(into=ask.into)
    if ask.alone and not desk.caller.may("root"):
        raise Forbidden("alone: only root may leave other tenants' memory behind")
    archive = archive_of(desk)
    named = dataclasses.replace(ask.named(desk, take_over=ask.take_over), plain_before=ask.plain_before)
    if ask.dry_run:
        changes = preview(archive, named, ask.limit)
        return {"success": True, "snapshot": changes.b, "dryRun": True, "difference": difference_shape(changes)}
    if ask.into:
        made = branch(archive, named, Path(ask.into))
        return {**_restored_shape(made), "path": str(Path(ask.into).expanduser().resolve())}
    if not ask.yes:
        raise InvalidRequest(
            "snapshot_restore: this replaces the live memory, and was not confirmed",
            hint="Look with --dry-run what would change; then say --yes (REST and MCP: yes).",
        )
    made = restore(archive, named, alone=ask.alone)
    audit_snapshot(desk, "snapshot_restore", made.manifest.identity.id, generation=made.generation)
    answer = _restored_shape(made)
    if made.alone:
        answer["leftBehind"] = LEFT_BEHIND
    if made.waiting:
        answer["waiting"] = f"{WAITING} {made.waiting}"
    return answer


def _restored_shape(made: Restored) -> SnapshotRestoreAnswer:
    return {
        "success": True,
        "snapshot": made.manifest.identity.id,
        "dryRun": False,
        "generation": made.generation,
        "before": made.before,
        "rows": made.rows,
        "folders": list(made.folders),
    }


def audit_snapshot(desk: Desk, operation: str, id: str, **details: Any) -> None:
    """In the store that is live now: a restore may have exchanged it."""
    now = dataclasses.replace(desk, store=desk.home.store) if desk.home else desk
    now.store.write(lambda tx: now.audit(tx, operation, (id,), None, **details))


class SnapshotUndo(Request):
    yes: bool = Field(default=False, description="Not needed: what is live is kept in a snapshot first.")
    identity: Name | None = Field(default=None, description="File with the age identity that opens encrypted ones.")
    plain_before: bool = Field(default=False, description=PLAIN_BEFORE)


class SnapshotUndoAnswer(TypedDict):
    success: bool
    generation: str
    before: str | None
    waiting: NotRequired[str]


def snapshot_undo(desk: Desk, ask: SnapshotUndo) -> SnapshotUndoAnswer:
    """Take the last restore back: what was live before it is live again."""
    _root_for(desk, identity=ask.identity)
    done = undo(archive_of(desk), Named(LATEST, identity=ask.identity, plain_before=ask.plain_before))
    audit_snapshot(desk, "snapshot_undo", done.generation)
    answer: SnapshotUndoAnswer = {"success": True, "generation": done.generation, "before": done.before}
    return {**answer, "waiting": f"{WAITING} {done.waiting}"} if done.waiting else answer


class SnapshotExport(SnapshotName):
    to: Name = Field(description="Folder that gets the bundle's files.")


class SnapshotExportAnswer(TypedDict):
    success: bool
    id: str
    files: list[str]


def snapshot_export(desk: Desk, ask: SnapshotExport) -> SnapshotExportAnswer:
    """Copy a snapshot's files elsewhere; nothing that is there is overwritten."""
    _check_whole(to=ask.to)
    shelf = archive_of(desk).shelf
    id = shelf.find(ask.id).id
    return {"success": True, "id": id, "files": [str(one) for one in shelf.export(id, Path(ask.to).expanduser())]}


class SnapshotDeleteAnswer(TypedDict):
    success: bool
    id: str


def snapshot_delete(desk: Desk, ask: SnapshotName) -> SnapshotDeleteAnswer:
    """Remove a snapshot. The last whole one stays, and so does one that is in use."""
    desk.store.last_seq()  # without a store that can be opened nothing is removed: it may be all there is
    id = keeping.delete(archive_of(desk), ask.id)
    audit_snapshot(desk, "snapshot_delete", id)
    return {"success": True, "id": id}


class SnapshotPrune(Request):
    keep: int = Field(default=0, ge=0, le=100_000, description="So many of the newest.")
    keep_days: int = Field(default=0, ge=0, le=36_500, description="All of so many days before the newest.")
    keep_daily: int = Field(default=0, ge=0, le=100_000, description="The last of so many days.")
    keep_weekly: int = Field(default=0, ge=0, le=100_000, description="The last of so many weeks.")
    keep_monthly: int = Field(default=0, ge=0, le=100_000, description="The last of so many months.")
    dry_run: bool = Field(default=False, description="Show what would go, and remove nothing.")


class SnapshotPruneAnswer(TypedDict):
    success: bool
    dryRun: bool
    keep: list[Json]
    remove: list[str]
    inUse: list[str]


def snapshot_prune(desk: Desk, ask: SnapshotPrune) -> SnapshotPruneAnswer:
    """Remove snapshots that no rule keeps; never the last whole one, never one in use."""
    policy = Policy(ask.keep, ask.keep_days, ask.keep_daily, ask.keep_weekly, ask.keep_monthly)
    if policy == Policy():
        raise InvalidRequest("snapshot_prune: no rule says what to keep", hint="For example --keep 10 --keep-daily 7.")
    desk.store.last_seq()  # as in delete
    done = keeping.prune(archive_of(desk), policy, dry_run=ask.dry_run)
    if done.removed:
        audit_snapshot(desk, "snapshot_prune", "", removed=list(done.removed))
    return {
        "success": not done.in_use,
        "dryRun": ask.dry_run,
        "keep": [{"id": id, "why": list(reasons)} for id, reasons in done.plan.keep],
        "remove": list(done.plan.remove if ask.dry_run else done.removed),
        "inUse": list(done.in_use),
    }


class SnapshotMendAnswer(TypedDict):
    success: bool
    mended: list[Json]


def snapshot_mend(desk: Desk, ask: Nothing) -> SnapshotMendAnswer:
    """Put memory folders right that a restore could not finish with, as when its journal is damaged.

    Nothing is removed: what cannot be put in place is moved aside, and the answer says where it lies.
    """
    done = mend_folders(archive_of(desk))
    if done:
        with suppress(Fault):  # also where the store cannot be opened
            audit_snapshot(desk, "snapshot_mend", "", mended=[one.name for one in done])
    return {"success": True, "mended": [{"name": one.name, "change": one.how, "path": str(one.path)} for one in done]}


class SnapshotStatusAnswer(TypedDict):
    running: bool
    works: list[Json]


def snapshot_status(desk: Desk, ask: Nothing) -> SnapshotStatusAnswer:
    """Show what is being done with snapshots, and how what was done lately ended.

    Ask it when making or restoring one took longer than you waited: it goes on without you.
    """
    archive = archive_of(desk)
    every = told_works(archive.home)
    own = [(one, state) for one, state in every if (one.tenant, one.agent) == (archive.tenant, archive.agent)]
    # What other tenants do is told to whoever runs the server alone.
    seen = every if desk.caller.may("root") else own
    running = any(state == "running" for _, state in seen)
    return {"running": running, "works": [_work_shape(one, state) for one, state in own]}


def _work_shape(work: Work, state: State) -> Json:
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
    Operation(snapshot_mend, "POST", "/snapshots/mend", effect="write", scope="root", cli="snapshot mend", long=True),
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
        paths=("identity",),
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
    Operation(
        snapshot_delete,
        "DELETE",
        "/snapshots/{id}",
        effect="destroy",
        scope="admin",
        tool="memory_snapshot_delete",
        cli="snapshot delete",
        positional=("id",),
    ),
    Operation(
        snapshot_prune,
        "POST",
        "/snapshots/prune",
        effect="destroy",
        scope="admin",
        cli="snapshot prune",
        asks=True,
        long=True,
    ),
)
