"""Stores the events of a transcript: each once, whatever hooks and earlier readings reported before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from holdfast.context import CallContext
from holdfast.core.model import CleanText
from holdfast.intake.event.event import CleanEvent
from holdfast.intake.event.tool_kinds import is_own_tool
from holdfast.intake.observe import Stored, observe
from holdfast.intake.transcripts.lines import SessionPosition, TranscriptEvent
from holdfast.intake.transcripts.slice import TranscriptSlice
from holdfast.projects import project_of_event
from holdfast.redact import redact_text, redact_value


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """Where a session works, as its hooks report."""

    session_id: CleanText
    project: CleanText
    cwd: CleanText


@dataclass(frozen=True, slots=True)
class SliceReport:
    """The result for a piece of a transcript. `consumed` bytes of it, or so many lines, need not be sent again."""

    stored: int = 0
    duplicates: int = 0
    skipped: int = 0
    consumed: int = 0
    consumed_lines: int = 0


def take_slice(ctx: CallContext, place: SessionFolder, text: str, first_line: int, now: int) -> SliceReport:
    """Store the events of a piece of a transcript that still grows."""
    named = first_line > 1
    thread = SessionPosition(place.session_id, now, cwd=place.cwd, named=named)
    piece = TranscriptSlice(text.encode("utf-8", "surrogatepass"), thread, first_line)
    stored = duplicates = 0
    for event in piece:
        if take_event(ctx, replace(event, project=place.project or event.project)):
            stored += 1
        else:
            duplicates += 1
    return SliceReport(stored, duplicates, piece.tally.skipped, piece.consumed, piece.consumed_lines)


def take_event(ctx: CallContext, event: TranscriptEvent) -> bool:
    """Store one event of a transcript; False if it was there already, or only repeats the memory's own output."""
    name = event.data.get("tool_name")
    if isinstance(name, str) and is_own_tool(name):
        return False
    clean: Any = redact_value(event.data).value
    cwd = redact_text(event.cwd).value
    outcome = observe(
        ctx,
        CleanEvent(
            session_id=redact_text(event.session_id).value,
            hook=CleanText(event.hook),
            data=clean,
            at=event.at_ms,
            project=CleanText(project_of_event(ctx, redact_text(event.project).value, cwd)),
            cwd=cwd,
            key=event.key,
            dated=event.dated,
        ),
        capped=False,
    )
    return isinstance(outcome, Stored)
