"""Which stored observation an event is: the same event comes by hooks, by transcripts and by repeats of both.

A tool call is known by its session and the client's id of the call; what was said, by its session, role and words.
Both count only near in time. Everything else is the same if the whole report is.
"""

from __future__ import annotations

import dataclasses
import re
from hashlib import sha256

import orjson

from holdfast.context import CallContext
from holdfast.core.model import Json, Observation
from holdfast.intake.event.event import CleanEvent
from holdfast.intake.event.hook_event import read_as_found
from holdfast.intake.event.text_cleanup import SAID_CHARS, cut
from holdfast.intake.event.tool_kinds import hook_name
from holdfast.intake.turn_rows import give_prompt
from holdfast.store.port import Condition, Tx, where
from holdfast.store.tables import OBSERVATIONS

CALL_KEYS = ("tool_use_id", "toolUseId", "tool_call_id", "toolCallId", "call_id")
TRANSCRIPT = "transcript_id"  # the field of a hook's report that names the transcript's line of the same event

# Codex writes what was said twice, within milliseconds. No person says the same thing twice in two seconds.
ECHO_MS = 2_000

_SAID = {"prompt_submit": "user", "assistant_message": "assistant"}
_TOOL_HOOKS = frozenset({"post_tool_use", "post_tool_failure"})
_OF_TRANSCRIPT = re.compile(r"obs_[0-9a-f]{32}")
_IMAGE_MARKS = re.compile(r"\[image\]", re.IGNORECASE)
_CANDIDATES = 100


def content_hash(event: CleanEvent) -> str:
    """A hash that is the same for all reports of one event, whatever their source."""
    hook = hook_name(event.hook)
    call = call_of(event.data) if hook in _TOOL_HOOKS else None
    said = said_of(hook, event.data)
    if call is not None:
        parts: list[object] = ["call", event.session_id, call]
    elif said is not None:
        parts = ["said", event.session_id, _SAID[hook], " ".join(_IMAGE_MARKS.sub(" ", said).split())]
    else:
        parts = [event.session_id, event.hook, event.agent, event.type, event.title, event.data]
    return sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def call_of(data: Json) -> str | None:
    """The client's id of a tool call."""
    return next((value for key in CALL_KEYS if isinstance(value := data.get(key), str) and value), None)


def said_of(hook: str, data: Json) -> str | None:
    """What a person or the agent said, whole up to its limit; None if the event is no message."""
    if hook not in _SAID:
        return None
    text = read_as_found(data).prompt if hook == "prompt_submit" else data.get("message")
    said = cut(text, SAID_CHARS).strip() if isinstance(text, str) else ""
    return said or None


def same_event(ctx: CallContext, tx: Tx, event: CleanEvent, digest: str) -> Observation | None:
    """The stored observation that the event reports once more, or None.

    A transcript has a line for each event, so two lines are two events; each takes one report of a hook for its own.
    """
    if event.key is not None:
        known = tx.get(OBSERVATIONS, ctx.tenant, event.key)
        if known is not None:
            return known
    found = _near(ctx, tx, event, digest)
    if event.key is None:
        return found[0] if found else None
    own = next((one for one in found if one.raw.get(TRANSCRIPT) == event.key or _is_echo(one, event)), None)
    if own is not None:
        return own
    free = next((one for one in found if TRANSCRIPT not in one.raw and not _OF_TRANSCRIPT.fullmatch(one.id)), None)
    if free is not None:
        # The line's own time counts from now on: the row is that line, and no other one of the same words.
        at = event.at if event.dated else free.at
        free = dataclasses.replace(free, at=at, raw={**free.raw, TRANSCRIPT: event.key})
        tx.replace(OBSERVATIONS, free)
        give_prompt(ctx, tx, free)
    return free


def _near(ctx: CallContext, tx: Tx, event: CleanEvent, digest: str) -> list[Observation]:
    """Reports of the same within the time that counts as one, the nearest first."""
    window = ctx.settings.dedup_seconds * 1000
    near = (Condition("at", ">", event.at - window), Condition("at", "<", event.at + window))
    times = near if event.dated else ()
    bounds = (*ctx.sees_shared(event.agent), *where(content_hash=digest), *times)
    found = tx.find(OBSERVATIONS, ctx.tenant, *bounds, order="seq", limit=_CANDIDATES)
    return sorted(found, key=lambda one: abs(one.at - event.at))


def _is_echo(one: Observation, event: CleanEvent) -> bool:
    """Whether another line of the transcript has the same words at the same time."""
    from_transcript = TRANSCRIPT in one.raw or bool(_OF_TRANSCRIPT.fullmatch(one.id))
    same_moment = event.dated and abs(one.at - event.at) <= ECHO_MS
    return from_transcript and same_moment and hook_name(event.hook) in _SAID
