"""The overview: what a person asks first. How much is known, how it grew, whether it is safe, what to do."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import Desk
from holdfast.core.errors import DataDamaged, DataTooNew, RestorePending
from holdfast.core.model import Json, Memory, Observation
from holdfast.core.session_keys import session_name
from holdfast.core.times import DAY_MS, iso
from holdfast.ops.framework.operation import ChatRequest, Nothing, Operation
from holdfast.ops.server.admin import EventsHealth, HealthAnswer, IndexHealth, health
from holdfast.ops.server.warnings import STORAGE, Measured, warnings
from holdfast.recall.views.growth import Growth, growth
from holdfast.snapshot.recovery.auto_restore import first_restore
from holdfast.snapshot.recovery.damaged import damaged_generations, live_name
from holdfast.snapshot.repo.context import archive_of
from holdfast.snapshot.repo.key_warnings import key_warnings
from holdfast.snapshot.status import Health, snapshot_health
from holdfast.snapshot.sync.pending import waiting_ms
from holdfast.store.data_folder import DataFolder
from holdfast.store.lifecycle import Home
from holdfast.store.port import Condition, where
from holdfast.store.tables import ACTIONS, LESSONS, MEMORIES, OBSERVATIONS

RECENT = 20
_EMPTY = Health(0, 0, None, ())


class Overview(ChatRequest):
    days: int = Field(default=90, ge=1, le=3_650, description="So many days of growth, today among them (UTC).")


class GrowthAnswer(TypedDict):
    days: list[str]
    memories: list[int]
    observations: list[int]
    sessions: list[int]
    before: dict[str, int]  # how many are older than the first day


class SnapshotHealth(TypedDict):
    count: int
    bytes: int
    newest: Json | None  # the last good one: id, label, createdAt, ageMs, signed, encrypted, size, createdBy
    damaged: list[str]
    everySeconds: int  # 0: none is made by itself
    vault: str | None  # where copies go; for whoever is not root only whether there is such a place
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
    summarizer: str
    agentScope: str
    snapshots: SnapshotHealth
    disk: NotRequired[DiskAnswer]  # for root: it tells of all tenants
    recent: list[Json]
    warnings: list[Json]


def overview(desk: Desk, ask: Overview) -> OverviewAnswer:
    """Show the whole memory at a glance: counts, growth by day, what happened last, snapshots, disk, warnings.

    Warnings come with what to do.
    """
    state = health(desk, Nothing())
    try:
        grown, counts, recent = _contents(desk, ask)
    except (DataDamaged, DataTooNew, RestorePending):  # the warnings say so
        grown, counts, recent = _unread(desk, ask.days), {}, []
    shelf = snapshot_health(archive_of(desk)) if desk.home else _EMPTY
    disk = _disk(desk, shelf) if desk.caller.may("root") else None
    answer: OverviewAnswer = {
        "status": state["status"],
        "version": state["version"],
        "now": iso(desk.clock.now_ms()),
        "counts": counts,
        "growth": _growth_shape(grown),
        "index": state["index"],
        "events": state["events"],
        "summarizer": state["summarizer"],
        "agentScope": desk.settings.agent_scope,
        "snapshots": _snapshot_shape(desk, shelf),
        "recent": recent,
        "warnings": [one.shape() for one in warnings(_measured(desk, state, shelf, disk, grown))],
    }
    return {**answer, "disk": disk} if disk else answer


def _contents(desk: Desk, ask: Overview) -> tuple[Growth, dict[str, int], list[Json]]:
    """What is in the memory: how it grew, how much there is now, what came last."""
    grown = growth(desk, ask.days, ask.agent_id)
    return grown, _counts(desk, grown, ask.agent_id), _recent(desk, ask.agent_id)


def _unread(desk: Desk, days: int) -> Growth:
    """In the place of a growth that cannot be read."""
    none = {name: 0 for name in ("memories", "observations", "sessions")}
    by_day = {name: (0,) * days for name in none}
    return Growth(desk.clock.now_ms() // DAY_MS - days + 1, by_day, none)


def _counts(desk: Desk, grown: Growth, agent: str | None) -> dict[str, int]:
    if desk.in_chat:
        return {"memories": grown.totals["memories"]}
    reader = desk.store.read()
    return {
        **grown.totals,
        "lessons": reader.count(LESSONS, desk.tenant, *desk.sees_shared(agent), *where(deleted=False)),
        "actions": reader.count(ACTIONS, desk.tenant, *desk.sees(agent), Condition("status", "in", _OPEN)),
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


def _snapshot_shape(desk: Desk, shelf: Health) -> SnapshotHealth:
    root = desk.caller.may("root")
    place = desk.settings.vault
    return {
        "count": shelf.count,
        "bytes": shelf.size,
        "newest": _newest_shape(desk, shelf),
        "damaged": list(shelf.damaged),
        "everySeconds": desk.settings.snapshot_every,
        "vault": (place if root else "yes") if place else None,
        "path": str(archive_of(desk).shelf.root) if root and desk.home else None,
    }


def _newest_shape(desk: Desk, shelf: Health) -> Json | None:
    if shelf.newest is None or (manifest := shelf.manifest) is None:
        return None
    about = manifest.identity
    return {
        "id": about.id,
        "label": about.label,
        "createdAt": iso(about.created_at),
        "createdBy": about.created_by,
        "ageMs": max(0, desk.clock.now_ms() - about.created_at),
        "signed": manifest.signature is not None,
        "encrypted": manifest.encrypted,
        "size": shelf.newest.size,
    }


def _disk(desk: Desk, shelf: Health) -> DiskAnswer | None:
    """What the data folder takes, without walking it: a generation is a folder of a few files."""
    home = desk.home
    if home is None:
        return None
    live = _live_folder(home)
    earlier = [one for one in home.path.glob("gen-*") if one != live]
    return {
        "database": _bytes_in(live) if live else 0,
        "earlier": sum(_bytes_in(one) for one in earlier),
        "snapshots": shelf.size,
        "free": shutil.disk_usage(home.path).free,
        "path": str(home.path),
    }


def _live_folder(home: Home) -> Path | None:
    name = live_name(DataFolder(home.path))
    return home.path / name if name else None


def _bytes_in(folder: Path) -> int:
    """Of its own files. One that goes away meanwhile, as a log that was folded in, counts nothing."""
    total = 0
    for one in folder.glob("*"):
        try:
            total += one.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _recent(desk: Desk, agent: str | None) -> list[Json]:
    """What was stored last, newest first."""
    reader = desk.store.read()
    bounds = (*desk.sees_memories(agent), *where(latest=True))
    kept = [one for one in reader.find(MEMORIES, desk.tenant, *bounds, limit=RECENT) if desk.may_see(one, agent)]
    seen = [] if desk.in_chat else reader.find(OBSERVATIONS, desk.tenant, *desk.sees(agent), limit=RECENT)
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


def _measured(desk: Desk, state: HealthAnswer, shelf: Health, disk: DiskAnswer | None, grown: Growth) -> Measured:
    newest = shelf.manifest
    archive = archive_of(desk) if desk.home else None
    return Measured(
        trouble=desk.home.trouble() if desk.home else desk.store.failure(),
        kept_damaged=_kept_damaged(desk),
        free_bytes=disk["free"] if disk else None,
        pending=state["index"]["pending"],
        events=state["events"]["pending"],
        records=sum(grown.totals.values()),
        snapshots=shelf.count if desk.home else None,
        snapshot_age_ms=desk.clock.now_ms() - newest.identity.created_at if newest else None,
        snapshot_every_s=desk.settings.snapshot_every,
        signed=newest is not None and newest.signature is not None,
        damaged=shelf.damaged,
        vault=bool(desk.settings.vault),
        waiting=state["snapshots"]["waiting"],
        waiting_ms=waiting_ms(archive) if archive else 0,
        keys=tuple(key_warnings(archive)) if archive and desk.caller.may("admin") else (),
        encrypted=newest is not None and newest.encrypted,
        embedder=desk.embedder is not None,
        spooled=state["spool"]["waiting"],
        restored=_restored(desk),
        unspooled=state["spool"]["refused"] + state["spool"]["dropped"],
    )


def _restored(desk: Desk) -> str:
    """Of a restore that happened by itself this week; it tells where snapshots lie, so the owner alone reads it."""
    found = first_restore(desk.home.path) if desk.home and desk.caller.may("root") else None
    return found.message if found and found.is_shown(desk.clock.now_ms()) else ""


def _kept_damaged(desk: Desk) -> tuple[tuple[str, str], ...]:
    if desk.home is None or not desk.caller.may("root"):
        return ()
    return tuple((one.name, one.next) for one in damaged_generations(desk.home.path) if not one.live)


class DiagnosticsAnswer(TypedDict):
    status: str
    checks: list[Json]
    fixed: list[str]


def diagnostics(desk: Desk, ask: Nothing) -> DiagnosticsAnswer:
    """Check the running server: storage, index backlog, snapshots, language model, agent scope; says what to do."""
    state = overview(desk, Overview(days=1))
    wrong = {one["code"]: one for one in state["warnings"] if one["level"] != "note"}
    pending = f"{state['index']['pending']} pending"
    checks = [
        _check("storage", "ok", next((wrong.pop(code) for code in STORAGE if code in wrong), None)),
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


def diagnostics_followup(desk: Desk, ask: Nothing) -> DiagnosticsAnswer:
    """Check again after something was mended."""
    return diagnostics(desk, ask)


OVERVIEW = (
    Operation(overview, "GET", "/overview", tool="memory_overview", cli="overview", tells=True),
    Operation(diagnostics, "GET", "/diagnostics", also=(("POST", "/diagnostics"),), cli="diagnostics"),
    Operation(diagnostics_followup, "GET", "/diagnostics/followup", also=(("POST", "/diagnostics/followup"),)),
)
