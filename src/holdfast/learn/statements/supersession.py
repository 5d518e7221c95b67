"""Finds the older statements and memories that a newer one replaces, and records it by a relation `supersedes`.

Nothing is changed in the older one: search, context and viewer follow the relation, and removing it brings
the older one back. A relation `updates` is weaker: the newer one probably gives another value of the same. A relation
`same_subject` is weakest: a context shows the older one below the newer. A relation `holds`: the user removed
such a relation, so it is not made again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from holdfast.context import CallContext
from holdfast.core.errors import EmbedderUnavailable
from holdfast.core.model import RULE_TYPES, Memory, Statement
from holdfast.core.ports import Embedder
from holdfast.learn.relations import keep_relation
from holdfast.learn.slots import drop_reflected_line
from holdfast.learn.statements.change_features import Similarity, signs
from holdfast.learn.statements.changes import (
    Verdict,
    gives_another_number,
    is_stated,
    likelihood,
    of_two_things,
    verdict,
)
from holdfast.learn.statements.edits import Claim, names_what_was_taken
from holdfast.learn.statements.session_turns import Turn, turn_around
from holdfast.learn.statements.stems import stems, subject_of
from holdfast.learn.statements.text_vectors import TextVectors
from holdfast.learn.statements.values import KEPT_TEXTS, values, without_values
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.queries.stale_summaries import mark_sessions_of
from holdfast.store.tables import MEMORIES, OBSERVATIONS, RELATIONS, STATEMENTS

SUPERSEDES, UPDATES, SAME_SUBJECT, HOLDS = "supersedes", "updates", "same_subject", "holds"
RELATION: dict[Verdict, str] = {"replaced": SUPERSEDES, "newer": UPDATES, "related": SAME_SUBJECT}
COMPARED = 1_500  # of a project's newest statements
COMPARED_MEMORIES = 200
WORTH_COMPARING = 0.12  # what is worth less is shown nowhere (recall.context)
# What is unlikely by words alone is not examined further if its meaning is unknown.
WORTH_A_LOOK = 0.05
# In meaning, for statements without a common word to be compared: less is needed if both give a value of one kind. Of
# 70 changes that none of it was chosen on, 60 were compared by words and 0.4 alone, and 68 so.
NEAR_ENOUGH, NEAR_WITH_VALUE = 0.4, 0.25
# Of what is apart by all this, the nearest are read beside the newer one by the reranker, where there is one. It says
# more than 0 where a text answers: in four scenarios of 10 of 24 changes that nothing else saw, and of 8 other pairs.
# The five nearest with what they answered find 14, and take 80 ms more a statement: too long for a start that waits.
READ_TOGETHER, LEAST_NEAR, ANSWERS = 2, 0.2, 0.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement or memory that may be replaced, or may replace."""

    id: str
    text: str
    at: int
    source_id: str
    wish: bool = False  # what the user wants, which no report of work replaces
    left_open: bool = False  # work that was left open


