"""Two records of one id that diverged: which one is kept, and what of the other must not be lost. Pure.

Memories have versions and rules of their own (`versions.py`); everything else has one row, so what loses is set
aside in a note.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal

import orjson

from holdfast.core.model import Json, Note
from holdfast.store.port import Table
from holdfast.store.queries.merge_notes import MERGED, merged_key
from holdfast.store.tables import (
    ACTIONS,
    AUDIT,
    COMMITS,
    COORDINATION,
    INSIGHTS,
    LESSONS,
    NOTES,
    OBSERVATIONS,
    RELATIONS,
    SESSIONS,
    SLOTS,
    STATEMENTS,
    SUMMARIES,
)

Side = Literal["base", "other"]
Prefer = Literal["base", "other", "newest"]


@dataclass(frozen=True, slots=True)
class MergeRule:
    """How two records of a table become one."""

    table: Table[Any]
    changed: str  # the column with the time of its last change
    said: tuple[str, ...]  # what a user wrote: if it differs, the losing one is set aside
    united: tuple[str, ...] = ()  # lists that are united
    highest: tuple[str, ...] = ()  # numbers whose maximum is kept


RULES = (
    MergeRule(SESSIONS, "updated_at", ("title", "first_prompt"), highest=("updated_at",)),
    MergeRule(OBSERVATIONS, "stored_at", ("title", "subtitle", "narrative", "facts", "raw")),
    MergeRule(LESSONS, "updated_at", ("content", "context"), ("source_ids", "tags"), ("reinforcements",)),
    MergeRule(SLOTS, "updated_at", ("content", "description")),
    MergeRule(ACTIONS, "updated_at", ("title", "description", "status", "priority"), ("tags",)),
    MergeRule(RELATIONS, "created_at", ("source_id", "target_id", "type")),
    MergeRule(COORDINATION, "updated_at", ("subject", "body")),
    MergeRule(SUMMARIES, "created_at", ("title", "narrative", "decisions"), ("files", "concepts")),
    MergeRule(INSIGHTS, "updated_at", ("title", "content"), ("source_ids", "concepts", "files"), ("strength",)),
    MergeRule(STATEMENTS, "at", ("text",)),
    MergeRule(COMMITS, "linked_at", ("message",), ("session_ids", "files")),
    MergeRule(NOTES, "updated_at", ("content",)),
    MergeRule(AUDIT, "at", ("operation", "target_ids", "details")),
)


@dataclass(frozen=True, slots=True)
class Resolution:
    """What is kept, whose it is, and what has to be set aside of the other."""

    record: Any
    winner: Side
    lost: Any | None


def same(one: Any, other: Any) -> bool:
    """Whether they are the same record, whatever their place in the order of writes."""
    return bool(dataclasses.replace(one, seq=0) == dataclasses.replace(other, seq=0))


def settle(rule: MergeRule, base: Any, other: Any, prefer: Prefer) -> Resolution:
    """One record of two that differ."""
    winner = _winner(rule, base, other, prefer)
    kept, lost = (base, other) if winner == "base" else (other, base)
    changes: Json = {name: unite(getattr(kept, name), getattr(lost, name)) for name in rule.united}
    changes |= {name: max(getattr(kept, name), getattr(lost, name)) for name in rule.highest}
    says_more = any(getattr(lost, name) and getattr(lost, name) != getattr(kept, name) for name in rule.said)
    return Resolution(dataclasses.replace(kept, **changes), winner, lost if says_more else None)


def _winner(rule: MergeRule, base: Any, other: Any, prefer: Prefer) -> Side:
    if prefer != "newest":
        return prefer
    # Of the same moment, the one whose text comes later: so that the order of the two does not matter.
    times = [(getattr(one, rule.changed), repr([getattr(one, name) for name in rule.said])) for one in (base, other)]
    return "other" if times[1] > times[0] else "base"


def unite(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """The union, without duplicates."""
    return tuple(dict.fromkeys((*first, *second)))


def set_aside(rule: MergeRule, lost: Any) -> Note:
    """The losing record as a note; the same one again gives the same note."""
    fields = {name: value for name, value in dataclasses.asdict(lost).items() if name not in ("tenant", "seq")}
    content = orjson.dumps({"table": rule.table.name, "record": fields}, option=orjson.OPT_SORT_KEYS)
    id = merged_key(lost.id, rule.table.name, sha256(content).hexdigest()[:16])
    return Note(lost.tenant, id, 0, MERGED, content.decode(), getattr(lost, rule.changed))
