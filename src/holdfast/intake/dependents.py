"""What was drawn from records goes when they are forgotten: statements, insights, lessons, slot lines, kept answers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from holdfast.context import CallContext
from holdfast.core.model import EVERYBODY, Memory
from holdfast.intake.remember import audience_of
from holdfast.store.port import Condition, Table, Tx, where
from holdfast.store.queries.merge_notes import drop_set_aside
from holdfast.store.queries.stale_summaries import mark_sessions_of
from holdfast.store.tables import (
    ANSWERS,
    COORDINATION,
    INSIGHTS,
    LESSONS,
    MEMORIES,
    NOTES,
    OBSERVATIONS,
    RELATIONS,
    SESSIONS,
    SLOTS,
    STATEMENTS,
    TAGGING,
    reflected_from_key,
    reflected_key,
)

ASKED_AT_ONCE = 1_000  # ids in one condition


@dataclass
class RemovalCounts:
    """How many records of each kind were removed, and which."""

    counts: dict[str, int] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    audiences: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of memories with a restricted audience

    def add(self, kind: str, id: str) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.ids.append(id)

    def add_memory(self, memory: Memory) -> None:
        self.add("memories", memory.id)
        audience = audience_of(memory)
        if audience != (EVERYBODY,):
            self.audiences[memory.id] = audience

    def by_audience(self) -> dict[tuple[str, ...], list[str]]:
        """What may be published to whom: ids by the audience of the records."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for id in self.ids:
            groups.setdefault(self.audiences.get(id, (EVERYBODY,)), []).append(id)
        return groups

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def drop_drawn(ctx: CallContext, tx: Tx, tally: RemovalCounts, sessions: Iterable[str]) -> None:
    """Statements, insights and lessons that quote what is gone, relations that point at it, slot lines and kept answers
    that repeat it.

    One pass over each table, however many records were removed.
    """
    gone = {*tally.ids, *sessions}
    gone |= _drop_statements(ctx, tx, tally, sessions)
    for insight in tx.find(INSIGHTS, ctx.tenant):
        if not gone.isdisjoint(insight.source_ids):
            tx.delete(INSIGHTS, ctx.tenant, insight.id)
            tally.add("insights", insight.id)
    for lesson in tx.find(LESSONS, ctx.tenant):
        if not gone.isdisjoint(lesson.source_ids) and not _any_left(ctx, tx, lesson.source_ids):
            tx.delete(LESSONS, ctx.tenant, lesson.id)
            tally.add("lessons", lesson.id)
    _drop_tags(ctx, tx, tally)
    for id in [*gone, *(f"session:{session}" for session in sessions)]:
        for end in ("source_id", "target_id"):
            for relation in tx.find(RELATIONS, ctx.tenant, *where(**{end: id})):
                tx.delete(RELATIONS, ctx.tenant, relation.id)
                tally.add("relations", relation.id)
                if end == "source_id":  # what it had replaced holds again, and belongs into its session's summary
                    mark_sessions_of(tx, ctx.tenant, ctx.clock.now_ms(), [relation.target_id])
                if id in tally.audiences:
                    tally.audiences[relation.id] = tally.audiences[id]
    for session in sessions:
        _drop_lines(ctx, tx, session, gone, tally)
    drop_set_aside(tx, ctx.tenant, gone)
    _blank_answers(ctx, tx, gone)


def _drop_tags(ctx: CallContext, tx: Tx, tally: RemovalCounts) -> None:
    """Facets of what is gone, and the notes that it was shared."""
    kinds, ids = Condition("kind", "in", TAGGING), list(tally.ids)
    for start in range(0, len(ids), ASKED_AT_ONCE):
        some = Condition("subject", "in", ids[start : start + ASKED_AT_ONCE])
        for one in tx.find(COORDINATION, ctx.tenant, kinds, some):
            tx.delete(COORDINATION, ctx.tenant, one.id)
            tally.add(f"{one.kind}s", one.id)
            if one.subject in tally.audiences:
                tally.audiences[one.id] = tally.audiences[one.subject]


