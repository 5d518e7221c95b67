"""Which rows of a session are of one turn: a prompt, and all that came before the next one.

Time decides, and of the same millisecond the order of writes.
"""

from __future__ import annotations

from typing import NamedTuple

from holdfast.core.model import Observation
from holdfast.store.port import Condition, Reader, where
from holdfast.store.tables import OBSERVATIONS

PROMPT_HOOKS = ("prompt_submit", "UserPromptSubmit", "user_prompt_submit")
MESSAGE_HOOK = "assistant_message"
MOST_MESSAGES = 60  # of one turn that are read
_SAME_MOMENT = 20  # rows of one millisecond that are read


class TurnRows(NamedTuple):
    """The prompt of a turn, if there is one, and its rows in order, without the prompt."""

    prompt: Observation | None
    rows: list[Observation]


def turn_of(reader: Reader, tenant: str, row: Observation, most: int, *conditions: Condition) -> TurnRows:
    """The turn that a row is part of; of its other rows those that meet the conditions, `most` of them."""
    session = where(session_id=row.session_id)
    prompts = (*session, Condition("hook", "in", PROMPT_HOOKS))
    before = reader.find(OBSERVATIONS, tenant, *prompts, Condition("at", "<=", row.at), order="-at", limit=_SAME_MOMENT)
    after = reader.find(OBSERVATIONS, tenant, *prompts, Condition("at", ">=", row.at), order="at", limit=_SAME_MOMENT)
    first = max((one for one in before if _place(one) <= _place(row)), key=_place, default=None)
    last = min((one for one in after if _place(one) > _place(row)), key=_place, default=None)
    bounds = [Condition("at", ">=", first.at)] if first else []
    bounds += [Condition("at", "<=", last.at)] if last else []
    rows = reader.find(OBSERVATIONS, tenant, *session, *bounds, *conditions, order="at", limit=most)
    inside = [
        one
        for one in sorted(rows, key=_place)
        if (first is None or _place(one) > _place(first)) and (last is None or _place(one) < _place(last))
    ]
    return TurnRows(first, inside)


def _place(row: Observation) -> tuple[int, int]:
    return row.at, row.seq
