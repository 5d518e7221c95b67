"""A turn is a prompt and what the agent said to it: the row of a message carries the prompt that it answers."""

from __future__ import annotations

import dataclasses

from holdfast.context import CallContext
from holdfast.core.model import Observation
from holdfast.intake.event.tool_kinds import hook_name
from holdfast.store.port import Condition, Tx, where
from holdfast.store.queries.turns import MESSAGE_HOOK, PROMPT_HOOKS, turn_of
from holdfast.store.tables import OBSERVATIONS

PROMPT_CHARS = 2_000
FIRST_CHARS = 500  # of the prompt that a session is known by
_MOST_MESSAGES = 1_000


def with_prompt(ctx: CallContext, tx: Tx, seen: Observation) -> Observation:
    """The observation; if it is a message of the agent, with the prompt that it answers as its subtitle."""
    if hook_name(seen.hook) != MESSAGE_HOOK:
        return seen
    asked = turn_of(tx, ctx.tenant, seen, 1).prompt
    return dataclasses.replace(seen, subtitle=_short(asked)) if asked else seen


def give_prompt(ctx: CallContext, tx: Tx, seen: Observation) -> None:
    """If it is a prompt that came late, put it on the messages that answer it and were stored before."""
    if hook_name(seen.hook) != "prompt_submit":
        return
    for one in _answers(ctx, tx, seen):
        tx.replace(OBSERVATIONS, dataclasses.replace(one, subtitle=_short(seen)))


def take_prompt(ctx: CallContext, tx: Tx, seen: Observation) -> None:
    """If it is a prompt that is about to be forgotten, take it off the messages that answer it."""
    if hook_name(seen.hook) != "prompt_submit":
        return
    for one in _answers(ctx, tx, seen):
        if one.subtitle == _short(seen):
            tx.replace(OBSERVATIONS, dataclasses.replace(one, subtitle=""))


def first_prompt(ctx: CallContext, tx: Tx, session_id: str) -> str:
    """The text of the first prompt of a session that is left."""
    prompts = (*where(session_id=session_id), Condition("hook", "in", PROMPT_HOOKS))
    found = tx.find(OBSERVATIONS, ctx.tenant, *prompts, order="at", limit=1)
    return found[0].narrative[:FIRST_CHARS] if found else ""


def _answers(ctx: CallContext, tx: Tx, prompt: Observation) -> list[Observation]:
    return turn_of(tx, ctx.tenant, prompt, _MOST_MESSAGES, *where(hook=MESSAGE_HOOK)).rows


def _short(prompt: Observation) -> str:
    text = prompt.narrative
    return text if len(text) <= PROMPT_CHARS else text[: PROMPT_CHARS - 1] + "…"
