"""A turn is a prompt and what the agent said to it: the row of a message carries the prompt that it answers."""

from __future__ import annotations

import dataclasses

from holdfast.desk import Desk
from holdfast.intake.toolkinds import hook_name
from holdfast.model import Observation
from holdfast.store.port import Condition, Tx, where
from holdfast.store.tables import OBSERVATIONS

PROMPT_CHARS = 2_000
PROMPT_HOOKS = ("prompt_submit", "UserPromptSubmit", "user_prompt_submit")
MESSAGE_HOOK = "assistant_message"
_MOST_MESSAGES = 1_000


def with_prompt(desk: Desk, tx: Tx, seen: Observation) -> Observation:
    """The observation; if it is a message of the agent, with the prompt that it answers as its subtitle."""
    if hook_name(seen.hook) != MESSAGE_HOOK:
        return seen
    before = (*_prompts(seen), Condition("at", "<=", seen.at))
    asked = tx.find(OBSERVATIONS, desk.tenant, *before, order="-at", limit=1)
    return dataclasses.replace(seen, subtitle=_short(asked[0])) if asked else seen


def give_prompt(desk: Desk, tx: Tx, seen: Observation) -> None:
    """If it is a prompt that came late, put it on the messages that answer it and were stored before."""
    if hook_name(seen.hook) != "prompt_submit":
        return
    later = tx.find(OBSERVATIONS, desk.tenant, *_prompts(seen), Condition("at", ">", seen.at), order="at", limit=1)
    times = [Condition("at", ">=", seen.at)] + [Condition("at", "<", one.at) for one in later]
    answers = where(session_id=seen.session_id, hook=MESSAGE_HOOK)
    for one in tx.find(OBSERVATIONS, desk.tenant, *answers, *times, order="at", limit=_MOST_MESSAGES):
        tx.replace(OBSERVATIONS, dataclasses.replace(one, subtitle=_short(seen)))


def _prompts(seen: Observation) -> tuple[Condition, ...]:
    return (*where(session_id=seen.session_id), Condition("hook", "in", PROMPT_HOOKS))


def _short(prompt: Observation) -> str:
    text = prompt.narrative
    return text if len(text) <= PROMPT_CHARS else text[: PROMPT_CHARS - 1] + "…"
