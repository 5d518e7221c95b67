"""Operations on vaults: status, list, verify, prune, copy, sync. They reach places of the server's user: root only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.desk import Desk
from holdfast.errors import InvalidRequest, SnapshotDamaged
from holdfast.model import Json
from holdfast.ops.declare import Operation, Request
from holdfast.ops.fields import Name, limit
from holdfast.ops.removing import KeepRules
from holdfast.snapshot.archive import Archive, archive_of
from holdfast.snapshot.depots import Depot, copy_depot, depot_of
from holdfast.snapshot.finding import Named, examine, sought
from holdfast.snapshot.lines import Line, held_by, told
from holdfast.snapshot.shapes import report_shape
from holdfast.snapshot.values import Report
from holdfast.snapshot.vault_keeping import Moved
from holdfast.snapshot.vaulting import Vaulted
from holdfast.snapshot.verify import fault_of
from holdfast.times import iso

MOST = 100_000
ABSENT = (
    "There is no such folder yet: the first snapshot that is sent makes it. Is its name right, and its disk mounted?"
)
SEND_AGAIN = (
    "Delete from the vault what is damaged, the pack or the files of that id; holdfast vault sync sends again what the "
    "shelf still has."
)


class VaultName(Request):
    vault: Name | None = Field(
        default=None,
        description="A folder, file:///…, s3://…, gs://…, az://…, hf://… or colony:; without it HOLDFAST_VAULT.",
    )

    def named(self, archive: Archive) -> str:
        """The text that names the vault.

        Raises:
            InvalidRequest: neither the request nor the settings do.
        """
        text = self.vault or archive.settings.vault
        if not text:
            raise InvalidRequest("vault: none is named", hint="Name one, or set HOLDFAST_VAULT.")
        return text

    def depot(self, archive: Archive) -> Depot:
        return depot_of(archive, self.named(archive))


def _shape(one: Vaulted) -> Json:
    layout = "chunks" if one.chunked else "whole"
    return {"id": one.id, "size": one.size, "layout": layout, "status": one.damaged or "complete"}


def _line_shape(number: int, line: Line, held: set[str]) -> Json:
    return {
        "line": number,
        "id": line.newest,
        "label": line.label,
        "createdAt": iso(line.created_at),
        "snapshots": len(line.ids),
        "signer": line.signer,
        "here": line.newest in held,
    }


def _with_lines(archive: Archive, lines: Sequence[Line], place: str) -> Json:
    """What an answer says of them beyond the rest: the lines, and how to bring in those that are not here."""
    if not lines:
        return {}
    held = held_by(archive)
    shown = [_line_shape(number, line, held) for number, line in enumerate(lines, 1)]
    warnings = told(lines, held, place)
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
    lines: NotRequired[list[Json]]  # where several hosts sent: the newest of each, and whether this memory holds it
    warnings: NotRequired[list[str]]  # what to do about lines that it does not, or that there is no such folder yet


def vault_status(desk: Desk, ask: VaultName) -> VaultStatusAnswer:
    """Show how a vault is: whether it can be reached, what it holds of this memory, and what it lacks."""
    archive = archive_of(desk)
    vault = ask.depot(archive)
    found = vault.standing()
    absent = {"warnings": [ABSENT]} if found.absent else {}
    return {
        "place": vault.place,
        "public": found.state.public,
        "free": found.state.free,
        "snapshots": len(found.snapshots),
        "bytes": sum(one.size for one in found.snapshots),
        "newest": next((one.id for one in found.snapshots if not one.damaged), None),
        "here": not found.snapshots or not held_by(archive).isdisjoint(one.id for one in found.snapshots),
        "damaged": [_shape(one) for one in found.snapshots if one.damaged],
        "missing": list(found.missing),
        "leftovers": found.leftovers,
        "packs": found.packs,
        "packBytes": found.pack_bytes,
        **(absent or _with_lines(archive, found.lines, ask.named(archive))),  # type: ignore[typeddict-item]
    }


class VaultList(VaultName):
    limit: int = limit(100, 10_000)


class VaultListAnswer(TypedDict):
    place: str
    snapshots: list[Json]
    count: int
    bytes: int
    lines: NotRequired[list[Json]]
    warnings: NotRequired[list[str]]


def vault_list(desk: Desk, ask: VaultList) -> VaultListAnswer:
    """List this memory's snapshots in a vault, newest first; what lacks a file is shown as damaged.

    Where several hosts sent, `line` says which belong together.
    """
    archive = archive_of(desk)
    vault = ask.depot(archive)
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
        **_with_lines(archive, lines, ask.named(archive)),  # type: ignore[typeddict-item]
    }


class VaultVerify(VaultName):
    id: Name | None = Field(default=None, description="Only this snapshot: its whole id, or latest.")
    identity: Name | None = Field(default=None, description="File with the age identity that opens encrypted ones.")
    allow_unsigned: bool = Field(default=False, description="Though signatures are expected.")


class VaultVerifyAnswer(TypedDict):
    place: str
    sound: bool
    exitCode: int
    snapshots: list[Json]
    hint: NotRequired[str]  # what to do, if something is not sound


def vault_verify(desk: Desk, ask: VaultVerify) -> VaultVerifyAnswer:
    """Fetch every snapshot of this memory from a vault and check it, without trusting the vault; nothing is kept."""
    archive = archive_of(desk)
    vault = ask.depot(archive)
    named = Named(ask.id or "", ask.named(archive), ask.identity, allow_unsigned=ask.allow_unsigned)
    reports = [_one(archive, named)] if ask.id else list(vault.reports(named))
    faults = [fault for report in reports if (fault := fault_of(report))]
    answer: VaultVerifyAnswer = {
        "place": vault.place,
        "sound": not faults,
        "exitCode": faults[0].exit_code if faults else 0,
        "snapshots": [report_shape(report) for report in reports],
    }
    if faults:
        answer["hint"] = SEND_AGAIN if isinstance(faults[0], SnapshotDamaged) else faults[0].hint
    return answer


def _one(archive: Archive, named: Named) -> Report:
    with sought(archive, named) as found:
        return examine(archive, named, found)


class VaultPrune(VaultName, KeepRules):
    tidy: bool = Field(default=False, description="Remove files too that were sent halfway; nobody may be sending.")
    dry_run: bool = Field(default=False, description="Show what would go, and remove nothing.")


class VaultPruneAnswer(TypedDict):
    success: bool
    place: str
    dryRun: bool
    keep: list[Json]
    remove: list[str]
    leftovers: int
    packs: Json


def vault_prune(desk: Desk, ask: VaultPrune) -> VaultPruneAnswer:
    """Remove snapshots from a vault that no rule keeps; never the newest whole one.

    Nor the newest that another host sent and that was not merged here yet.
    """
    policy = ask.policy("vault_prune", may_be_empty=ask.tidy)
    archive = archive_of(desk)
    vault = ask.depot(archive)
    done = vault.prune(policy, tidy=ask.tidy, dry_run=ask.dry_run)
    if done.removed:
        desk.store.write(lambda tx: desk.audit(tx, "vault_prune", done.removed, None, place=vault.place))
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


def _moved(place: str, done: Moved) -> VaultMovedAnswer:
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
    source: Name = Field(alias="from", description="The vault that is read.")
    to: Name = Field(description="The vault that gets what it lacks.")
    limit: int = limit(MOST, MOST)


def vault_copy(desk: Desk, ask: VaultCopy) -> VaultMovedAnswer:
    """Copy this memory's snapshots from one vault to another that lacks them; each is checked on its way."""
    return _moved(*copy_depot(archive_of(desk), ask.source, ask.to, ask.limit))


class VaultSync(VaultName):
    limit: int = limit(MOST, MOST)


def vault_sync(desk: Desk, ask: VaultSync) -> VaultMovedAnswer:
    """Send every snapshot to a vault that it lacks, the newest first; what was interrupted is taken up again."""
    archive = archive_of(desk)
    vault = ask.depot(archive)
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
        paths=("vault",),
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
