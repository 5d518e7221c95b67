"""The operation that asks kept questions again: whether recall still answers as it did."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import Conflict
from holdfast.core.model import Json
from holdfast.core.times import iso
from holdfast.ops.framework.operation import Operation, Request
from holdfast.recall.check.check_report import CheckReport, run_check
from holdfast.recall.check.question_intake import keep_questions


class RecallCheck(Request):
    accept: bool = Field(default=False, description="Accept the present answers, and compare with them from now on.")


class RecallCheckAnswer(TypedDict):
    summary: str
    asked: int
    same: int
    different: int
    forgotten: int  # questions that were dropped, as they or their answers were forgotten
    keeps: str  # which questions are kept
    changed: list[Json]


def recall_check(ctx: CallContext, ask: RecallCheck) -> RecallCheckAnswer:
    """Ask the kept questions again and list those that would now be answered differently, by id.

    Memories stored since and records forgotten since do not count. The server does this by itself after an upgrade, a
    change of the embedder, a rebuild of the index, a restore or a merge.
    """
    if ctx.live is None:
        raise Conflict("recall_check: this memory has no data folder", hint="Open the data folder directly.")
    keep_questions(ctx, ctx.questions.take(ctx.tenant))  # those of the last minute too
    done = run_check(ctx, "request", accept=ask.accept)
    assert done is not None, "it was not stopped"
    found, report = done
    return {
        "summary": _summary(found.asked, len(found.changed), ask.accept, ctx.settings.recall_keep),
        "asked": found.asked,
        "same": found.same,
        "different": len(found.changed),
        "forgotten": found.forgotten,
        "keeps": ctx.settings.recall_keep,
        "changed": [] if ask.accept else changed_rows(report),
    }


def changed_rows(report: CheckReport) -> list[Json]:
    """The questions of a report, as clients read them."""
    return [{**row, "askedAt": iso(int(row.get("askedAt", 0)))} for row in report.listed]


def _summary(asked: int, changed: int, accepted: bool, keeps: str) -> str:
    if not asked:
        return "No questions are kept" + (" (HOLDFAST_RECALL_KEEP=off)" if keeps == "off" else " yet")
    told = f"{changed} of {asked} questions would now be answered differently"
    return f"{told}; these answers are accepted" if accepted and changed else told


CHECKING = (
    Operation(recall_check, "POST", "/recall/check", effect="write", scope="admin", cli="recall-check", long=True),
)
