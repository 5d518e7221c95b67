"""A turn is found as one: the prompt leads to its answer, and several messages of one turn are one hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.context import CallContext
from holdfast.core.model import Memory, Observation
from holdfast.recall.hits import Hit
from holdfast.store.port import Condition, Reader, where
from holdfast.store.queries.turns import MESSAGE_HOOK, MOST_MESSAGES, PROMPT_HOOKS, turn_of
from holdfast.store.tables import STATEMENTS

SPOKEN = frozenset({*PROMPT_HOOKS, MESSAGE_HOOK})
WORTH = 0.1  # what a turn gets for the best that was stated in it
SAYS_SOMETHING = 0.5
UNANSWERED = 0.4  # share of its score that a prompt keeps that states nothing and was not answered


@dataclass(frozen=True, slots=True)
class _TurnHits:
    prompt: Observation | None
    messages: tuple[Observation, ...]

    @property
    def answer(self) -> Observation | None:
        """What stands for the turn: its last message; an agent sums up at the end."""
        return self.messages[-1] if self.messages else self.prompt

    @property
    def rows(self) -> tuple[Observation, ...]:
        return (*((self.prompt,) if self.prompt else ()), *self.messages)


def as_turns(ctx: CallContext, reader: Reader, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with those of one turn in one place, the best of them; its record is the answer."""
    known: dict[str, _TurnHits] = {}
    seen: set[str] = set()
    found: list[Hit] = []
    for hit in hits:
        record = hit.record
        if isinstance(record, Memory) or record.hook not in SPOKEN:
            found.append(hit)
            continue
        if record.id not in known:
            turn = _turn(ctx, reader, record)
            known |= {row.id: turn for row in turn.rows} | {record.id: turn}
        turn = known[record.id]
        answer = turn.answer or record
        if answer.id not in seen:
            seen.add(answer.id)
            found.append(replace(hit, record=answer, turn=turn.rows))
    return found


def by_worth(ctx: CallContext, reader: Reader, hits: Sequence[Hit]) -> list[Hit]:
    """The hits in their order, turns that left something worth knowing a little before those that did not."""
    ids = [row.id for hit in hits for row in hit.turn]
    if not ids:
        return list(hits)
    best: dict[str, float] = {}
    for one in reader.find(STATEMENTS, ctx.tenant, Condition("source_id", "in", ids)):
        best[one.source_id] = max(one.worth, best.get(one.source_id, 0.0))
    worth = {id(hit): max((best.get(row.id, 0.0) for row in hit.turn), default=0.0) for hit in hits}
    return sorted(hits, key=lambda hit: -_weight(hit, worth[id(hit)]))


def _weight(hit: Hit, worth: float) -> float:
    """Its score and worth. The best match of a question is the question itself: one without an answer comes later."""
    if len(hit.turn) == 1 and hit.turn[0].hook in PROMPT_HOOKS and worth < SAYS_SOMETHING:
        return UNANSWERED * hit.score
    return hit.score + WORTH * worth


def _turn(ctx: CallContext, reader: Reader, row: Observation) -> _TurnHits:
    found = turn_of(reader, ctx.tenant, row, MOST_MESSAGES, *where(hook=MESSAGE_HOOK))
    prompt = found.prompt if found.prompt is not None and ctx.may_see(found.prompt) else None
    return _TurnHits(prompt, tuple(one for one in found.rows if ctx.may_see(one)))
