"""The tables of the store: which record lives where, and what the word index sees of it."""

from __future__ import annotations

from typing import Any

from holdfast.core.model import (
    EVERYBODY,
    Action,
    Address,
    Answer,
    AuditEntry,
    CleanText,
    Commit,
    CoordinationRecord,
    Insight,
    Lesson,
    Memory,
    Note,
    OAuthRecord,
    Observation,
    Relation,
    Session,
    Slot,
    Statement,
    Summary,
    Token,
)
from holdfast.core.session_keys import key_of
from holdfast.store.minhash import distinct_words, sketch
from holdfast.store.port import IndexText, Table
from holdfast.store.tokenizer import code_terms, index_text


def memory_sketch(
    content: str, project: str | None, agent: str | None, audience: tuple[str, ...] = (EVERYBODY,)
) -> tuple[int, ...]:
    """Hashes by which near-duplicates of the same project, agent and audience are found."""
    return sketch(content, distinct_words(content), key_of(project, agent, *audience))


def _memory_text(memory: Memory) -> IndexText:
    about = (memory.subject, *memory.entities, *memory.topics, memory.disclosure)
    tags = " ".join(filter(None, (*memory.concepts, *memory.files, memory.type, *about)))
    hashes = memory_sketch(memory.content, memory.project, memory.agent, memory.audience) if memory.latest else ()
    # A title cut from the text would count its first words twice.
    title = "" if memory.content.startswith(memory.title.removesuffix("…")) else memory.title
    scopes = MEMORIES.scopes(memory)
    codes = " ".join(code_terms("\n".join((title, memory.content, tags))))
    texts = (index_text(title), index_text(memory.content), index_text(tags))
    return IndexText(*texts, hashes, scopes, memory.created_at, codes)


def _observation_text(seen: Observation) -> IndexText:
    body = "\n".join((seen.subtitle, seen.narrative, *seen.facts))
    tags = " ".join((*seen.concepts, *seen.files, seen.type))
    scopes = OBSERVATIONS.scopes(seen)
    codes = " ".join(code_terms("\n".join((seen.title, body, tags))))
    return IndexText(index_text(seen.title), index_text(body), index_text(tags), scopes=scopes, at=seen.at, codes=codes)


# Some 5,000 words. What is longer is found by all its words and by the meaning of its beginning.
PASSAGE_CHARS = 32_000


def _memory_passage(memory: Memory) -> CleanText:
    """The content, which most titles are the beginning of."""
    titled = memory.content.startswith(memory.title.removesuffix("…").rstrip())
    about = (memory.disclosure, ", ".join((*memory.entities, *memory.topics)))
    return _passage(memory.content, *about) if titled else _passage(memory.title, memory.content, *about)


def _observation_passage(seen: Observation) -> CleanText:
    return _passage(seen.title, seen.narrative, *seen.facts)


def _passage(*parts: str) -> CleanText:
    """Stored text went through redaction when it came in."""
    return CleanText("\n".join(part for part in parts if part)[:PASSAGE_CHARS])


SESSIONS = Table("sessions", Session, timed="started_at")
OBSERVATIONS: Table[Observation] = Table(
    "observations",
    Observation,
    _observation_text,
    _observation_passage,
    scoped=("project", "agent", "type", "session_id", "concepts", "files"),
    timed="at",
    told=True,
    counted=True,
)
MEMORIES: Table[Memory] = Table(
    "memories",
    Memory,
    _memory_text,
    _memory_passage,
    scoped=("project", "agent", "type", "latest", "session_ids", "concepts", "files", "audience"),
    timed="created_at",
    told=True,
    counted=True,
)
ADDRESSES = Table("addresses", Address)
LESSONS = Table("lessons", Lesson, told=True, counted=True)
SLOTS = Table("slots", Slot, told=True, counted=True)
ACTIONS = Table("actions", Action, counted=True)
RELATIONS = Table("relations", Relation)
COORDINATION = Table("coordination", CoordinationRecord, counted=True)
SUMMARIES = Table("summaries", Summary, told=True)
INSIGHTS = Table("insights", Insight, told=True)
STATEMENTS = Table("statements", Statement)  # derived from observations, which are published
COMMITS = Table("commits", Commit, counted=True)
TOKENS = Table("tokens", Token)
OAUTH = Table("oauth", OAuthRecord)
AUDIT = Table("audit", AuditEntry)
ANSWERS = Table("answers", Answer)
NOTES = Table("notes", Note)
TAGGING = ("facet", "share")  # kinds of coordination records that go with the memory or observation they are about
PAGE = "second-brain"  # the kind of notes that a user writes; the others are the server's own state

TABLES: tuple[Table[Any], ...] = (
    SESSIONS,
    OBSERVATIONS,
    MEMORIES,
    ADDRESSES,
    LESSONS,
    SLOTS,
    ACTIONS,
    RELATIONS,
    COORDINATION,
    SUMMARIES,
    INSIGHTS,
    STATEMENTS,
    COMMITS,
    TOKENS,
    OAUTH,
    AUDIT,
    ANSWERS,
    NOTES,
)

# Of the place, not of the memory: who may come in, and what was answered. No snapshot has them.
ACCESS: tuple[Table[Any], ...] = (TOKENS, OAUTH)
PLACE: tuple[Table[Any], ...] = (*ACCESS, ANSWERS)
NOT_MEMORY = frozenset(table.name for table in (AUDIT, *PLACE))  # a memory that holds only these is empty

# What callers keep. What is derived from it, who may come in and what happened is not counted.
COUNTED: tuple[Table[Any], ...] = tuple(table for table in TABLES if table.counted)


def reflected_key(session_id: str) -> str:
    """The note that remembers which slot lines were written from a session."""
    return key_of("reflected", session_id)


def reflected_from_key(session_id: str) -> str:
    """The note that remembers from which observations each of these lines came."""
    return key_of("reflected-from", session_id)


def outdated_summary_key(session_id: str) -> str:
    """The note that a session's summary is to be rebuilt."""
    return key_of("outdated-summary", session_id)
