"""Shapes that several answers share; their schemas stand once in the OpenAPI document."""

from __future__ import annotations

from typing import Annotated

from pydantic import WithJsonSchema
from typing_extensions import TypedDict

from holdfast.core.model import (
    Action,
    AuditEntry,
    Commit,
    Insight,
    Json,
    Lesson,
    Memory,
    Observation,
    Relation,
    Session,
    Slot,
    Summary,
    Token,
)

RECORDS = (
    Action, AuditEntry, Commit, Insight, Lesson, Memory, Observation, Relation, Session, Slot, Summary, Token,
)  # fmt: skip


RECORD = "x-record"


def _ref(name: str) -> WithJsonSchema:
    """Marks a record's shape; pydantic would resolve a real reference, so the OpenAPI page inserts it."""
    return WithJsonSchema({RECORD: name})


ActionShape = Annotated[Json, _ref("Action")]
AuditShape = Annotated[Json, _ref("AuditEntry")]
CommitShape = Annotated[Json, _ref("Commit")]
InsightShape = Annotated[Json, _ref("Insight")]
LessonShape = Annotated[Json, _ref("Lesson")]
MemoryShape = Annotated[Json, _ref("Memory")]
ObservationShape = Annotated[Json, _ref("Observation")]
RelationShape = Annotated[Json, _ref("Relation")]
SessionShape = Annotated[Json, _ref("Session")]
SlotShape = Annotated[Json, _ref("Slot")]
SummaryShape = Annotated[Json, _ref("Summary")]
TokenShape = Annotated[Json, _ref("Token")]


class Success(TypedDict):
    success: bool
