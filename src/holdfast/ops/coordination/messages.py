"""Operations by which agents write to each other and show each other records."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from holdfast.context import CallContext
from holdfast.coordination.agent_signals import READ, SignalDraft, receive, send
from holdfast.coordination.coordination_records import view
from holdfast.coordination.facets import feed, share
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import CoordinationRecord, Json
from holdfast.core.times import iso
from holdfast.core.wire import shape
from holdfast.ops.coordination.gates import LastsMs
from holdfast.ops.framework.fields import CleanBody, CleanName, Name, limit
from holdfast.ops.framework.operation import Operation, Request


class SignalSend(Request):
    sender: CleanName = Field(alias="from", description="Name of the sending agent.")
    to: CleanName | None = Field(default=None, description="Name of the receiving agent. Default: all agents.")
    content: CleanBody
    type: Literal["info", "request", "response", "alert", "handoff"] = "info"
    reply_to: Name | None = Field(default=None, description="Id of the signal that this one answers.")
    thread_id: CleanName | None = None
    expires_in_ms: LastsMs | None = None


class SignalAnswer(TypedDict):
    success: bool
    signal: Json


def signal_send(ctx: CallContext, ask: SignalSend) -> SignalAnswer:
    """Send a message to another agent, or to all of them. A reply stays in the thread of what it answers.

    A credential that is bound to an agent sends in its name only.
    """
    if ctx.agent(ask.sender) != ask.sender or (ask.agent_id and ask.agent_id != ask.sender):
        raise InvalidRequest("from: must be the agent that calls")
    draft = SignalDraft(ask.to, ask.content, ask.type, ask.reply_to, ask.thread_id, ask.expires_in_ms)
    return {"success": True, "signal": view(send(ctx, draft, ask.sender))}


class SignalRead(Request):
    unread_only: bool = False
    thread_id: Name | None = None
    limit: int = limit(50, 500)


class SignalsAnswer(TypedDict):
    success: bool
    signals: list[Json]


def signal_read(ctx: CallContext, ask: SignalRead) -> SignalsAnswer:
    """Read the messages to an agent and its own, newest first. Those to it are marked as read."""
    listed = receive(ctx, unread=ask.unread_only, thread=ask.thread_id, limit=ask.limit)
    return {
        "success": True,
        "signals": [_signal(one) for one in listed],
    }


def _signal(record: CoordinationRecord) -> Json:
    shown = view(record)
    return {**shown, "readAt": shown["updatedAt"]} if record.status == READ else shown


class TeamShare(Request):
    item_id: Name
    item_type: Literal["memory", "pattern", "observation"]


class TeamShareAnswer(TypedDict):
    success: bool
    sharedItem: Json


def team_share(ctx: CallContext, ask: TeamShare) -> TeamShareAnswer:
    """Show a memory or an observation to the other agents of the tenant. Sharing it again changes nothing."""
    note, record = share(ctx, ask.item_type, ask.item_id)
    return {"success": True, "sharedItem": _shared(note, record)}


class TeamFeed(Request):
    limit: int = limit(20, 200)


class TeamFeedAnswer(TypedDict):
    items: list[Json]
    total: int


def team_feed(ctx: CallContext, ask: TeamFeed) -> TeamFeedAnswer:
    """List what agents of the tenant have shared, newest first."""
    shown, total = feed(ctx, ask.limit)
    return {"items": [_shared(note, record) for note, record in shown], "total": total}


def _shared(note: CoordinationRecord, record: Any) -> Json:
    return {
        "id": note.id,
        "sharedBy": note.agent,
        "sharedAt": iso(note.created_at),
        "type": note.body["type"],
        "visibility": note.body["visibility"],
        "project": record.project or "",
        "content": shape(record),
    }


MESSAGES = (
    Operation(
        signal_send,
        "POST",
        "/signals/send",
        effect="write",
        status=201,
        tool="memory_signal_send",
        cli="signal send",
        positional=("content",),
    ),
    Operation(
        signal_read,
        "GET",
        "/signals",
        effect="write",  # it marks what was read
        tool="memory_signal_read",
        tool_required=("agentId",),
        cli="signal read",
    ),
    Operation(
        team_share,
        "POST",
        "/team/share",
        effect="write",
        status=201,
        tool="memory_team_share",
        cli="team share",
        positional=("itemType", "itemId"),
    ),
    Operation(team_feed, "GET", "/team/feed", tool="memory_team_feed", cli="team feed"),
)
