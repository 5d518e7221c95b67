"""What the last check of the kept questions found, and when the next is due: <home>/questions/<tenant>/checks.json"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.context import CallContext
from holdfast.core.times import DAY_MS
from holdfast.recall.check.answer_check import AnswerCheck, ChangedAnswer, check_answers
from holdfast.recall.check.code_version import code_version
from holdfast.recall.check.kept_questions import (
    questions_folder,
    read_json,
    read_questions,
    write_json,
    write_questions,
)
from holdfast.recall.check.replay import models_of

RENEW_MS = DAY_MS  # while only the memory grows, its answers are taken as they are once a day
Mark = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The last check: how many questions were asked, and which would be answered differently."""

    at: int
    reason: str
    asked: int
    changed: int
    listed: tuple[dict[str, Any], ...]  # those that changed: ids, never text
    forgotten: int


def mark_of(ctx: CallContext, exchange: str) -> Mark:
    """What the answers depend on besides the records: the version, the models, and the last exchange of the memory,
    as its operation and time. Exchanges are not remembered for ever: without one the known one stands."""
    memory = exchange or str(_read(ctx)["mark"].get("memory", ""))
    return {"version": code_version(), "embedder": models_of(ctx), "memory": memory}


def request_check(ctx: CallContext, reason: str) -> None:
    """Let the server check the answers soon, as after the index was rebuilt."""
    if ctx.live is not None and read_questions(ctx.live.path, ctx.tenant):
        _write(ctx, {**_read(ctx), "requested": reason})


def due_reason(ctx: CallContext, mark: Mark) -> str | None:
    """Why the answers should be checked now; None if nothing changed that they depend on."""
    known = _read(ctx)
    if known["requested"]:
        return str(known["requested"])
    before = known["mark"]
    reasons = {"version": "upgrade", "embedder": "embedder", "memory": mark["memory"].split(" ")[0]}
    return next((reason for name, reason in reasons.items() if before and before.get(name) != mark[name]), None)


def run_check(
    ctx: CallContext,
    reason: str,
    mark: Mark | None = None,
    *,
    accept: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[AnswerCheck, CheckReport] | None:
    """Ask every kept question again and keep the report. `accept`: the answers of now are right. None if it was
    stopped.

    Raises:
        StorageFull, StorageFailed: nothing of it is kept.
    """
    home = _home(ctx)
    found = check_answers(ctx, read_questions(home, ctx.tenant), stop)
    if found is None:
        return None
    write_questions(home, ctx.tenant, found.accepted if accept else found.kept)
    listed = () if accept else tuple(_row(one) for one in found.changed)
    now = ctx.clock.now_ms()
    report = CheckReport(now, reason, found.asked, 0 if accept else len(found.changed), listed, found.forgotten)
    state = _read(ctx) | {"requested": "", "renewed": now, "report": _report_row(report)}
    _write(ctx, {**state, "mark": dict(mark)} if mark else state)
    return found, report


def begin_checks(ctx: CallContext, mark: Mark) -> None:
    """Note what the first answers depend on, if nothing was noted yet."""
    if not (known := _read(ctx))["mark"]:
        _write(ctx, {**known, "mark": dict(mark), "renewed": ctx.clock.now_ms()})


def renew_answers(ctx: CallContext, stop: Callable[[], bool] = lambda: False) -> None:
    """Once a day, while nothing changed but what is remembered, take today's answers as those to compare with.
    Questions whose answer changed before keep the one that they had.

    Raises:
        StorageFull, StorageFailed: those of before are kept.
    """
    known, now, home = _read(ctx), ctx.clock.now_ms(), _home(ctx)
    if 0 <= now - known["renewed"] < RENEW_MS:
        return
    found = check_answers(ctx, read_questions(home, ctx.tenant), stop)
    if found is None:
        return
    report = read_report(home, ctx.tenant)
    flagged = {row["question"] for row in report.listed} if report else set()
    before = {one.id: one for one in found.kept}
    write_questions(home, ctx.tenant, (before[one.id] if one.id in flagged else one for one in found.accepted))
    _write(ctx, {**known, "renewed": now})


def read_report(home: Path, tenant: str) -> CheckReport | None:
    """The last check; None if there was none."""
    row = read_json(_path(home, tenant)).get("report")
    if not isinstance(row, dict) or set(row) != set(CheckReport.__slots__):
        return None
    listed = row["listed"]
    if not isinstance(listed, list) or not all(isinstance(row, dict) and "question" in row for row in listed):
        return None
    if not all(isinstance(row[name], int) for name in ("at", "asked", "changed", "forgotten")):
        return None
    return CheckReport(**{**row, "reason": str(row["reason"]), "listed": tuple(listed)})


def _row(one: ChangedAnswer) -> dict[str, Any]:
    question = one.question
    return {
        "question": question.id,
        "source": question.source or None,
        "askedAt": question.at,
        "project": question.project or question.here,
        "before": list(one.before),
        "now": list(one.now),
        "missing": list(one.missing),
    }


def _report_row(report: CheckReport) -> dict[str, Any]:
    return {name: getattr(report, name) for name in CheckReport.__slots__}


def _home(ctx: CallContext) -> Path:
    assert ctx.live is not None, "only a live memory has questions"
    return ctx.live.path


def _path(home: Path, tenant: str) -> Path:
    return questions_folder(home, tenant) / "checks.json"


def _read(ctx: CallContext) -> dict[str, Any]:
    known = read_json(_path(_home(ctx), ctx.tenant))
    mark, renewed, requested = (known.get(name) for name in ("mark", "renewed", "requested"))
    return {
        **known,
        "mark": mark if isinstance(mark, dict) else {},
        "renewed": renewed if isinstance(renewed, int) else 0,
        "requested": requested if isinstance(requested, str) else "",
    }


def _write(ctx: CallContext, state: dict[str, Any]) -> None:
    write_json(_path(_home(ctx), ctx.tenant), {**state, "version": 1})
