"""Signals: short messages between agents, in threads, each marked once it was read."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from holdfast.context import CallContext
from holdfast.coordination.coordination_records import SIGNAL, changed, found, is_over, keep, made, named
from holdfast.core.errors import Forbidden, InvalidRequest, NotFound
from holdfast.core.model import CleanText, CoordinationRecord
from holdfast.store.port import Condition, Reader, Tx, where

TO_ALL = ""
UNREAD, READ = "unread", "read"
LOOKED_AT = 1_000  # the newest signals to, and of, an agent
READERS_KEPT = 200  # of a signal to all


@dataclass(frozen=True, slots=True)
class SignalDraft:
    to: CleanText | None
    content: CleanText
    type: str
    reply_to: str | None
    thread: CleanText | None
    lasts_ms: int | None


def send(ctx: CallContext, draft: SignalDraft, sender: str) -> CoordinationRecord:
    """Store a signal for an agent, or for all.

    Raises:
        Forbidden: agents are isolated, and it is for another one.
        NotFound: the signal that it answers does not exist.
    """
    to = draft.to or TO_ALL
    if ctx.settings.isolated and to != sender:
        raise Forbidden(
            "signal: agents are isolated, and none can write to another",
            hint="Set AGENTMEMORY_AGENT_SCOPE=shared to let agents exchange signals.",
        )

    def store(tx: Tx) -> CoordinationRecord:
        thread: str | None = draft.thread
        if draft.reply_to:
            parent = named(ctx, tx, SIGNAL, draft.reply_to)
            if not _concerns(parent, sender):
                raise NotFound("signal: no signal has that id")
            thread = thread or str(parent.body["threadId"])
        body = {
            "content": draft.content,
            "type": draft.type,
            "threadId": thread or ctx.new_id("thr"),
            "replyTo": draft.reply_to,
        }
        return keep(
            ctx,
            tx,
            made(ctx, SIGNAL, body, subject=to, status=UNREAD, lasts_ms=draft.lasts_ms, agent=sender),
            "signal_send",
        )

    return ctx.store.write(store)


def receive(ctx: CallContext, *, unread: bool, thread: str | None, limit: int) -> list[CoordinationRecord]:
    """The signals to the calling agent, to all and of its own, newest first. Those to it are marked as read."""
    agent = ctx.writes_as(None)
    if agent is None:
        raise InvalidRequest("agentId: name the agent that reads its signals")

    def store(tx: Tx) -> list[CoordinationRecord]:
        listed = [
            one
            for one in _of(ctx, tx, agent)
            if (not unread or _is_unread(one, agent)) and thread in (None, one.body.get("threadId"))
        ][:limit]
        return [
            keep(ctx, tx, _marked(ctx, one, agent), "signal_read") if _is_unread(one, agent) else one for one in listed
        ]

    listed = _of(ctx, ctx.store.read(), agent)
    return ctx.store.write(store) if listed else []  # no writer waits for an empty answer


def _of(ctx: CallContext, reader: Reader, agent: str) -> list[CoordinationRecord]:
    now = ctx.clock.now_ms()
    to_it = found(ctx, reader, SIGNAL, Condition("subject", "in", (agent, TO_ALL)), limit=LOOKED_AT)
    of_it = found(ctx, reader, SIGNAL, *where(agent=agent), limit=LOOKED_AT)
    both = {one.id: one for one in (*to_it, *of_it) if not is_over(one, now)}
    return sorted(both.values(), key=lambda one: -one.seq)


def _concerns(signal: CoordinationRecord, agent: str | None) -> bool:
    return agent is None or signal.subject in (TO_ALL, agent) or signal.agent == agent


def _is_unread(signal: CoordinationRecord, agent: str) -> bool:
    if signal.subject == TO_ALL:
        return signal.agent != agent and agent not in signal.body.get("readBy", ())
    return signal.subject == agent and signal.status == UNREAD


def _marked(ctx: CallContext, signal: CoordinationRecord, agent: str) -> CoordinationRecord:
    if signal.subject == TO_ALL:
        readers = [*signal.body.get("readBy", ()), agent][-READERS_KEPT:]
        return dataclasses.replace(changed(ctx, signal, signal.status), body={**signal.body, "readBy": readers})
    return changed(ctx, signal, READ)