class Comparer:
    """Compares statements of one project."""

    def __init__(self, ctx: CallContext, embedder: Embedder | None, vectors: TextVectors | None = None):
        self._ctx = ctx
        self._embedder = embedder
        self._vectors = vectors or TextVectors()
        self._turns: dict[str, Turn] = {}

    def compare(self, reader: Reader, new: Candidate, turn: Turn, others: Iterable[Candidate]) -> dict[str, Verdict]:
        """Which of the older ones the newer one replaces, or has the subject of."""
        claim = Claim(new.text, turn.asked, tuple(turn.edits))
        found: dict[str, Verdict] = {}
        by_user = turn.prompt is not None and new.source_id == turn.prompt.id
        older = [one for one in others if one.at <= new.at and one.id != new.id]
        near = self._near(claim, [one.text for one in older])
        apart: list[tuple[float, Candidate]] = []
        for old, likeness in zip(older, near, strict=True):
            taken_up = not by_user and _asks_after(claim.prompt, old)
            if not _near_enough(old.text, new.text, likeness) and not taken_up and not _comparable(old.text, claim):
                apart.append((likeness, old))
                continue
            said = self._verdict(self._claim_of(reader, old), claim)
            if said == "apart" and taken_up:
                said = "related"
            if said == "apart":
                apart.append((likeness, old))
            if old.wish and not new.wish:
                said = _of_a_wish(said, old.text, new.text, by_user=by_user)
            if said != "apart":
                found[old.id] = said
        related = self._answered(claim, [one for one in apart if by_user or new.wish or not one[1].wish])
        return found | dict.fromkeys(related, "related")

    def _answered(self, new: Claim, apart: Sequence[tuple[float, Candidate]]) -> list[str]:
        """Of older ones with their likeness those that the newer turn is an answer to."""
        model = self._ctx.reranker
        if model is None or new.text.rstrip().endswith("?"):
            return []
        nearest = sorted((one for one in apart if one[0] >= LEAST_NEAR), key=lambda one: -one[0])[:READ_TOGETHER]
        said = [_with_prompt(new)]
        try:
            return [old.id for _, old in nearest if model.scores(old.text, said)[0] > ANSWERS]
        except EmbedderUnavailable:  # words and vectors must do
            return []

    def _verdict(self, old: Claim, new: Claim) -> Verdict:
        if of_two_things(old, new):
            return "apart"
        near = self._nearness(old, new)
        found = signs(old, new, Similarity()) if near is None else {}
        if found and likelihood(found, meaning=False) < WORTH_A_LOOK and not is_stated(found):
            return "apart"
        return verdict(old, new, near)

    def _near(self, new: Claim, others: Sequence[str]) -> list[float]:
        """How near the others are in meaning to the newer one, or to it with its prompt; 0 if that is unknown."""
        vectors = self._vectors.of(self._embedder, [new.text, _with_prompt(new), *others]) if others else None
        if vectors is None or self._embedder is None:
            return [0.0] * len(others)
        said, asked = (self._embedder.likeness(one, np.stack(vectors[2:])) for one in vectors[:2])
        near: list[float] = np.maximum(said, asked).tolist()
        return near

    def _claim_of(self, reader: Reader, old: Candidate) -> Claim:
        """The older statement with the edits of its turn."""
        if old.source_id not in self._turns:
            row = reader.get(OBSERVATIONS, self._ctx.tenant, old.source_id)
            self._turns[old.source_id] = turn_around(self._ctx, reader, row) if row else Turn(None)
        return Claim(old.text, "", tuple(self._turns[old.source_id].edits))

    def _nearness(self, old: Claim, new: Claim) -> Similarity | None:
        texts = [old.text, new.text, _with_prompt(new)]
        texts += [without_values(old.text), without_values(new.text)]
        vectors = self._vectors.of(self._embedder, texts)
        if vectors is None or self._embedder is None:
            return None
        one, other, asked, bare, bare_other = vectors
        near, near_asked = self._embedder.likeness(one, np.stack([other, asked])).tolist()
        return Similarity(near, near_asked, *self._embedder.likeness(bare, bare_other[None]).tolist())


def _asks_after(prompt: str, old: Candidate) -> bool:
    """Whether a prompt asks after what was said, as all its words stand there: one of open work, else two."""
    asked = stems(prompt)
    return len(asked) >= (1 if old.left_open else 2) and asked <= stems(old.text)


def _of_a_wish(said: Verdict, old: str, new: str, *, by_user: bool) -> Verdict:
    """What something newer means for the user's wish. What the user says may put it behind; a report of work replaces
    none, but may give another day or number since."""
    if by_user:
        return "newer" if said == "replaced" else said
    return "related" if said != "apart" and gives_another_number(old, new) else "apart"


def _with_prompt(new: Claim) -> str:
    return f"{new.prompt} {new.text}".strip()


