"""Forgetting: out of rows, words, sketches and everything drawn from them, in one transaction."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from holdfast.context import CallContext
from holdfast.core.errors import NotFound
from holdfast.core.model import Event, Memory, Observation
from holdfast.core.times import DAY_MS
from holdfast.intake.addresses import drop_addresses, memory_named
from holdfast.intake.dependents import RemovalCounts, drop_drawn
from holdfast.intake.remember import latest_of, line_of
from holdfast.intake.turn_rows import first_prompt, take_prompt
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.tables import (
    MEMORIES,
    NOTES,
    OBSERVATIONS,
    SESSIONS,
    SUMMARIES,
    outdated_summary_key,
)

# One run of the background sweep stays short, so that writers never wait long for it; the next run goes on.
SWEEP_ROWS = 500
UNIMPORTANT = 2
MOST_TARGETS = 1_000  # of one entry in the audit log


def forget_memories(
    ctx: CallContext, ids: Iterable[str], *, agent: str | None, reason: str = "", operation: str = "forget"
) -> RemovalCounts:
    """Remove memories the caller may see, by their ids or addresses. The latest version takes its whole line with it:
    a caller who forgets a fact does not want its earlier wording kept. An old version goes alone."""

    def store(tx: Tx) -> RemovalCounts:
        tally = RemovalCounts()
        for id in ids:
            with suppress(NotFound):
                memory = memory_named(ctx, tx, id, agent)
                ctx.check_change(memory)
                _drop_memory(ctx, tx, memory, tally)
        _finish(ctx, tx, tally, (), operation, reason)
        return tally

    return ctx.store.write(store)


def drop_line(ctx: CallContext, tx: Tx, memory: Memory, *, operation: str) -> None:
    """Remove a memory with all its versions and what was drawn from them, inside a write that is under way."""
    tally = RemovalCounts()
    _drop_memory(ctx, tx, memory, tally)
    _finish(ctx, tx, tally, (), operation, "")


def forget_session(ctx: CallContext, session_id: str, *, agent: str | None) -> RemovalCounts:
    """Remove a session with its observations, its summary and what was drawn from them."""

    def store(tx: Tx) -> RemovalCounts:
        tally = RemovalCounts()
        session = tx.get(SESSIONS, ctx.tenant, ctx.session_key(tx, session_id))
        if session is None or not ctx.may_see(session, agent):
            return tally
        for seen in tx.find(OBSERVATIONS, ctx.tenant, *where(session_id=session.id)):
            _drop_observation(ctx, tx, seen, tally)
        _drop_summary(ctx, tx, session.id, tally)
        tx.delete(SESSIONS, ctx.tenant, session.id)
        tx.delete(NOTES, ctx.tenant, outdated_summary_key(session.id))
        tally.add("sessions", session.id)
        _finish(ctx, tx, tally, (session.id,), "forget", "")
        return tally

    return ctx.store.write(store)


def forget_observations(ctx: CallContext, session_id: str, ids: Iterable[str], *, agent: str | None) -> RemovalCounts:
    """Remove these observations of a session; ids of other sessions are not touched."""

    def store(tx: Tx) -> RemovalCounts:
        tally = RemovalCounts()
        key = ctx.session_key(tx, session_id)
        for id in ids:
            seen = tx.get(OBSERVATIONS, ctx.tenant, id)
            if seen is not None and seen.session_id == key and ctx.may_see(seen, agent):
                _drop_observation(ctx, tx, seen, tally)
        _recount(ctx, tx, key, tally)
        _finish(ctx, tx, tally, (key,), "forget", "")
        return tally

    return ctx.store.write(store)


@dataclass(frozen=True, slots=True)
class ExpiredRecords:
    """What is past its time: planned first, so that a dry run shows the very same."""

    memories: tuple[Memory, ...]
    observations: tuple[Observation, ...]


def plan_sweep(ctx: CallContext) -> ExpiredRecords:
    """Memories past their time to live, and old observations that were never important."""
    reader, now = ctx.store.read(), ctx.safe_now()
    old = now - ctx.settings.retention_days * DAY_MS
    unimportant = Condition("importance", "<=", UNIMPORTANT)
    bounds = ctx.sees()
    ended = (*ctx.sees_memories(), Condition("forget_after", "<=", now))
    return ExpiredRecords(
        memories=tuple(reader.find(MEMORIES, ctx.tenant, *ended, order="seq", limit=SWEEP_ROWS)),
        observations=tuple(
            reader.find(
                OBSERVATIONS,
                ctx.tenant,
                *bounds,
                Condition("at", "<", old),
                unimportant,
                order="at",
                limit=SWEEP_ROWS,
            )
        ),
    )


def sweep(ctx: CallContext, plan: ExpiredRecords) -> RemovalCounts:
    """Carry the plan out, in one transaction."""

    def store(tx: Tx) -> RemovalCounts:
        tally = RemovalCounts()
        for memory in plan.memories:
            if tx.get(MEMORIES, ctx.tenant, memory.id):
                _expire(ctx, tx, memory, tally)
        for seen in plan.observations:
            if tx.get(OBSERVATIONS, ctx.tenant, seen.id):
                _drop_observation(ctx, tx, seen, tally)
        sessions = sorted({seen.session_id for seen in plan.observations})
        for session_id in sessions:
            _recount(ctx, tx, session_id, tally)
        _finish(ctx, tx, tally, sessions, "auto_forget", "")
        return tally

    return ctx.store.write(store)


def _drop_memory(ctx: CallContext, tx: Tx, memory: Memory, tally: RemovalCounts) -> None:
    gone = [one for line in lines_with(ctx, tx, memory) for one in line] if memory.latest else [memory]
    for version in gone:
        if version.latest:
            drop_addresses(ctx, tx, version)
        tx.delete(MEMORIES, ctx.tenant, version.id)
        tally.add_memory(version)


def lines_with(ctx: CallContext, reader: Reader, memory: Memory) -> Iterator[list[Memory]]:
    """All versions of a memory and, if it is a summary, of its sources, which would be found no more."""
    waiting, roots = [memory], {memory.root}
    while waiting:
        one = waiting.pop()
        yield line_of(reader, one)
        for id in one.source_ids:
            source = reader.get(MEMORIES, ctx.tenant, id)
            # In an import, two memories may name each other as their summary.
            if source is not None and source.folded_into == one.root and source.root not in roots:
                roots.add(source.root)
                waiting.append(latest_of(reader, source))


def _expire(ctx: CallContext, tx: Tx, memory: Memory, tally: RemovalCounts) -> None:
    """Remove one version whose time is over; what it superseded holds again."""
    tx.delete(MEMORIES, ctx.tenant, memory.id)
    tally.add_memory(memory)
    before = tx.get(MEMORIES, ctx.tenant, memory.parent_id) if memory.latest and memory.parent_id else None
    if before is not None:
        tx.replace(MEMORIES, dataclasses.replace(before, latest=True, valid_to=None))
    elif memory.latest:
        drop_addresses(ctx, tx, memory)


def _drop_observation(ctx: CallContext, tx: Tx, seen: Observation, tally: RemovalCounts) -> None:
    take_prompt(ctx, tx, seen)
    tx.delete(OBSERVATIONS, ctx.tenant, seen.id)
    tally.add("observations", seen.id)


def _drop_summary(ctx: CallContext, tx: Tx, session_id: str, tally: RemovalCounts) -> None:
    if tx.delete(SUMMARIES, ctx.tenant, session_id):
        tally.add("summaries", session_id)


def _recount(ctx: CallContext, tx: Tx, session_id: str, tally: RemovalCounts) -> None:
    """Set the session's count and first prompt right; its summary quotes what is gone, so it goes too."""
    session = tx.get(SESSIONS, ctx.tenant, session_id)
    if session is None or not tally.counts.get("observations"):
        return
    _drop_summary(ctx, tx, session_id, tally)
    left = tx.count(OBSERVATIONS, ctx.tenant, *where(session_id=session_id))
    first = first_prompt(ctx, tx, session_id)
    tx.replace(SESSIONS, dataclasses.replace(session, observation_count=left, first_prompt=first))


def _finish(
    ctx: CallContext, tx: Tx, tally: RemovalCounts, sessions: Iterable[str], operation: str, reason: str
) -> None:
    if not tally.total:
        return
    drop_drawn(ctx, tx, tally, tuple(sessions))
    for audience, ids in tally.by_audience().items():
        counts = tally.counts if len(ids) == len(tally.ids) else {"records": len(ids)}
        for start in range(0, len(ids), MOST_TARGETS):  # all of them: a merge goes by what was removed on purpose
            some = tuple(ids[start : start + MOST_TARGETS])
            ctx.audit(tx, operation, some, audience=audience, counts=counts, reason=reason)
        tx.publish(Event(ctx.tenant, "forgotten", {"ids": ids[:MOST_TARGETS], "counts": counts}, audience=audience))
