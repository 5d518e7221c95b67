"""The operation that reads all that a vault has of this memory, snapshots and journal, and says what is not sound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import SnapshotDamaged
from holdfast.core.model import Json
from holdfast.core.times import iso
from holdfast.ops.framework.fields import Name
from holdfast.ops.snapshots.selection import VaultName
from holdfast.snapshot.bundle.types import Code, Report
from holdfast.snapshot.journal.journal_check import LineCheck, check_journal
from holdfast.snapshot.journal.journal_lines import reason
from holdfast.snapshot.journal.journal_reader import Trust
from holdfast.snapshot.remote.colony import is_colony
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.resolve import SnapshotSelector, examine, sought
from holdfast.snapshot.verify import fault_of
from holdfast.snapshot.wire import report_shape
from holdfast.vault.restriction import ReadOnly

ABOUT_JOURNAL = (
    "Moments after the damaged piece of the journal cannot be restored. A new snapshot holds everything without it: "
    "holdfast snapshot create"
)
# A snapshot's status by its gravest finding. Only damage means that its bytes are not what was sealed.
STATUS: dict[Code, str] = {"untrusted": "not trusted here", "locked": "identity required", "too_new": "too new"}


class VaultVerify(VaultName):
    id: Name | None = Field(default=None, description="Only this snapshot: its complete id, or latest.")
    identity: Name | None = Field(
        default=None, description="File with the age identity that decrypts encrypted snapshots."
    )
    allow_unsigned: bool = Field(
        default=False, description="Accept an unsigned snapshot where signatures are required."
    )


class VaultVerifyAnswer(TypedDict):
    place: str
    sound: bool
    exitCode: int
    snapshots: list[Json]
    journal: NotRequired[list[Json]]  # its lines, if the vault has any and all snapshots were asked for
    hint: NotRequired[str]  # what to do, if something is not sound


def vault_verify(ctx: CallContext, ask: VaultVerify) -> VaultVerifyAnswer:
    """Download and verify every snapshot of this memory in a vault, and its journal. The downloads are not kept."""
    context = snapshot_context(ctx)
    vault = ask.target(context)
    named = SnapshotSelector(ask.id or "", ask.named(context), ask.identity, allow_unsigned=ask.allow_unsigned)
    reports = [_one(context, named)] if ask.id else list(vault.reports(named))
    faults = {report.place: fault for report in reports if (fault := fault_of(report))}
    damaged = [id for id, fault in faults.items() if isinstance(fault, SnapshotDamaged)]
    gravest = faults[damaged[0]] if damaged else next(iter(faults.values()), None)
    answer: VaultVerifyAnswer = {
        "place": vault.place,
        "sound": not faults,
        "exitCode": gravest.exit_code if gravest else 0,
        "snapshots": [_verified_shape(report, report.place in damaged) for report in reports],
    }
    if gravest is not None:
        others = dict.fromkeys(fault.hint for id, fault in faults.items() if id not in damaged)
        answer["hint"] = " ".join([*_about_damaged(context, ask.named(context), damaged), *others])
    return answer if ask.id else _with_journal_checked(context, ask, answer)


def _with_journal_checked(context: SnapshotContext, ask: VaultVerify, answer: VaultVerifyAnswer) -> VaultVerifyAnswer:
    if is_colony(ask.named(context)):
        return answer
    vault = ReadOnly(context.vault(ask.named(context)))
    trust = Trust(context.tenant, context.agent, context.keyring, ask.allow_unsigned)
    with context.repo.staging() as private:
        lines = check_journal(vault, trust, private)
    if not lines:
        return answer
    rows = [_line_checked(one) for one in lines]
    problem = next((one.problem for one in lines if one.problem is not None), None)
    if problem is None:
        return {**answer, "journal": rows}
    hints = [answer.get("hint", ""), ABOUT_JOURNAL if isinstance(problem, SnapshotDamaged) else problem.hint]
    code = answer["exitCode"] or problem.exit_code
    return {**answer, "journal": rows, "sound": False, "exitCode": code, "hint": " ".join(filter(None, hints))}


def _line_checked(one: LineCheck) -> Json:
    shape: Json = {"line": one.line, "sound": one.problem is None, "pieces": one.pieces}
    shape |= {"upto": iso(one.upto)} if one.upto else {}
    return shape | ({"message": reason(one.problem)} if one.problem is not None else {})


def _verified_shape(report: Report, damaged: bool) -> Json:
    """A snapshot that is not trusted or cannot be opened here may still be sound."""
    found = next((one.code for one in report.findings if not one.note), None)
    status = "damaged" if damaged else STATUS.get(found, found) if found else "sound"
    return {**report_shape(report), "sound": report.sound or found in ("untrusted", "locked"), "status": status}


def _about_damaged(context: SnapshotContext, place: str, damaged: Sequence[str]) -> Iterator[str]:
    """What to do about damaged ones. Never delete one without a known whole copy."""
    whole = {one.id for one in context.repo.each() if not one.damaged} if damaged else set()
    if again := [id for id in damaged if id in whole]:
        yield (
            f"Damaged in the vault, intact on this machine: {', '.join(again)}. Delete their files, or the "
            f"damaged pack, from the vault, then send them again: holdfast vault sync {quote(place)}"
        )
    if gone := [id for id in damaged if id not in whole]:
        yield (
            f"Damaged, with no intact copy on this machine: {', '.join(gone)}. Do not delete them; restore from "
            "another snapshot."
        )


def _one(context: SnapshotContext, named: SnapshotSelector) -> Report:
    with sought(context, named) as found:
        return examine(context, named, found)