def _near_enough(old: str, new: str, likeness: float) -> bool:
    """Whether they are worth comparing whatever their words."""
    return likeness >= NEAR_ENOUGH or (likeness >= NEAR_WITH_VALUE and not _kinds(old).isdisjoint(_kinds(new)))


def _comparable(old: str, new: Claim) -> bool:
    """Whether the newer one or its prompt shares a word of the older one's subject or names a value of it, or its edit
    takes one away; all others are about other things."""
    if _subject(old) & (_subject(new.text) | _subject(new.prompt)):
        return True
    return not _cores(old).isdisjoint(_tokens(new.text) | _tokens(new.prompt)) or names_what_was_taken(old, new.edits)


@lru_cache(maxsize=KEPT_TEXTS)
def _subject(text: str) -> frozenset[str]:
    return subject_of(text)


@lru_cache(maxsize=KEPT_TEXTS)
def _tokens(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w./:-]*\w", text.lower()))


@lru_cache(maxsize=KEPT_TEXTS)
def _cores(text: str) -> frozenset[str]:
    return frozenset(value.core for value in values(text))


@lru_cache(maxsize=KEPT_TEXTS)
def _kinds(text: str) -> frozenset[str]:
    return frozenset(value.kind for value in values(text))


def in_force(ctx: CallContext, reader: Reader, project: str, agent: str | None) -> list[Candidate]:
    """The project's newest statements and memories that nothing replaces yet."""
    own: tuple[Condition, ...] = ()
    if ctx.settings.isolated:  # records without an agent are older than the isolation
        own = where(agent=agent) or (Condition("agent", "is null"),)
    of = (*where(project=project), *own)
    worthy = Condition("worth", ">=", WORTH_COMPARING)
    statements = reader.find(STATEMENTS, ctx.tenant, *of, worthy, order="-at", limit=COMPARED)
    kept = reader.find(MEMORIES, ctx.tenant, *of, *where(latest=True), limit=COMPARED_MEMORIES)
    found = [as_candidate(one) for one in statements] + [as_candidate(one) for one in kept if is_knowledge(one)]
    gone = replaced_ids(ctx, reader, [one.id for one in found])
    return [one for one in found if one.id not in gone]


def is_knowledge(memory: Memory) -> bool:
    """Whether a memory is a fact about a project, and no line of an imported conversation or of a chat."""
    return bool(memory.project) and not memory.dated and memory.umo is None


def as_candidate(record: Statement | Memory) -> Candidate:
    if isinstance(record, Memory):
        wish = record.type in RULE_TYPES
        return Candidate(record.id, record.content[:1_000], record.created_at, record.id, wish)
    kind = record.kind
    return Candidate(record.id, record.text, record.at, record.source_id, kind == "preference", kind == "open")


def replaced_ids(ctx: CallContext, reader: Reader, ids: Sequence[str]) -> dict[str, str]:
    """Of given statements and memories those that are replaced, each with what replaced it."""
    found: dict[str, str] = {}
    for start in range(0, len(ids), 500):
        of = (*where(type=SUPERSEDES), Condition("target_id", "in", list(ids[start : start + 500])))
        found |= {one.target_id: one.source_id for one in reader.find(RELATIONS, ctx.tenant, *of, order="seq")}
    return found


def supersede(ctx: CallContext, tx: Tx, new: str, old: str, said: Verdict, agent: str | None) -> bool:
    """Record that one replaces the other, or is a later one about the same; False if the user said that both hold."""
    both_hold = where(source_id=new, target_id=old, type=HOLDS)
    if tx.find(RELATIONS, ctx.tenant, *both_hold, limit=1):
        return False
    keep_relation(ctx, tx, new, old, RELATION[said], agent)
    if said == "replaced":
        mark_sessions_of(tx, ctx.tenant, ctx.clock.now_ms(), [old])
        statement = tx.get(STATEMENTS, ctx.tenant, old)
        if statement is not None:
            drop_reflected_line(ctx, tx, statement.session_id, statement.text)
    return said == "replaced"
