"""A turn is found as one: the prompt leads to what was said to it, and several messages of one turn are one hit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from holdfast.desk import Desk
from holdfast.model import Memory, Observation
from holdfast.recall.hits import Hit
from holdfast.store.port import Condition, Reader, where
from holdfast.store.tables import OBSERVATIONS

PROMPT_HOOKS = ("prompt_submit", "UserPromptSubmit", "user_prompt_submit")
MESSAGE_HOOK = "assistant_message"
SPOKEN = frozenset({*PROMPT_HOOKS, MESSAGE_HOOK})
MOST_MESSAGES = 60  # of one turn


@dataclass(frozen=True, slots=True)
class _Turn:
    prompt: Observation | None
    messages: tuple[Observation, ...]

    @property
    def answer(self) -> Observation | None:
        """What stands for the turn: its last message; an agent sums up at the end."""
        return self.messages[-1] if self.messages else self.prompt

    @property
    def rows(self) -> tuple[Observation, ...]:
        return (*((self.prompt,) if self.prompt else ()), *self.messages)


def as_turns(desk: Desk, reader: Reader, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with those of one turn in one place, the best of them; its record is the answer."""
    known: dict[str, _Turn] = {}
    seen: set[str] = set()
    found: list[Hit] = []
    for hit in hits:
        record = hit.record
        if isinstance(record, Memory) or record.hook not in SPOKEN:
            found.append(hit)
            continue
        if record.id not in known:
            turn = _turn(desk, reader, record)
            known |= {row.id: turn for row in turn.rows} | {record.id: turn}
        turn = known[record.id]
        answer = turn.answer or record
        if answer.id not in seen:
            seen.add(answer.id)
            found.append(replace(hit, record=answer, turn=turn.rows))
    return found


def _turn(desk: Desk, reader: Reader, row: Observation) -> _Turn:
    """The turn that a row is part of: from its prompt until the next one."""
    session = where(session_id=row.session_id)
    prompts = Condition("hook", "in", PROMPT_HOOKS)
    until = Condition("at", "<=", row.at)
    before = reader.find(OBSERVATIONS, desk.tenant, *session, prompts, until, order="-at", limit=1)
    later = Condition("at", ">", row.at)
    after = reader.find(OBSERVATIONS, desk.tenant, *session, prompts, later, order="at", limit=1)
    bounds = [Condition("at", ">=", one.at) for one in before] + [Condition("at", "<", one.at) for one in after]
    spoken = Condition("hook", "in", sorted(SPOKEN))
    rows = reader.find(OBSERVATIONS, desk.tenant, *session, spoken, *bounds, order="at", limit=MOST_MESSAGES)
    own = _around([one for one in rows if desk.may_see(one)], row)
    asked = own[0] if own and own[0].hook in PROMPT_HOOKS else None
    return _Turn(asked, tuple(one for one in own if one.hook == MESSAGE_HOOK))


def _around(rows: Sequence[Observation], row: Observation) -> list[Observation]:
    """Of rows in their order those of one turn: several prompts may have come in the same moment."""
    turns: list[list[Observation]] = [[]]
    for one in sorted(rows, key=lambda one: (one.at, one.seq)):
        if one.hook in PROMPT_HOOKS:
            turns.append([])
        turns[-1].append(one)
    return next((turn for turn in turns if any(one.id == row.id for one in turn)), [row])


def texts(records: Iterable[Observation]) -> list[str]:
    """What was said, whole."""
    return [one.narrative for one in records if one.narrative]
