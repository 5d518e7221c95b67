"""Queries and their results: values that all steps of a search share."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.core.model import Memory, Observation
from holdfast.recall.confidence import Confidence
from holdfast.recall.rank import ScoreParts


@dataclass(frozen=True, slots=True)
class Question:
    """The query and its filters."""

    query: str
    limit: int = 10
    project: str | None = None
    here: str | None = None  # the project of the caller's folder: searched first, and alone if it answers
    agent: str | None = None
    session_id: str | None = None
    type: str | None = None
    concepts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    before: int | None = None
    after: int | None = None
    as_of: int | None = None
    kinds: tuple[str, ...] = ("memory", "observation")
    unbound: bool = False  # only memories of no project
    strict: bool = False  # only what holds one of the words itself, or clearly means the same
    per_session: int | None = None  # at most so many of one session, for answers from several
    reread: bool = False  # whether the reranker reads the best hits again


@dataclass(frozen=True, slots=True)
class Replacement:
    """The statement or memory that replaced an older one, and when it was said."""

    id: str  # of the record it was said in
    text: str
    at: int
    sure: bool  # it replaced the older one; else it is probably about the same
    of: str  # the id of the older statement or memory


UNSURE = Confidence(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that answers, how well, and why."""

    record: Memory | Observation
    score: float
    parts: ScoreParts
    cosine: float | None  # None: the record has no vector, or there is no embedder
    covered: float = 0.0  # the share of the question's rarity that its words hold
    confidence: Confidence = UNSURE
    turn: tuple[Observation, ...] = ()  # the prompt and messages of the turn that it stands for
    outdated: Replacement | None = None  # what replaced the statement that matched
    also: tuple[str, ...] = ()  # ids of other records that it stands for: they repeat it, or are earlier versions

    @property
    def kind(self) -> str:
        return "memory" if isinstance(self.record, Memory) else "observation"
