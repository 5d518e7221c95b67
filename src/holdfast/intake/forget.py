"""Forgetting: out of rows, words, sketches and everything drawn from them, in one transaction."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import orjson

from holdfast.desk import Desk
from holdfast.errors import NotFound
from holdfast.intake.addresses import drop_addresses, memory_named
from holdfast.intake.remember import DAY_MS, audience_of, latest_of, line_of
from holdfast.model import EVERYBODY, Event, Memory, Observation
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.set_aside import drop_set_aside
from holdfast.store.tables import (
    ANSWERS,
    INSIGHTS,
    MEMORIES,
    NOTES,
    OBSERVATIONS,
    RELATIONS,
    SESSIONS,
    SLOTS,
    STATEMENTS,
    SUMMARIES,
    reflected_key,
)

# One run of the background sweep stays short, so that writers never wait long for it; the next run goes on.
SWEEP_ROWS = 500
UNIMPORTANT = 2
MOST_TARGETS = 1_000  # of one entry in the audit log


@dataclass
class Tally:
    """How many records of each kind were removed, and which."""

    counts: dict[str, int] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    audiences: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of memories that not everybody saw

    def add(self, kind: str, id: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.ids.append(id)

    def add_memory(self, memory: Memory) -> None:
        self.add("memories", memory.id)
        audience = audience_of(memory)
        if audience != (EVERYBODY,):
            self.audiences[memory.id] = audience

    def by_audience(self) -> dict[tuple[str, ...], list[str]]:
        """What may be told to whom: ids by those who saw the records."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for id in self.ids:
            groups.setdefault(self.audiences.get(id, (EVERYBODY,)), []).append(id)
        return groups

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def forget_memories(
    desk: Desk, ids: Iterable[str], *, agent: str | None, reason: str = "", operation: str = "forget"
) -> Tally:
    """Remove memories the caller may see, by their ids or addresses. The latest version takes its whole line with it:
    whoever forgets a fact does not want its earlier wording kept. An old version goes alone."""

    def store(tx: Tx) -> Tally:
        tally = Tally()
        for id in ids:
            with suppress(NotFound):
                memory = memory_named(desk, tx, id, agent)
                desk.check_change(memory)
                _drop_memory(desk, tx, memory, tally)
        _finish(desk, tx, tally, (), operation, reason)
        return tally

    return desk.store.write(store)


def drop_line(desk: Desk, tx: Tx, memory: Memory, *, operation: str) -> None:
    """Remove a memory with all its versions and what was drawn from them, inside a write that is under way."""
    tally = Tally()
    _drop_memory(desk, tx, memory, tally)
    _finish(desk, tx, tally, (), operation, "")


def forget_session(desk: Desk, session_id: str, *, agent: str | None) -> Tally:
    """Remove a session with its observations, its summary and what was drawn from them."""

    def store(tx: Tx) -> Tally:
        tally = Tally()
        session = tx.get(SESSIONS, desk.tenant, desk.session_key(tx, session_id))
        if session is None or not desk.may_see(session, agent):
            return tally
        for seen in tx.find(OBSERVATIONS, desk.tenant, *where(session_id=session.id)):
            _drop_observation(desk, tx, seen, tally)
        _drop_summary(desk, tx, session.id, tally)
        tx.delete(SESSIONS, desk.tenant, session.id)
        tally.add("sessions", session.id)
        _finish(desk, tx, tally, (session.id,), "forget", "")
        return tally

    return desk.store.write(store)


