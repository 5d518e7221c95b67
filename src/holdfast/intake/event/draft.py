"""Turns what a hook sent into the fields that are searched, ranked and read; no model, no randomness.

Takes redacted data; does not store, does not know sessions. Every text is cut before it is read, so ten
megabytes of tool output cost no more than their copying.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.core.model import Json
from holdfast.intake.event.concepts import concepts_of
from holdfast.intake.event.details import details_of
from holdfast.intake.event.facts import facts_of
from holdfast.intake.event.hook_event import read_as_found, read_happening
from holdfast.intake.event.importance import confidence_of, importance_of
from holdfast.intake.event.text_cleanup import parsed
from holdfast.intake.event.titles import narrative_of, subtitle_of, title_of


@dataclass(frozen=True, slots=True)
class EventDraft:
    """One event in brief. The last four fields are the client's own values, untouched."""

    type: str
    title: str
    subtitle: str
    narrative: str
    facts: tuple[str, ...]
    concepts: tuple[str, ...]
    files: tuple[str, ...]
    importance: int
    confidence: float
    prompt: str | None
    tool_name: str | None
    tool_input: Any
    tool_output: Any


def compress(hook: str, data: Json | str | None, cwd: str = "") -> EventDraft:
    """The observation that an event amounts to; never raises, whatever the data looks like.

    Paths below `cwd` are shown as they are seen from there.
    """
    content = parsed(data)
    found = read_as_found(content)
    happening = read_happening(hook, content, found)
    details = details_of(happening, cwd)
    return EventDraft(
        type=happening.kind,
        title=title_of(happening, details),
        subtitle=subtitle_of(happening, details),
        narrative=narrative_of(happening, details),
        facts=facts_of(happening, details),
        concepts=concepts_of(happening, details),
        files=details.files,
        importance=importance_of(happening, details),
        confidence=confidence_of(happening),
        prompt=found.prompt,
        tool_name=found.tool_name,
        tool_input=found.tool_input,
        tool_output=found.tool_output,
    )
