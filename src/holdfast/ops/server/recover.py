"""Recovery in one command: what restoring, salvaging, repairing and verifying do, in the order that loses nothing."""

from __future__ import annotations

import dataclasses
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import DataDamaged, Fault, InvalidRequest, RestorePending
from holdfast.core.model import Json
from holdfast.ops.framework.fields import Name
from holdfast.ops.framework.operation import Operation, Request
from holdfast.ops.server.admin import Verify, verify
from holdfast.ops.snapshots.damaged_generations import SnapshotSalvage, snapshot_salvage
from holdfast.ops.snapshots.restore import PLAIN_BEFORE, PREVIEW_FIRST, SnapshotRestore, snapshot_restore
from holdfast.snapshot.damaged_generations import all_damaged
from holdfast.snapshot.recovery.alternatives import journal_place, restorable
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.resolve import LATEST
from holdfast.snapshot.switch import live_of
from holdfast.store.damage import RECOVER, RESTORE, damage_of

SALVAGE_ALONE = "holdfast snapshot salvage --alone --yes"

# What each answer of the operations below adds to the report.
_RESTORED = ("snapshot", "upto", "missing", "warnings")
_SALVAGED = (
    "source",
    "read",
    "lost",
    "inNeither",
    "added",
    "changed",
    "removed",
    "conflicts",
    "conflictCount",
    "before",
)


class Recover(Request):
    dry_run: bool = Field(
        default=False, description="Report what is damaged and what would be done. Nothing is changed."
    )
    yes: bool = Field(default=False, description="Confirm the change of the live memory.")
    identity: Name | None = Field(default=None, description="File with the age identity that decrypts the snapshot.")
    trust: Name | None = Field(
        default=None, description="did:key of the signer. It is trusted from now on if it signed the snapshot."
    )
    allow_unsigned: bool = Field(
        default=False, description="Accept an unsigned snapshot where signatures are required."
    )
    plain_before: bool = Field(default=False, description=PLAIN_BEFORE)


class RecoverAnswer(TypedDict):
    success: bool
    dryRun: bool
    damage: str | None  # what is wrong; None: nothing
    steps: list[str]  # what was done, or would be: restore, salvage, repair
    snapshot: NotRequired[str]  # the one that was restored, or would be
    upto: NotRequired[str]  # the moment to which the journal brought it
    missing: NotRequired[list[str]]  # what is known to have been written later and could not be restored
    warnings: NotRequired[list[str]]
    source: NotRequired[str]  # the damaged generation that was read
    read: NotRequired[dict[str, int]]  # its sound rows by table
    lost: NotRequired[dict[str, int] | None]  # its rows that cannot be read; None: unknown
    inNeither: NotRequired[dict[str, int] | None]  # those of them that the live memory lacks too
    added: NotRequired[dict[str, int]]
    changed: NotRequired[dict[str, int]]
    removed: NotRequired[dict[str, int]]
    conflicts: NotRequired[list[Json]]
    conflictCount: NotRequired[int]
    before: NotRequired[str | None]
    sound: NotRequired[bool]  # whether the memory verifies now
    next: NotRequired[str]


def recover(ctx: CallContext, ask: Recover) -> RecoverAnswer:
    """Bring back all that is sound: the newest snapshot, the journal after it, and the readable rows of damaged files.

    Verifies the memory first, and changes nothing if it is sound. If only the search index is damaged, it is rebuilt.
    Verifies again at the end. The damaged files are kept until snapshot discard removes them.
    """
    if not (ask.dry_run or ask.yes):
        raise InvalidRequest("recover: this changes the live memory and requires confirmation", hint=PREVIEW_FIRST)
    damage, steps, snapshot = _plan(ctx)
    answer: RecoverAnswer = {"success": True, "dryRun": ask.dry_run, "damage": damage, "steps": steps}
    if snapshot is not None:
        answer["snapshot"] = snapshot
    if ask.dry_run or not steps:
        return _previewed(ctx, ask, answer)
    for step in steps:
        _STEPS[step](_now(ctx), ask, answer)
    checked = verify(_now(ctx), Verify())
    answer["sound"] = checked["sound"]
    if "hint" in checked:
        answer["next"] = checked["hint"]
    return answer


