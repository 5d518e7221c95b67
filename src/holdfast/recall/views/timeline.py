"""Around a moment: the observations before and after an anchor, and a session replayed in order."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from holdfast.context import CallContext
from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.core.model import Json, Memory, Observation, Session
from holdfast.core.times import iso
from holdfast.core.wire import shape
from holdfast.recall.time.moments import parse_moment
from holdfast.store.port import Condition, Reader, where
from holdfast.store.tables import MEMORIES, OBSERVATIONS, SESSIONS

REPLAY_EVENTS = 10_000
FRAME_CHARS = 20_000
_PRETTY = orjson.OPT_INDENT_2


@dataclass(frozen=True, slots=True)
class Window:
    observations: tuple[Observation, ...]
    anchor_index: int


def timeline(
    ctx: CallContext,
    anchor: str,
    project: str | None,
    session_id: str | None,
    before: int,
    after: int,
    agent: str | None,
) -> Window:
    """The observations around the anchor, oldest first; `anchor_index` is the anchor's place among them.

    Raises:
        NotFound: the anchor is an id, but of nothing the caller may see.
        InvalidRequest: the anchor is neither an id nor a time.
    """
    reader = ctx.store.read()
    at, anchored = _anchor(ctx, anchor, agent)
    session = ctx.session_key(reader, session_id) if session_id else None
    bounds = (*ctx.sees(agent), *where(project=project, session_id=session))
    earlier = reader.find(OBSERVATIONS, ctx.tenant, *bounds, Condition("at", "<=", at), order="-at", limit=before + 1)
    later = reader.find(OBSERVATIONS, ctx.tenant, *bounds, Condition("at", ">", at), order="at", limit=after)
    # The anchor may share its millisecond with others: it stands last of those before.
    head = [one for one in earlier if anchored is None or one.id != anchored.id][: before if anchored else before + 1]
    head.reverse()
    shown = [*head, *([anchored] if anchored else []), *later]
    return Window(tuple(shown), len(head) if anchored else max(0, len(head) - 1))


def remembered(
    ctx: CallContext, anchor: str, project: str | None, before: int, after: int, agent: str | None
) -> list[Memory]:
    """The memories around the anchor, oldest first: what a chat is shown instead of observations.

    Raises:
        NotFound, InvalidRequest: as above.
    """
    reader = ctx.store.read()
    at, _ = _anchor(ctx, anchor, agent)
    bounds = (*ctx.sees_memories(agent), *where(project=project, latest=True))
    until, since = Condition("created_at", "<=", at), Condition("created_at", ">", at)
    earlier = reader.find(MEMORIES, ctx.tenant, *bounds, until, order="-created_at", limit=before + 1)
    later = reader.find(MEMORIES, ctx.tenant, *bounds, since, order="created_at", limit=after)
    return [one for one in (*reversed(earlier), *later) if ctx.may_see(one, agent)]


def _anchor(ctx: CallContext, anchor: str, agent: str | None) -> tuple[int, Observation | None]:
    reader = ctx.store.read()
    seen = reader.get(OBSERVATIONS, ctx.tenant, anchor)
    if seen is not None and ctx.may_see(seen, agent):
        return seen.at, seen
    memory = reader.get(MEMORIES, ctx.tenant, anchor)
    if memory is not None and ctx.may_see(memory, agent):
        return memory.created_at, None
    if anchor.startswith(("obs_", "mem_")):
        raise NotFound("timeline: no record has that id")
    at = parse_moment(anchor, ctx.clock.now_ms())
    if at is None:
        raise InvalidRequest("anchor must be an id, or a time such as 2026-11-15T20:41:34Z or 'yesterday'")
    return at, None


def replay(ctx: CallContext, session_id: str) -> tuple[Session, list[Json], int]:
    """A session's events in order with their distance from its start, and how long it lasted.

    Raises:
        NotFound: no such session, or not the caller's to see.
    """
    reader = ctx.store.read()
    session = _session(ctx, reader, session_id)
    seen = reader.find(OBSERVATIONS, ctx.tenant, *where(session_id=session.id), order="at", limit=REPLAY_EVENTS)
    start = seen[0].at if seen else session.started_at
    events = [_event(one, start) for one in seen]
    return session, events, (seen[-1].at - start) if seen else 0


def _session(ctx: CallContext, reader: Reader, name: str) -> Session:
    session = reader.get(SESSIONS, ctx.tenant, ctx.session_key(reader, name))
    if session is None or not ctx.may_see(session):
        raise NotFound("replay: no session has that id")
    return session


@dataclass(frozen=True, slots=True)
class Frames:
    """Some of a session's frames, in order, and how many there are in all."""

    session: Session
    frames: tuple[Json, ...]
    total: int
    duration_ms: int


def frames(ctx: CallContext, session_id: str, limit: int, offset: int) -> Frames:
    """A page of what happened in a session, each frame with its place and its distance from the start.

    Raises:
        NotFound: no such session, or not the caller's to see.
    """
    reader = ctx.store.read()
    session = _session(ctx, reader, session_id)
    of = where(session_id=session.id)
    first = reader.find(OBSERVATIONS, ctx.tenant, *of, order="at", limit=1)
    last = reader.find(OBSERVATIONS, ctx.tenant, *of, order="-at", limit=1)
    start = first[0].at if first else session.started_at
    seen = reader.find(OBSERVATIONS, ctx.tenant, *of, order="at", limit=limit, offset=offset)
    shown = tuple(
        {"index": place, **_cut(_event(one, start)), "type": one.type, "files": list(one.files)}
        for place, one in enumerate(seen, offset)
    )
    return Frames(session, shown, reader.count(OBSERVATIONS, ctx.tenant, *of), last[0].at - start if last else 0)


def _cut(event: Json) -> Json:
    """The event with its long texts cut, and how long each was: a page of frames must stay small."""
    long: dict[str, int] = {}
    for name in ("body", "toolInput", "toolOutput"):
        value = event[name]
        text = value if isinstance(value, str) or value is None else orjson.dumps(value, option=_PRETTY).decode()
        if text is not None and len(text) > FRAME_CHARS:
            long[name] = len(text)
            event = {**event, name: text[:FRAME_CHARS]}
    return {**event, "cut": long}


def _event(seen: Observation, start: int) -> Json:
    full = shape(seen)
    return {
        "id": seen.id,
        "kind": _KINDS.get(seen.hook, "tool" if full.get("toolName") else "event"),
        "label": seen.title[:120],
        "offsetMs": seen.at - start,
        "ts": iso(seen.at),
        "body": full.get("userPrompt") or seen.narrative,
        "toolName": full.get("toolName"),
        "toolInput": full.get("toolInput"),
        "toolOutput": full.get("toolOutput"),
    }


_KINDS = {
    "prompt_submit": "prompt",
    "assistant_message": "response",
    "post_tool_use": "tool",
    "post_tool_failure": "error",
    "notification": "notification",
    "subagent_start": "subagent",
    "subagent_stop": "subagent",
    "task_completed": "task",
}
