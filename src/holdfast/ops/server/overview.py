"""The overview: counts, growth, snapshots, warnings and what to do about them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.errors import STORAGE_WARNINGS, DataDamaged, DataTooNew, Fault, RestorePending
from holdfast.core.model import Json, Memory, Observation
from holdfast.core.session_keys import session_name
from holdfast.core.times import DAY_MS, iso
from holdfast.ops.framework.operation import ChatRequest, Nothing, Operation
from holdfast.ops.server.admin import EventsHealth, HealthAnswer, IndexHealth, health
from holdfast.ops.server.warnings import Measured, warnings
from holdfast.ops.snapshots.follow import FollowShape
from holdfast.recall.check.check_report import read_report
from holdfast.recall.views.growth import Growth, growth
from holdfast.snapshot.damaged_generations import damaged_generations, live_name
from holdfast.snapshot.drill.drill_status import DrillStatus, drill_status
from holdfast.snapshot.guard.guard_status import GuardStatus, guard_report
from holdfast.snapshot.recovery.auto_restore import first_restore
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.repo.key_warnings import key_warnings
from holdfast.snapshot.status import RepositoryHealth, snapshot_health
from holdfast.snapshot.sync.send_backlog import waiting_ms
from holdfast.store.data_folder import DataFolder
from holdfast.store.engine_port import OpenMemory
from holdfast.store.port import Condition, where
from holdfast.store.tables import ACTIONS, LESSONS, MEMORIES, OBSERVATIONS

RECENT = 20
_EMPTY = RepositoryHealth(0, 0, None, ())


class Overview(ChatRequest):
    days: int = Field(
        default=90, ge=1, le=3_650, description="Number of days of growth to return, including today (UTC)."
    )


class GrowthAnswer(TypedDict):
    days: list[str]
    memories: list[int]
    observations: list[int]
    sessions: list[int]
    before: dict[str, int]  # how many are older than the first day


class DrillShape(TypedDict):
    everySeconds: int  # 0: no drill is made automatically
    provenAt: str | None  # when the last drill that restored a snapshot and checked everything had ended
    snapshot: str | None  # which one that was
    signed: bool  # whether its receipt is
    asked: int  # questions that were asked of it, and how many gave the same answers
    same: int
    last: str | None  # what came of the newest drill: restored, locked, failed


class SnapshotHealth(TypedDict):
    count: int
    bytes: int
    newest: Json | None  # the last good one: id, label, createdAt, ageMs, signed, encrypted, size, createdBy
    damaged: list[str]
    everySeconds: int  # 0: none is made automatically
    drill: DrillShape
    guard: Json | None  # places, files, leftOut, takenAt, fault; for root alone, and where something is guarded
    vault: str | None  # where copies go; callers other than root see only whether there is one
    path: str | None


class DiskAnswer(TypedDict):
    database: int
    earlier: int  # what undo would bring back
    snapshots: int
    free: int
    path: str


class OverviewAnswer(TypedDict):
    status: str
    version: str
    now: str
    counts: dict[str, int]
    growth: GrowthAnswer
    index: IndexHealth
    events: EventsHealth
    follow: NotRequired[FollowShape]
    quota: NotRequired[dict[str, dict[str, int]]]
    summarizer: str
    agentScope: str
    snapshots: SnapshotHealth
    disk: NotRequired[DiskAnswer]  # for root: it covers all tenants
    recent: list[Json]
    warnings: list[Json]


def overview(ctx: CallContext, ask: Overview) -> OverviewAnswer:
    """Show an overview of the memory: counts, growth by day, latest events, snapshots, disk, warnings.

    Each warning has a hint.
    """
    state = health(ctx, Nothing())
    unread: Fault | None = None
    try:
        grown, counts, recent = _contents(ctx, ask)
    except (DataDamaged, DataTooNew, RestorePending) as fault:
        unread, grown, counts, recent = fault, _unread(ctx, ask.days), {}, []
    repo = snapshot_health(snapshot_context(ctx)) if ctx.live else _EMPTY
    disk = _disk(ctx, repo) if ctx.caller.may("root") else None
    answer: OverviewAnswer = {
        "status": state["status"],
        "version": state["version"],
        "now": iso(ctx.clock.now_ms()),
        "counts": counts,
        "growth": _growth_shape(grown),
        "index": state["index"],
        "events": state["events"],
        "summarizer": state["summarizer"],
        "agentScope": ctx.settings.agent_scope,
        "snapshots": _snapshot_shape(ctx, repo),
        "recent": recent,
        "warnings": [one.shape() for one in warnings(_measured(ctx, state, repo, disk, grown, unread))],
    }
    if "follow" in state:
        answer["follow"] = state["follow"]
    if "quota" in state:
        answer["quota"] = state["quota"]
    return {**answer, "disk": disk} if disk else answer


def _contents(ctx: CallContext, ask: Overview) -> tuple[Growth, dict[str, int], list[Json]]:
    """What is in the memory: how it grew, how much there is now, what came last."""
    grown = growth(ctx, ask.days, ask.agent_id)
    return grown, _counts(ctx, grown, ask.agent_id), _recent(ctx, ask.agent_id)


def _unread(ctx: CallContext, days: int) -> Growth:
    """Instead of a growth that cannot be read."""
    none = {name: 0 for name in ("memories", "observations", "sessions")}
    by_day = {name: (0,) * days for name in none}
    return Growth(ctx.clock.now_ms() // DAY_MS - days + 1, by_day, none)


def _counts(ctx: CallContext, grown: Growth, agent: str | None) -> dict[str, int]:
    if ctx.in_chat:
        return {"memories": grown.totals["memories"]}
    reader = ctx.store.read()
    return {
        **grown.totals,
        "lessons": reader.count(LESSONS, ctx.tenant, *ctx.sees_shared(agent), *where(deleted=False)),
        "actions": reader.count(ACTIONS, ctx.tenant, *ctx.sees(agent), Condition("status", "in", _OPEN)),
    }


_OPEN = ("pending", "active", "blocked")


def _growth_shape(grown: Growth) -> GrowthAnswer:
    length = len(grown.days["memories"])
    return {
        "days": [iso(day * DAY_MS)[:10] for day in range(grown.first_day, grown.first_day + length)],
        "memories": list(grown.days["memories"]),
        "observations": list(grown.days["observations"]),
        "sessions": list(grown.days["sessions"]),
        "before": grown.before,
    }


def _snapshot_shape(ctx: CallContext, repo: RepositoryHealth) -> SnapshotHealth:
    root = ctx.caller.may("root")
    place = ctx.settings.vault
    return {
        "count": repo.count,
        "bytes": repo.size,
        "newest": _newest_shape(ctx, repo),
        "damaged": list(repo.damaged),
        "everySeconds": ctx.settings.snapshot_every,
        "drill": _drill_shape(_drill(ctx)),
        "guard": _guard_shape(_guard(ctx)),
        "vault": (place if root else "yes") if place else None,
        "path": str(snapshot_context(ctx).repo.root) if root and ctx.live else None,
    }


def _drill(ctx: CallContext) -> DrillStatus:
    return drill_status(snapshot_context(ctx)) if ctx.live else DrillStatus()


def _guard(ctx: CallContext) -> GuardStatus:
    """Files of the user who runs the server: nothing of them is reported to others."""
    return guard_report(snapshot_context(ctx), ctx.guard) if ctx.live and ctx.caller.may("root") else GuardStatus()


def _guard_shape(state: GuardStatus) -> Json | None:
    if not state.places and not state.fault:
        return None
    return {
        "places": len(state.active),
        "files": state.files,
        "leftOut": state.left,
        "takenAt": None if state.taken_at is None else iso(state.taken_at),
        "fault": state.fault or None,
    }


def _drill_shape(state: DrillStatus) -> DrillShape:
    proven = state.proven
    return {
        "everySeconds": state.every_s,
        "provenAt": iso(proven.began + proven.took_ms) if proven else None,
        "snapshot": proven.snapshot if proven else None,
        "signed": state.signed,
        "asked": proven.questions.asked if proven else 0,
        "same": proven.questions.same if proven else 0,
        "last": state.last.outcome if state.last else None,
    }


def _newest_shape(ctx: CallContext, repo: RepositoryHealth) -> Json | None:
    if repo.newest is None or (manifest := repo.manifest) is None:
        return None
    about = manifest.identity
    return {
        "id": about.id,
        "label": about.label,
        "createdAt": iso(about.created_at),
        "createdBy": about.created_by,
        "ageMs": max(0, ctx.clock.now_ms() - about.created_at),
        "signed": manifest.signature is not None,
        "encrypted": manifest.encrypted,
        "size": repo.newest.size,
    }


def _disk(ctx: CallContext, repo: RepositoryHealth) -> DiskAnswer | None:
    """What the data folder takes, without walking it: a generation is a folder of a few files."""
    memory = ctx.live
    if memory is None:
        return None
    generation = _live_folder(memory)
    earlier = [one for one in memory.path.glob("gen-*") if one != generation]
    return {
        "database": _database_bytes(ctx, memory, generation),
        "earlier": sum(_bytes_in(one) for one in earlier),
        "snapshots": repo.size,
        "free": shutil.disk_usage(memory.path).free,
        "path": str(memory.path),
    }


def _database_bytes(ctx: CallContext, memory: OpenMemory, generation: Path | None) -> int:
    """What the records take; about, where they are not in the folder."""
    if ctx.settings.store != "sqlite" and memory.is_open():
        return memory.size(ctx.tenant)
    return _bytes_in(generation) if generation else 0


def _live_folder(memory: OpenMemory) -> Path | None:
    name = live_name(DataFolder(memory.path))
    return memory.path / name if name else None


def _bytes_in(folder: Path) -> int:
    """Of its own files. One that disappears meanwhile, such as a checkpointed log, counts nothing."""
    total = 0
    for one in folder.glob("*"):
        try:
            total += one.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _recent(ctx: CallContext, agent: str | None) -> list[Json]:
    """What was stored last, newest first."""
    reader = ctx.store.read()
    bounds = (*ctx.sees_memories(agent), *where(latest=True))
    kept = [one for one in reader.find(MEMORIES, ctx.tenant, *bounds, limit=RECENT) if ctx.may_see(one, agent)]
    seen = [] if ctx.in_chat else reader.find(OBSERVATIONS, ctx.tenant, *ctx.sees(agent), limit=RECENT)
    both: list[Memory | Observation] = [*kept, *seen]
    last = sorted(both, key=lambda one: -one.seq)[:RECENT]
    return [_memory_line(one) if isinstance(one, Memory) else _observation_line(one) for one in last]


def _memory_line(one: Memory) -> Json:
    return {
        "kind": "memory",
        "id": one.id,
        "type": one.type,
        "title": one.title,
        "project": one.project,
        "agentId": one.agent,
        "timestamp": iso(one.updated_at),
    }


def _observation_line(one: Observation) -> Json:
    return {
        "kind": "observation",
        "id": one.id,
        "type": one.type,
        "title": one.title,
        "project": one.project,
        "agentId": one.agent,
        "timestamp": iso(one.stored_at),
        "sessionId": session_name(one.session_id),
    }


def _measured(
    ctx: CallContext,
    state: HealthAnswer,
    repo: RepositoryHealth,
    disk: DiskAnswer | None,
    grown: Growth,
    unread: Fault | None,
) -> Measured:
    newest = repo.manifest
    context = snapshot_context(ctx) if ctx.live else None
    return Measured(
        trouble=(ctx.live.trouble(ctx.tenant) if ctx.live else ctx.store.failure(ctx.tenant)) or unread,
        kept_damaged=_kept_damaged(ctx),
        free_bytes=disk["free"] if disk else None,
        pending=state["index"]["pending"],
        events=state["events"]["pending"],
        records=sum(grown.totals.values()),
        snapshots=repo.count if ctx.live else None,
        snapshot_age_ms=ctx.clock.now_ms() - newest.identity.created_at if newest else None,
        snapshot_every_s=ctx.settings.snapshot_every,
        signed=newest is not None and newest.signature is not None,
        damaged=repo.damaged,
        vault=bool(ctx.settings.vault),
        waiting=state["snapshots"]["waiting"],
        waiting_ms=waiting_ms(context) if context else 0,
        journal_s=state["snapshots"].get("journal", {}).get("behindSeconds", 0),
        journal_fault=state["snapshots"].get("journal", {}).get("fault", ""),
        vault_fault=ctx.journal.vault_fault if ctx.caller.may("admin") else None,
        others=ctx.journal.others(ctx.tenant) if ctx.caller.may("admin") else (),
        follow=ctx.follow.state.vault if ctx.follow else "",
        follow_host=ctx.follow.state.host if ctx.follow else "",
        follow_s=ctx.follow.state.behind(ctx.clock.steady()) if ctx.follow else None,
        keys=tuple(key_warnings(context)) if context and ctx.caller.may("admin") else (),
        encrypted=newest is not None and newest.encrypted,
        embedder=ctx.embedder is not None,
        drill=_drill(ctx),
        guard=_guard(ctx),
        recall=read_report(ctx.live.path, ctx.tenant) if ctx.live else None,
        spooled=state["spool"]["waiting"],
        restored=_restored(ctx),
        quotas=tuple((name, one["used"], one["limit"]) for name, one in state.get("quota", {}).items()),
        unspooled=state["spool"]["refused"] + state["spool"]["dropped"],
    )


def _restored(ctx: CallContext) -> str:
    """Of an automatic restore this week; it reveals where snapshots lie, so only the owner reads it."""
    found = first_restore(ctx.live.path) if ctx.live and ctx.caller.may("root") else None
    return found.message if found and found.is_shown(ctx.clock.now_ms()) else ""


def _kept_damaged(ctx: CallContext) -> tuple[tuple[str, str], ...]:
    if ctx.live is None or not ctx.caller.may("root"):
        return ()
    return tuple((one.name, one.next) for one in damaged_generations(ctx.live.path) if not one.live)


class DiagnosticsAnswer(TypedDict):
    status: str
    checks: list[Json]
    fixed: list[str]


def diagnostics(ctx: CallContext, ask: Nothing) -> DiagnosticsAnswer:
    """Check the running server: storage, index backlog, snapshots, language model, agent scope; with hints."""
    state = overview(ctx, Overview(days=1))
    wrong = {one["code"]: one for one in state["warnings"] if one["level"] != "note"}
    pending = f"{state['index']['pending']} pending"
    checks = [
        _check("storage", "ok", next((wrong.pop(code) for code in STORAGE_WARNINGS if code in wrong), None)),
        _check("index", pending, wrong.pop("index_behind", None)),
        _check("summarizer", state["summarizer"]),
        _check("agent-scope", state["agentScope"]),
        *(_check(code.replace("_", "-"), "", one) for code, one in wrong.items()),
    ]
    bad = [one for one in checks if not one["ok"]]
    return {"status": "unwell" if bad else "healthy", "checks": checks, "fixed": []}


def _check(name: str, found: str, warned: Json | None = None) -> Json:
    if warned is None:
        return {"name": name, "ok": True, "found": found, "hint": ""}
    return {"name": name, "ok": warned["level"] != "error", "found": warned["message"], "hint": warned["hint"]}


def diagnostics_followup(ctx: CallContext, ask: Nothing) -> DiagnosticsAnswer:
    """Check again after a repair."""
    return diagnostics(ctx, ask)


OVERVIEW = (
    Operation(overview, "GET", "/overview", tool="memory_overview", cli="overview", tells=True),
    Operation(diagnostics, "GET", "/diagnostics", also=(("POST", "/diagnostics"),), cli="diagnostics"),
    Operation(diagnostics_followup, "GET", "/diagnostics/followup", also=(("POST", "/diagnostics/followup"),)),
)
