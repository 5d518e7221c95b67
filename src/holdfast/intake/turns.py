"""A turn is a prompt and what the agent said to it: the row of a message carries the prompt that it answers."""

from __future__ import annotations

import dataclasses

from holdfast.desk import Desk
from holdfast.intake.toolkinds import hook_name
from holdfast.model import Observation
from holdfast.store.port import Condition, Tx, where
from holdfast.store.tables import OBSERVATIONS

PROMPT_CHARS = 2_000
FIRST_CHARS = 500  # of the prompt that a session is known by
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
    for one in _answers(desk, tx, seen):
        tx.replace(OBSERVATIONS, dataclasses.replace(one, subtitle=_short(seen)))


def take_prompt(desk: Desk, tx: Tx, seen: Observation) -> None:
    """If it is a prompt that is forgotten, take it off the messages that answer it."""
    if hook_name(seen.hook) != "prompt_submit":
        return
    for one in _answers(desk, tx, seen):
        if one.subtitle == _short(seen):
            tx.replace(OBSERVATIONS, dataclasses.replace(one, subtitle=""))


def first_prompt(desk: Desk, tx: Tx, session_id: str) -> str:
    """The text of the first prompt of a session that is left."""
    prompts = (*where(session_id=session_id), Condition("hook", "in", PROMPT_HOOKS))
    found = tx.find(OBSERVATIONS, desk.tenant, *prompts, order="at", limit=1)
    return found[0].narrative[:FIRST_CHARS] if found else ""


def _answers(desk: Desk, tx: Tx, prompt: Observation) -> list[Observation]:
    """The messages between a prompt and the next one."""
    later = tx.find(OBSERVATIONS, desk.tenant, *_prompts(prompt), Condition("at", ">", prompt.at), order="at", limit=1)
    times = [Condition("at", ">=", prompt.at)] + [Condition("at", "<", one.at) for one in later]
    messages = where(session_id=prompt.session_id, hook=MESSAGE_HOOK)
    return tx.find(OBSERVATIONS, desk.tenant, *messages, *times, order="at", limit=_MOST_MESSAGES)


def _prompts(seen: Observation) -> tuple[Condition, ...]:
    return (*where(session_id=seen.session_id), Condition("hook", "in", PROMPT_HOOKS))


def _short(prompt: Observation) -> str:
    text = prompt.narrative
    return text if len(text) <= PROMPT_CHARS else text[: PROMPT_CHARS - 1] + "…"
