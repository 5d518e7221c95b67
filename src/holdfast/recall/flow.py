"""Recall: question ─search→ ranked lists ─fuse→ hits ─allow→ visible hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.desk import Desk
from holdfast.model import Memory, Observation
from holdfast.store import words
from holdfast.store.port import Condition, Reader, Table, WordHit, where
from holdfast.store.tables import MEMORIES, OBSERVATIONS


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and within which bounds."""

    query: str
    limit: int = 10
    project: str | None = None
    agent: str | None = None
    session_id: str | None = None
    type: str | None = None
    concepts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    before: int | None = None
    after: int | None = None
    as_of: int | None = None
    kinds: tuple[str, ...] = ("memory", "observation")


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that answers, and how well."""

    record: Memory | Observation
    score: float

    @property
    def kind(self) -> str:
        return "memory" if isinstance(self.record, Memory) else "observation"


def search(desk: Desk, question: Question) -> list[Hit]:
    """The best records for the question that the caller may see, best first."""
    reader = desk.store.read()
    if question.session_id:
        question = replace(question, session_id=desk.session_key(reader, question.session_id))
    query = words.query(question.query)
    lists: list[tuple[Table[Any], list[WordHit]]] = []
    if "memory" in question.kinds:
        bounds = memory_bounds(desk, question)
        lists.append((MEMORIES, reader.words(MEMORIES, desk.tenant, query, bounds, question.limit).hits))
    if "observation" in question.kinds:
        bounds = observation_bounds(desk, question)
        lists.append((OBSERVATIONS, reader.words(OBSERVATIONS, desk.tenant, query, bounds, question.limit).hits))
    hits = [hit for table, found in lists for hit in _records(desk, reader, table, found)]
    visible = [hit for hit in hits if desk.may_see(hit.record, question.agent)]
    return sorted(visible, key=lambda hit: (-hit.score, -hit.record.seq))[: question.limit]


def memory_bounds(desk: Desk, question: Question) -> tuple[Condition, ...]:
    """Conditions on memories: the latest versions, or those that held at a moment."""
    conditions = [*desk.sees(question.agent), *where(project=question.project, type=question.type)]
    if question.as_of is None:
        conditions += where(latest=True)
    else:
        conditions += [
            Condition("valid_from", "<=", question.as_of),
            Condition("valid_to", "until", question.as_of),
        ]
    if question.session_id:
        conditions.append(Condition("session_ids", "has", question.session_id))
    return (*conditions, *_lists(question), *_window("created_at", question))


def observation_bounds(desk: Desk, question: Question) -> tuple[Condition, ...]:
    """Conditions on observations."""
    conditions = [
        *desk.sees(question.agent),
        *where(project=question.project, type=question.type, session_id=question.session_id),
    ]
    if question.as_of is not None:
        conditions.append(Condition("at", "<=", question.as_of))
    return (*conditions, *_lists(question), *_window("at", question))


def _lists(question: Question) -> list[Condition]:
    concepts = [Condition("concepts", "has", concept) for concept in question.concepts]
    return concepts + [Condition("files", "has", file) for file in question.files]


def _window(column: str, question: Question) -> list[Condition]:
    bounds: list[Condition] = []
    if question.before is not None:
        bounds.append(Condition(column, "<", question.before))
    if question.after is not None:
        bounds.append(Condition(column, ">", question.after))
    return bounds


def _records(desk: Desk, reader: Reader, table: Table[Any], found: Sequence[WordHit]) -> list[Hit]:
    scores = {hit.seq: hit.score for hit in found}
    records = reader.find(table, desk.tenant, Condition("seq", "in", list(scores)))
    return [Hit(record, scores[record.seq]) for record in records]
