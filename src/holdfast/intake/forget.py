"""Forgetting: out of rows, words, sketches and everything drawn from them, in one transaction."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass, field

from holdfast.desk import Desk
from holdfast.intake.remember import DAY_MS, line_of
from holdfast.model import Event, Memory, Observation
from holdfast.store.port import Condition, Tx, where
from holdfast.store.tables import INSIGHTS, MEMORIES, OBSERVATIONS, RELATIONS, SESSIONS, SUMMARIES

# One run of the background sweep stays short, so that writers never wait long for it; the next run goes on.
SWEEP_ROWS = 500
UNIMPORTANT = 2


@dataclass
class Tally:
    """How many records of each kind were removed, and which."""

    counts: dict[str, int] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)

    def add(self, kind: str, id: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.ids.append(id)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def forget_memories(
    desk: Desk, ids: Iterable[str], *, agent: str | None, reason: str = "", operation: str = "forget"
) -> Tally:
    """Remove memories the caller may see. The latest version takes its whole line with it: whoever
    forgets a fact does not want its earlier wording kept. An old version goes alone."""

    def store(tx: Tx) -> Tally:
        tally = Tally()
        for id in ids:
            memory = tx.get(MEMORIES, desk.tenant, id)
            if memory is not None and desk.may_see(memory, agent):
                _drop_memory(desk, tx, memory, tally)
        _finish(desk, tx, tally, operation, reason)
        return tally

    return desk.store.write(store)


def forget_session(desk: Desk, session_id: str, *, agent: str | None) -> Tally:
    """Remove a session with its observations, its summary and what was drawn from them."""

    def store(tx: Tx) -> Tally:
        tally = Tally()
        session = tx.get(SESSIONS, desk.tenant, session_id)
        if session is None or not desk.may_see(session, agent):
            return tally
        for seen in tx.find(OBSERVATIONS, desk.tenant, *where(session_id=session_id)):
            _drop_observation(desk, tx, seen, tally)
        _drop_summary(desk, tx, session_id, tally)
        tx.delete(SESSIONS, desk.tenant, session_id)
        tally.add("sessions", session_id)
        _finish(desk, tx, tally, "forget", "")
        return tally

    return desk.store.write(store)


def forget_observations(desk: Desk, session_id: str, ids: Iterable[str], *, agent: str | None) -> Tally:
    """Remove these observations of a session; ids of other sessions are not touched."""

    def store(tx: Tx) -> Tally:
        tally = Tally()
        for id in ids:
            seen = tx.get(OBSERVATIONS, desk.tenant, id)
            if seen is not None and seen.session_id == session_id and desk.may_see(seen, agent):
                _drop_observation(desk, tx, seen, tally)
        _recount(desk, tx, session_id, tally)
        _finish(desk, tx, tally, "forget", "")
        return tally

    return desk.store.write(store)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is past its time: planned first, so that a dry run shows the very same."""

    memories: tuple[Memory, ...]
    observations: tuple[Observation, ...]


def plan_sweep(desk: Desk) -> Sweep:
    """Memories past their time to live, and old observations that were never important."""
    reader, now = desk.store.read(), desk.clock.now_ms()
    old = now - desk.settings.retention_days * DAY_MS
    unimportant = Condition("importance", "<=", UNIMPORTANT)
    return Sweep(
        memories=tuple(
            reader.find(MEMORIES, desk.tenant, Condition("forget_after", "<=", now), order="seq", limit=SWEEP_ROWS)
        ),
        observations=tuple(
            reader.find(
                OBSERVATIONS,
                desk.tenant,
                Condition("at", "<", old),
                unimportant,
                order="at",
                limit=SWEEP_ROWS,
            )
        ),
    )


def sweep(desk: Desk, plan: Sweep) -> Tally:
    """Carry the plan out, in one transaction."""

    def store(tx: Tx) -> Tally:
        tally = Tally()
        for memory in plan.memories:
            if tx.get(MEMORIES, desk.tenant, memory.id):
                _drop_memory(desk, tx, memory, tally)
        for seen in plan.observations:
            if tx.get(OBSERVATIONS, desk.tenant, seen.id):
                _drop_observation(desk, tx, seen, tally)
        for session_id in {seen.session_id for seen in plan.observations}:
            _recount(desk, tx, session_id, tally)
        _finish(desk, tx, tally, "auto_forget", "")
        return tally

    return desk.store.write(store)


def _drop_memory(desk: Desk, tx: Tx, memory: Memory, tally: Tally) -> None:
    line = line_of(tx, memory) if memory.latest else [memory]
    for version in line:
        tx.delete(MEMORIES, desk.tenant, version.id)
        tally.add("memories", version.id)
        _drop_drawn(desk, tx, version.id, tally)


def _drop_observation(desk: Desk, tx: Tx, seen: Observation, tally: Tally) -> None:
    tx.delete(OBSERVATIONS, desk.tenant, seen.id)
    tally.add("observations", seen.id)
    _drop_drawn(desk, tx, seen.id, tally)


def _drop_drawn(desk: Desk, tx: Tx, id: str, tally: Tally) -> None:
    """Insights that quote the record, and relations that point at it."""
    for insight in tx.find(INSIGHTS, desk.tenant, Condition("source_ids", "has", id)):
        tx.delete(INSIGHTS, desk.tenant, insight.id)
        tally.add("insights", insight.id)
    for end in ("source_id", "target_id"):
        for relation in tx.find(RELATIONS, desk.tenant, *where(**{end: id})):
            tx.delete(RELATIONS, desk.tenant, relation.id)
            tally.add("relations", relation.id)


def _drop_summary(desk: Desk, tx: Tx, session_id: str, tally: Tally) -> None:
    if tx.delete(SUMMARIES, desk.tenant, session_id):
        tally.add("summaries", session_id)


def _recount(desk: Desk, tx: Tx, session_id: str, tally: Tally) -> None:
    """Set the session's count right; its summary quotes what is gone, so it goes too."""
    session = tx.get(SESSIONS, desk.tenant, session_id)
    if session is None or not tally.counts.get("observations"):
        return
    _drop_summary(desk, tx, session_id, tally)
    left = tx.count(OBSERVATIONS, desk.tenant, *where(session_id=session_id))
    tx.replace(SESSIONS, dataclasses.replace(session, observation_count=left, first_prompt=""))


def _finish(desk: Desk, tx: Tx, tally: Tally, operation: str, reason: str) -> None:
    if not tally.total:
        return
    desk.audit(tx, operation, tuple(tally.ids[:1000]), counts=tally.counts, reason=reason)
    tx.publish(Event(desk.tenant, "forgotten", {"ids": tally.ids[:1000], "counts": tally.counts}))
