"""Operations that show events in order of time: around a moment, or of one session."""

from __future__ import annotations

from typing import NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.core.model import Json
from holdfast.core.times import iso
from holdfast.core.wire import shape
from holdfast.intake.addresses import is_address, memory_named
from holdfast.ops.framework.answers import MemoryShape, ObservationShape, SessionShape
from holdfast.ops.framework.fields import Name, Offset, limit
from holdfast.ops.framework.operation import ChatRequest, Operation, Request
from holdfast.recall.views.timeline import frames, remembered, replay, timeline as around
from holdfast.store.port import Condition
from holdfast.store.tables import SESSIONS


class Timeline(ChatRequest):
    anchor: Name | None = None
    project: Name | None = None
    session_id: Name | None = None
    before: int = Field(default=10, ge=0, le=200, description="Number of records before the moment.")
    after: int = Field(default=10, ge=0, le=200, description="Number of records after the moment.")


class TimelineAnswer(TypedDict):
    success: bool
    observations: list[ObservationShape]
    anchorIndex: int
    memories: NotRequired[list[MemoryShape]]


def timeline(ctx: CallContext, ask: Timeline) -> TimelineAnswer:
    """Show what happened before and after a moment.

    The anchor is the id of an observation or memory, the address of a memory, a time such as 2026-11-15T20:41:34Z, or
    words such as "3 days ago". Use it after a search, to see what led to a hit and what followed. In a chat it shows
    memories only.
    """
    anchor = ask.anchor or iso(ctx.clock.now_ms())
    if is_address(anchor):
        anchor = memory_named(ctx, ctx.store.read(), anchor, ask.agent_id).id
    if ctx.in_chat:
        told = remembered(ctx, anchor, ask.project, ask.before, ask.after, ask.agent_id)
        return {"success": True, "observations": [], "anchorIndex": 0, "memories": [shape(one) for one in told]}
    window = around(ctx, anchor, ask.project, ask.session_id, ask.before, ask.after, ask.agent_id)
    return {
        "success": True,
        "observations": [shape(one) for one in window.observations],
        "anchorIndex": window.anchor_index,
    }


class ReplaySessions(Request):
    limit: int = limit(100, 500)
    offset: Offset = 0


class ReplaySessionsAnswer(TypedDict):
    success: bool
    sessions: list[SessionShape]


def replay_sessions(ctx: CallContext, ask: ReplaySessions) -> ReplaySessionsAnswer:
    """List sessions that can be replayed: those with observations, newest first."""
    some = Condition("observation_count", ">", 0)
    found = ctx.store.read().find(
        SESSIONS, ctx.tenant, *ctx.sees(), some, order="-started_at", limit=ask.limit, offset=ask.offset
    )
    return {"success": True, "sessions": [shape(one) for one in found]}


class ReplayLoad(Request):
    session_id: Name


class ReplayTimeline(TypedDict):
    events: list[Json]
    eventCount: int
    totalDurationMs: int


class ReplayLoadAnswer(TypedDict):
    success: bool
    session: SessionShape
    timeline: ReplayTimeline


def replay_load(ctx: CallContext, ask: ReplayLoad) -> ReplayLoadAnswer:
    """Load a session's events in order, each with its time since the start, for replay."""
    session, events, duration = replay(ctx, ask.session_id)
    played: ReplayTimeline = {"events": events, "eventCount": len(events), "totalDurationMs": duration}
    return {"success": True, "session": shape(session), "timeline": played}


class ReplayFrames(ReplayLoad):
    limit: int = limit(50, 200)
    offset: Offset = 0


class ReplayFramesAnswer(TypedDict):
    success: bool
    session: SessionShape
    frames: list[Json]
    total: int
    offset: int
    totalDurationMs: int


def replay_frames(ctx: CallContext, ask: ReplayFrames) -> ReplayFramesAnswer:
    """Load a range of a session's frames in order, with the input and output of each tool.

    Long texts are truncated; `cut` is their original length.
    """
    found = frames(ctx, ask.session_id, ask.limit, ask.offset)
    return {
        "success": True,
        "session": shape(found.session),
        "frames": list(found.frames),
        "total": found.total,
        "offset": ask.offset,
        "totalDurationMs": found.duration_ms,
    }


TIMELINE = (
    Operation(
        timeline,
        "POST",
        "/timeline",
        tool="memory_timeline",
        tool_required=("anchor",),
        cli="timeline",
        positional=("anchor",),
    ),
    Operation(replay_sessions, "GET", "/replay/sessions", cli="replay sessions"),
    Operation(replay_load, "GET", "/replay/load", cli="replay load", positional=("sessionId",)),
    Operation(replay_frames, "GET", "/replay/frames", cli="replay frames", positional=("sessionId",)),
)