def _any_left(ctx: CallContext, tx: Tx, ids: Iterable[str]) -> bool:
    tables: tuple[Table[Any], ...] = (OBSERVATIONS, MEMORIES, SESSIONS)
    return any(tx.get(table, ctx.tenant, id) is not None for id in ids for table in tables)


def _drop_statements(ctx: CallContext, tx: Tx, tally: RemovalCounts, sessions: Iterable[str]) -> set[str]:
    """Statements drawn from what is gone. Those of a session that stays stay as well."""
    left = {id for id in sessions if tx.get(SESSIONS, ctx.tenant, id) is not None}
    bounds = [("source_id", list(tally.ids)), ("session_id", [id for id in sessions if id not in left])]
    dropped = set()
    for column, ids in bounds:
        for start in range(0, len(ids), ASKED_AT_ONCE):
            some = Condition(column, "in", ids[start : start + ASKED_AT_ONCE])
            for statement in tx.find(STATEMENTS, ctx.tenant, some):
                tx.delete(STATEMENTS, ctx.tenant, statement.id)
                tally.add("statements", statement.id)
                dropped.add(statement.id)
    return dropped


def _drop_lines(ctx: CallContext, tx: Tx, session_id: str, gone: set[str], tally: RemovalCounts) -> None:
    """Take the lines out of the slots that reflection wrote from what is gone; all of a session that is gone."""
    note = tx.get(NOTES, ctx.tenant, reflected_key(session_id))
    if note is None:
        return
    known = tx.get(NOTES, ctx.tenant, reflected_from_key(session_id))
    whole = tx.get(SESSIONS, ctx.tenant, session_id) is None
    sources = _left(orjson.loads(known.content), gone) if known and not whole else {}
    written: dict[str, list[str]] = orjson.loads(note.content)
    left = {slot: [one for one in lines if one in sources] for slot, lines in written.items()}
    for slot_id, lines in written.items():
        _take_lines(ctx, tx, slot_id, set(lines) - set(left[slot_id]), tally)
    if known is None or not any(left.values()):
        tx.delete(NOTES, ctx.tenant, note.id)
        tx.delete(NOTES, ctx.tenant, reflected_from_key(session_id))
        return
    content = {slot: lines for slot, lines in left.items() if lines}
    tx.replace(NOTES, dataclasses.replace(note, content=orjson.dumps(content).decode()))
    tx.replace(NOTES, dataclasses.replace(known, content=orjson.dumps(sources).decode()))


def _left(sources: dict[str, list[list[str]]], gone: set[str]) -> dict[str, list[list[str]]]:
    """The lines that still have a source. Of lines that an earlier version wrote none is known: they go."""
    found = {line: [group for group in groups if gone.isdisjoint(group)] for line, groups in sources.items()}
    return {line: groups for line, groups in found.items() if groups}


def _take_lines(ctx: CallContext, tx: Tx, slot_id: str, lines: set[str], tally: RemovalCounts) -> None:
    slot = tx.get(SLOTS, ctx.tenant, slot_id)
    if slot is None:
        return
    kept = [one for one in slot.content.split("\n") if one not in lines]
    taken = slot.content.count("\n") + 1 - len(kept)
    if taken:
        tx.replace(SLOTS, dataclasses.replace(slot, content="\n".join(kept), updated_at=ctx.clock.now_ms()))
        tally.counts["lines"] = tally.counts.get("lines", 0) + taken


def _blank_answers(ctx: CallContext, tx: Tx, gone: set[str]) -> None:
    """A kept answer must not bring a forgotten text back; its key stays used."""
    named = re.compile("|".join(re.escape(id) for id in gone))
    for answer in tx.find(ANSWERS, ctx.tenant):
        if answer.body and named.search(answer.body):
            tx.replace(ANSWERS, dataclasses.replace(answer, body=""))
