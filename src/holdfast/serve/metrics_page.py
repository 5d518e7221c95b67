"""What GET /metrics returns, by caller.

Numbers of the whole server show one tenant how busy the others are, so a token of a tenant reads only how many records
it has itself; the server's operator reads everything.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from holdfast.context import CallContext
from holdfast.core.errors import CANNOT_OPEN
from holdfast.core.metrics import gauge
from holdfast.core.model import DEFAULT_TENANT, Caller
from holdfast.core.version import VERSION
from holdfast.engine import Engine
from holdfast.ops.server.admin import quota_health
from holdfast.recall.check.check_report import read_report
from holdfast.serve.events.broker import Broker
from holdfast.snapshot.drill.drill_status import drill_status
from holdfast.snapshot.guard.guard_status import guard_report
from holdfast.snapshot.repo.context import SnapshotContext, snapshot_context
from holdfast.snapshot.status import age_of_newest
from holdfast.snapshot.sync.send_backlog import waiting
from holdfast.store.tables import MEMORIES, TABLES


def readings(engine: Engine, caller: Caller, broker: Broker | None) -> str:
    """The whole text, in the format of Prometheus."""
    lines = [*gauge("holdfast_build_info", {(VERSION,): 1})]
    if caller.may("root"):
        lines += [*_process(engine), *_memory(engine), *_broker(broker), *engine.metrics.lines()]
    else:
        lines += [*_own_records(engine.context(caller)), *_quota(engine.context(caller))]
    return "\n".join(lines) + "\n"


def _process(engine: Engine) -> Iterator[str]:
    wall, steady = engine.started
    yield from gauge("holdfast_uptime_seconds", {(): engine.clock.steady() - steady})
    yield from gauge("process_start_time_seconds", {(): wall / 1000})
    resident = _resident_bytes()
    yield from gauge("process_resident_memory_bytes", {} if resident is None else {(): resident})


def _resident_bytes() -> int | None:
    """From Linux; elsewhere none."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return None
    return int(pages) * resource.getpagesize()


def _memory(engine: Engine) -> list[str]:
    """Of a memory that cannot be read only that it is so."""
    lines = [*gauge("holdfast_degraded", {(): int(_is_degraded(engine))})]
    with suppress(*CANNOT_OPEN):
        lines += [*_store(engine), *_snapshots(engine)]
    return lines


def _is_degraded(engine: Engine) -> bool:
    """Whether the memory of any tenant is."""
    if engine.trouble(DEFAULT_TENANT) is not None:
        return True
    with suppress(*CANNOT_OPEN):
        return any(engine.store.failure(tenant) is not None for tenant in engine.store.read().tenants())
    return True


def _store(engine: Engine) -> Iterator[str]:
    reader = engine.store.read()
    sizes = reader.sizes()
    yield from gauge("holdfast_records", {(table.name,): sizes.get(table.name, 0) for table in TABLES})
    yield from gauge("holdfast_vectors_pending", {(): reader.pending()})
    yield from gauge("holdfast_events_pending", {(): reader.undispatched()})


def _snapshots(engine: Engine) -> Iterator[str]:
    tenants = engine.store.read().tenants()
    contexts = [snapshot_context(engine.context(Caller(tenant=tenant, name="metrics"))) for tenant in tenants]
    ages = [age for context in contexts if (age := age_of_newest(context)) is not None]
    yield from gauge("holdfast_snapshot_age_seconds", {(): max(0, *ages) / 1000} if ages else {})
    lags, now = engine.journal.all().values(), engine.clock.now_ms()
    yield from gauge("holdfast_journal_behind_seconds", {(): max(one.seconds(now) for one in lags)} if lags else {})
    yield from gauge("holdfast_journal_waiting_bytes", {(): sum(one.bytes for one in lags)} if lags else {})
    others = [engine.journal.others(tenant) for tenant in tenants]
    yield from gauge("holdfast_journal_other_lines", {(): sum(map(len, others))} if lags else {})
    behind = engine.follow.state.behind(engine.clock.steady()) if engine.follow else None
    yield from gauge("holdfast_follow_behind_seconds", {} if behind is None else {(): behind})
    yield from gauge("holdfast_snapshots_waiting", {(): sum(len(waiting(context)) for context in contexts)})
    yield from _drills(contexts)
    yield from _recall(contexts)
    yield from _guard(engine)


def _drills(contexts: list[SnapshotContext]) -> Iterator[str]:
    found = [drill_status(context) for context in contexts]
    ages = [one.unproven_ms / 1000 for one in found if one.proven]
    yield from gauge("holdfast_drill_age_seconds", {(): max(ages)} if ages else {})
    yield from gauge("holdfast_drill_failed", {(): sum(one.failed is not None for one in found)})


def _guard(engine: Engine) -> Iterator[str]:
    found = guard_report(snapshot_context(engine.context(Caller(name="metrics"))), engine.guard)
    if found.places or found.fault:
        yield from gauge("holdfast_guard_places", {(): len(found.active)})
        yield from gauge("holdfast_guard_left_out", {(): found.left})
        yield from gauge("holdfast_guard_bytes", {(): found.bytes})
        yield from gauge("holdfast_guard_failed", {(): int(bool(found.fault))})


def _recall(contexts: list[SnapshotContext]) -> Iterator[str]:
    found = [report for one in contexts if (report := read_report(one.home, one.tenant))]
    yield from gauge("holdfast_recall_questions", {(): sum(one.asked for one in found)} if found else {})
    yield from gauge("holdfast_recall_changed", {(): sum(one.changed for one in found)} if found else {})


def _broker(broker: Broker | None) -> Iterator[str]:
    yield from gauge("holdfast_broker_connected", {} if broker is None else {(): int(broker.is_connected)})


def _quota(ctx: CallContext) -> Iterator[str]:
    found = quota_health(ctx)
    yield from gauge("holdfast_quota_used", {(name,): one["used"] for name, one in found.items()})
    yield from gauge("holdfast_quota_limit", {(name,): one["limit"] for name, one in found.items()})


def _own_records(ctx: CallContext) -> Iterator[str]:
    """Of memory only, and in isolated scope of the calling agent only."""
    if ctx.settings.isolated and ctx.agent() is None:
        return  # no agent to count for
    reader = ctx.store.read()
    told = [table for table in TABLES if table.told]
    bounds = {one.name: ctx.sees_memories() if one is MEMORIES else ctx.sees() for one in told}
    counts: dict[tuple[str, ...], float] = {
        (one.name,): reader.count(one, ctx.tenant, *bounds[one.name]) for one in told
    }
    yield from gauge("holdfast_records", counts)