def forget_observations(desk: Desk, session_id: str, ids: Iterable[str], *, agent: str | None) -> Tally:
    """Remove these observations of a session; ids of other sessions are not touched."""

    def store(tx: Tx) -> Tally:
        tally = Tally()
        key = desk.session_key(tx, session_id)
        for id in ids:
            seen = tx.get(OBSERVATIONS, desk.tenant, id)
            if seen is not None and seen.session_id == key and desk.may_see(seen, agent):
                _drop_observation(desk, tx, seen, tally)
        _recount(desk, tx, key, tally)
        _finish(desk, tx, tally, (key,), "forget", "")
        return tally

    return desk.store.write(store)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is past its time: planned first, so that a dry run shows the very same."""

    memories: tuple[Memory, ...]
    observations: tuple[Observation, ...]


def plan_sweep(desk: Desk) -> Sweep:
    """Memories past their time to live, and old observations that were never important."""
    reader, now = desk.store.read(), desk.safe_now()
    old = now - desk.settings.retention_days * DAY_MS
    unimportant = Condition("importance", "<=", UNIMPORTANT)
    bounds = desk.sees()
    ended = (*desk.sees_memories(), Condition("forget_after", "<=", now))
    return Sweep(
        memories=tuple(reader.find(MEMORIES, desk.tenant, *ended, order="seq", limit=SWEEP_ROWS)),
        observations=tuple(
            reader.find(
                OBSERVATIONS,
                desk.tenant,
                *bounds,
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
                _expire(desk, tx, memory, tally)
        for seen in plan.observations:
            if tx.get(OBSERVATIONS, desk.tenant, seen.id):
                _drop_observation(desk, tx, seen, tally)
        sessions = sorted({seen.session_id for seen in plan.observations})
        for session_id in sessions:
            _recount(desk, tx, session_id, tally)
        _finish(desk, tx, tally, sessions, "auto_forget", "")
        return tally

    return desk.store.write(store)


def _drop_memory(desk: Desk, tx: Tx, memory: Memory, tally: Tally) -> None:
    gone = [one for line in lines_with(desk, tx, memory) for one in line] if memory.latest else [memory]
    for version in gone:
        if version.latest:
            drop_addresses(desk, tx, version)
        tx.delete(MEMORIES, desk.tenant, version.id)
        tally.add_memory(version)


def lines_with(desk: Desk, reader: Reader, memory: Memory) -> Iterator[list[Memory]]:
    """All versions of a memory and, if it is a summary, of what was folded into it and would be found no more."""
    waiting, roots = [memory], {memory.root}
    while waiting:
        one = waiting.pop()
        yield line_of(reader, one)
        for id in one.source_ids:
            source = reader.get(MEMORIES, desk.tenant, id)
            # An import may say that two are folded into each other.
            if source is not None and source.folded_into == one.root and source.root not in roots:
                roots.add(source.root)
                waiting.append(latest_of(reader, source))


def _expire(desk: Desk, tx: Tx, memory: Memory, tally: Tally) -> None:
    """Remove one version whose time is over; what it superseded holds again."""
    tx.delete(MEMORIES, desk.tenant, memory.id)
    tally.add_memory(memory)
    before = tx.get(MEMORIES, desk.tenant, memory.parent_id) if memory.latest and memory.parent_id else None
    if before is not None:
        tx.replace(MEMORIES, dataclasses.replace(before, latest=True, valid_to=None))
    elif memory.latest:
        drop_addresses(desk, tx, memory)


def _drop_observation(desk: Desk, tx: Tx, seen: Observation, tally: Tally) -> None:
    tx.delete(OBSERVATIONS, desk.tenant, seen.id)
    tally.add("observations", seen.id)


def _drop_drawn(desk: Desk, tx: Tx, tally: Tally, sessions: Iterable[str]) -> None:
    """Insights that quote what is gone, relations that point at it, slot lines and kept answers that repeat it.

    One pass over each table, however many records were removed.
    """
    gone = {*tally.ids, *sessions}
    gone |= _drop_statements(desk, tx, tally, sessions)
    for insight in tx.find(INSIGHTS, desk.tenant):
        if not gone.isdisjoint(insight.source_ids):
            tx.delete(INSIGHTS, desk.tenant, insight.id)
            tally.add("insights", insight.id)
    for id in [*gone, *(f"session:{session}" for session in sessions)]:
        for end in ("source_id", "target_id"):
            for relation in tx.find(RELATIONS, desk.tenant, *where(**{end: id})):
                tx.delete(RELATIONS, desk.tenant, relation.id)
                tally.add("relations", relation.id)
                if id in tally.audiences:
                    tally.audiences[relation.id] = tally.audiences[id]
    for session in sessions:
        _drop_reflected(desk, tx, session)
    drop_set_aside(tx, desk.tenant, gone)
    _blank_answers(desk, tx, gone)


def _drop_statements(desk: Desk, tx: Tx, tally: Tally, sessions: Iterable[str]) -> set[str]:
    """Sentences that were said in what is gone. Those of a session that stays stay as well."""
    left = {id for id in sessions if tx.get(SESSIONS, desk.tenant, id) is not None}
    bounds = [("source_id", list(tally.ids)), ("session_id", [id for id in sessions if id not in left])]
    dropped = set()
    for column, ids in bounds:
        for start in range(0, len(ids), MOST_TARGETS):
            some = Condition(column, "in", ids[start : start + MOST_TARGETS])
            for statement in tx.find(STATEMENTS, desk.tenant, some):
                tx.delete(STATEMENTS, desk.tenant, statement.id)
                tally.add("statements", statement.id)
                dropped.add(statement.id)
    return dropped


def _drop_reflected(desk: Desk, tx: Tx, session_id: str) -> None:
    """Take the lines out of the slots that reflection wrote from this session."""
    note = tx.get(NOTES, desk.tenant, reflected_key(session_id))
    if note is None:
        return
    tx.delete(NOTES, desk.tenant, note.id)
    for slot_id, lines in orjson.loads(note.content).items():
        slot = tx.get(SLOTS, desk.tenant, slot_id)
        if slot is not None:
            left = [one for one in slot.content.split("\n") if one not in lines]
            tx.replace(SLOTS, dataclasses.replace(slot, content="\n".join(left)))


def _blank_answers(desk: Desk, tx: Tx, gone: set[str]) -> None:
    """A kept answer must not bring a forgotten text back; its key stays used."""
    named = re.compile("|".join(re.escape(id) for id in gone))
    for answer in tx.find(ANSWERS, desk.tenant):
        if answer.body and named.search(answer.body):
            tx.replace(ANSWERS, dataclasses.replace(answer, body=""))


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


def _finish(desk: Desk, tx: Tx, tally: Tally, sessions: Iterable[str], operation: str, reason: str) -> None:
    if not tally.total:
        return
    _drop_drawn(desk, tx, tally, tuple(sessions))
    for audience, ids in tally.by_audience().items():
        counts = tally.counts if len(ids) == len(tally.ids) else {"records": len(ids)}
        for start in range(0, len(ids), MOST_TARGETS):  # all of them: a merge goes by what was removed on purpose
            some = tuple(ids[start : start + MOST_TARGETS])
            desk.audit(tx, operation, some, audience=audience, counts=counts, reason=reason)
        tx.publish(Event(desk.tenant, "forgotten", {"ids": ids[:MOST_TARGETS], "counts": counts}, audience=audience))