def _now(ctx: CallContext) -> CallContext:
    """The same call on the store that is live by now."""
    return dataclasses.replace(ctx, store=ctx.live.store) if ctx.live is not None else ctx


def _plan(ctx: CallContext) -> tuple[str | None, list[str], str | None]:
    """What is damaged, what to do in which order, and the snapshot to restore."""
    context = snapshot_context(ctx)
    live = live_of(context)
    fault = live.store.failure(ctx.tenant)
    if not isinstance(fault, DataDamaged | RestorePending):
        damage = damage_of(live.store.verify())
        if damage is not None and damage.extent == "index":
            return damage.why, ["repair"], None
        fault = damage.fault() if damage is not None else None
    if fault is None:
        kept = [one for one in all_damaged(context, live) if not one.live and not one.copied]
        return (kept[0].why, ["salvage"], None) if kept else (None, [], None)
    snapshot = LATEST if _journal_place(context) else restorable(context)
    if isinstance(fault, RestorePending):
        return fault.message, ["restore"], snapshot
    return fault.message, ["restore", "salvage"] if snapshot is not None else ["salvage"], snapshot


def _journal_place(context: SnapshotContext) -> str | None:
    """The vault to restore from, if it has more than the repository.

    Raises:
        Fault: the vault may have more and cannot be asked; the hint says how to go on without it.
    """
    try:
        return journal_place(context)
    except Fault as fault:
        without = f"{RESTORE}, then {RECOVER}" if context.repo.newest() is not None else SALVAGE_ALONE
        fault.hint = f"{fault.hint or ''} To go on without the vault, and without what it alone has: {without}".strip()
        raise


def _previewed(ctx: CallContext, ask: Recover, answer: RecoverAnswer) -> RecoverAnswer:
    if "salvage" in answer["steps"]:
        _salvaged(ctx, SnapshotSalvage(dry_run=True, identity=ask.identity), answer, ("source", "read", "lost"))
    if answer["steps"]:
        answer["next"] = "Do it: holdfast recover --yes"
    return answer


def _restore(ctx: CallContext, ask: Recover, answer: RecoverAnswer) -> None:
    wanted = SnapshotRestore(
        source=_journal_place(snapshot_context(ctx)),
        yes=True,
        partial=True,  # what the journal lacks is reported, and the damaged files may have it
        identity=ask.identity,
        trust=ask.trust,
        allow_unsigned=ask.allow_unsigned,
        plain_before=ask.plain_before,
    )
    _report(answer, dict(snapshot_restore(ctx, wanted)), _RESTORED)


def _salvage(ctx: CallContext, ask: Recover, answer: RecoverAnswer) -> None:
    wanted = SnapshotSalvage(yes=True, identity=ask.identity, plain_before=ask.plain_before)
    _salvaged(ctx, wanted, answer, (*_SALVAGED, "next"))


def _salvaged(ctx: CallContext, wanted: SnapshotSalvage, answer: RecoverAnswer, names: tuple[str, ...]) -> None:
    try:
        _report(answer, dict(snapshot_salvage(ctx, wanted)), names)
    except DataDamaged as fault:  # nothing of the file can be read: what the snapshot brought is all there is
        if "snapshot" not in answer:
            raise
        answer["warnings"] = [*answer.get("warnings", []), f"{fault.message}."]


def _repair(ctx: CallContext, _: Recover, __: RecoverAnswer) -> None:
    verify(ctx, Verify(repair_index=True))


_STEPS = {"restore": _restore, "salvage": _salvage, "repair": _repair}


def _report(answer: RecoverAnswer, done: Json, names: tuple[str, ...]) -> None:
    answer.update({name: done[name] for name in names if name in done})  # type: ignore[typeddict-item]


RECOVERING = (
    Operation(
        recover, "POST", "/recover", effect="destroy", scope="root", cli="recover", paths=("identity",), long=True
    ),
)
