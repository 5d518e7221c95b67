"""Operations on restore drills: make one now, list what came of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.background import LearningProgress, QuestionLog, RecallCounter
from holdfast.core.errors import Fault, IdentityNeeded, InvalidRequest, SnapshotDamaged
from holdfast.core.model import Json
from holdfast.core.times import iso
from holdfast.ops.framework.fields import Name, When, limit, moment
from holdfast.ops.framework.operation import Operation, Request
from holdfast.ops.query.past_context import snapshot_ctx
from holdfast.ops.snapshots.selection import root_for
from holdfast.recall.check.kept_questions import read_questions
from holdfast.recall.check.snapshot_answers import SnapshotAnswers, compare_answers, note_answers, read_answers
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.drill.drill_records import DrillQuestions, DrillRecord, ListedRecord, each_record
from holdfast.snapshot.drill.drill_run import DrillOptions, Replay, drill as run_drill
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.resolve import SnapshotSelector
from holdfast.store.portable import PastStore

EXIT_CODES = {"restored": 0, "locked": IdentityNeeded.exit_code, "failed": SnapshotDamaged.exit_code}


class Drill(Request):
    id: Name | None = Field(
        default=None, description="Id of the snapshot, a prefix of the id, or latest. Default: a random one."
    )
    source: Name | None = Field(
        default=None, alias="from", description="Vault to restore from. Default: HOLDFAST_VAULT, else this machine."
    )
    identity: Name | None = Field(default=None, description="File with the age identity that decrypts it.")
    at: When | None = Field(
        default=None, description="Restore the memory as it was at this time, from the journal in the vault."
    )


class DrillAnswer(TypedDict):
    sound: bool  # it was restored, and everything was checked
    exitCode: int
    drill: Json
    summary: str
    hint: NotRequired[str]


def drill(ctx: CallContext, ask: Drill) -> DrillAnswer:
    """Restore a random snapshot or moment of the vault into a scratch folder, verify every row, and ask what was asked.

    The live memory is not changed. A success leaves a receipt, signed with the key of the data folder if there is one.
    An encrypted snapshot without its identity is checked as far as possible, and reported as not restored.
    """
    root_for(ctx, **{"from": ask.source}, identity=ask.identity)
    if ask.at is not None and ask.id is not None:
        raise InvalidRequest("at: a snapshot was named as well", hint="Pass an id or --at, not both.")
    made = drill_now(ctx, DrillOptions(ask.id, ask.source, ask.identity, moment=moment(ctx, ask.at, "at")))
    answer: DrillAnswer = {
        "sound": made.outcome == "restored",
        "exitCode": EXIT_CODES[made.outcome],
        "drill": _shape(ctx, made, "unsigned" if made.signature is None else "signed"),
        "summary": summary_of(made),
    }
    return {**answer, "hint": made.hint} if made.hint else answer


def drill_now(ctx: CallContext, options: DrillOptions) -> DrillRecord:
    """A drill of the caller's memory; see `snapshot.drill.drill_run.drill`."""
    return run_drill(snapshot_context(ctx), options, _replay_of(ctx))


def _replay_of(ctx: CallContext) -> Replay:
    def replay(store: PastStore, manifest: Manifest, pause: Callable[[], None]) -> DrillQuestions:
        noted = _noted(ctx, manifest)
        if noted is None:
            return DrillQuestions()
        past = dataclasses.replace(
            ctx,
            store=store,
            live=None,
            recalls=RecallCounter(),
            questions=QuestionLog(),
            learning=LearningProgress(),
        )
        found = compare_answers(past, noted, pause)
        return DrillQuestions(found.asked, found.same, found.changed, found.missing, found.version, found.comparable)

    return replay


def _noted(ctx: CallContext, manifest: Manifest) -> SnapshotAnswers | None:
    """How the snapshot answered; from the copy on this machine if the server has not noted it yet."""
    assert ctx.live is not None, "a drill has a live memory beside it"
    id = manifest.identity.id
    known = read_answers(ctx.live.path, ctx.tenant, id)
    return known if known is not None else note_snapshot(ctx, id)


def note_snapshot(ctx: CallContext, id: str, stop: Callable[[], bool] = lambda: False) -> SnapshotAnswers | None:
    """Note how a snapshot of the local repository answers the kept questions; None if there are none, or it cannot
    be read here."""
    assert ctx.live is not None, "the repository is in the data folder"
    if not read_questions(ctx.live.path, ctx.tenant):
        return None
    with suppress(Fault), snapshot_ctx(ctx, SnapshotSelector(id, reading=True)) as (past, _):
        return note_answers(past, ctx.live.path, id, stop)
    return None


def summary_of(record: DrillRecord) -> str:
    """What came of it in one sentence."""
    if record.outcome != "restored":
        return f"{_what(record)}: {record.message}" if _what(record) else str(record.message)
    asked = record.questions
    rows = sum(count for _, count in record.rows)
    told = f"{asked.same} of {asked.asked} questions gave the same answers" if asked.asked else _UNASKED
    if asked.asked and not asked.comparable:
        told += f" (noted by version {asked.version} or with another embedder; every hit is there)"
    if record.moment is not None and not asked.asked:
        told = "questions are asked of snapshots only"
    return f"{_what(record)}: restored in {record.took_ms / 1000:.1f} s, {rows} rows verified; {told}"


def _what(record: DrillRecord) -> str:
    return record.snapshot if record.moment is None else f"the memory of {iso(record.moment)}"


_UNASKED = "no questions to ask"


class DrillList(Request):
    limit: int = limit(20, 100)


class DrillListAnswer(TypedDict):
    drills: list[Json]


def drill_list(ctx: CallContext, ask: DrillList) -> DrillListAnswer:
    """List restore drills, newest first: which snapshot, when, how long, rows, questions, signature."""
    return {"drills": [_listed(ctx, one) for one in islice(each_record(snapshot_context(ctx)), ask.limit)]}


def _listed(ctx: CallContext, one: ListedRecord) -> Json:
    if one.record is None:
        return {"id": one.id, "outcome": "damaged", "receipt": "damaged", "summary": "The record is damaged."}
    return _shape(ctx, one.record, one.standing)


def _shape(ctx: CallContext, record: DrillRecord, standing: str) -> Json:
    asked = record.questions
    shape: Json = {
        "id": record.id,
        "outcome": record.outcome,
        "receipt": standing,
        "snapshot": record.snapshot,
        "moment": None if record.moment is None else iso(record.moment),
        "createdAt": None if record.created_at is None else iso(record.created_at),
        "startedAt": iso(record.began),
        "tookMs": record.took_ms,
        "size": record.size,
        "sha256": record.sha256,
        "rows": sum(count for _, count in record.rows),
        "tables": dict(record.rows),
        "folders": list(record.folders),
        "questions": {
            "asked": asked.asked,
            "same": asked.same,
            "changed": list(asked.changed),
            "missing": asked.missing,
            "version": asked.version or None,
            "comparable": asked.comparable,
        },
        "signer": record.signer,
        "holdfast": record.holdfast,
    }
    if record.outcome != "restored":
        shape |= {"code": record.code}
    if ctx.caller.may("root"):  # places and paths of the server
        shape |= {"place": record.place, "message": record.message, "hint": record.hint, "summary": summary_of(record)}
    return shape


DRILLS = (
    Operation(
        drill,
        "POST",
        "/drills",
        effect="write",
        scope="admin",
        cli="drill",
        positional=("id",),
        paths=("from", "identity"),
        long=True,
    ),
    Operation(drill_list, "GET", "/drills", cli="drill list"),
)
