"""Live: committed events to WebSocket readers. One that does not keep up is dropped, never waited for.

A reader that gives `since`, empty at first, is sent its place: {"type": "hello", "place": …}. Each event has one too.
With `since` set to the last it saw it gets all it missed, or {"type": "gap"} where that is no longer kept.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from starlette.types import Receive, Scope, Send

from holdfast.core.errors import Fault, Unauthorized
from holdfast.core.model import Caller, Event, Json
from holdfast.core.session_keys import session_name
from holdfast.core.wire import shape
from holdfast.engine import Engine
from holdfast.protocol.access import Viewer, viewer_keys
from holdfast.serve.events.replay_buffer import ReplayBuffer
from holdfast.serve.http.auth import Auth, chat_of
from holdfast.serve.http.strict_json import dumps

# A viewer that is this many frames behind will not catch up; it reconnects and reads what it missed.
QUEUE = 1_000
READERS = 200
POLICY, TRY_LATER = 1008, 1013
NO_CHAT = "?"  # what an empty header names: a chat that does not exist, so that no event is received

# After the last reader of a tenant left, its events are kept for so long: a laptop's sleep, a restart of the browser.
KEPT_SECONDS = 900
RECHECK_SECONDS = 0.4
# The sub-protocol of pages. A page cannot set other headers on a socket, so its credential comes as a second one,
# bearer.<base64url>; unlike an address, no proxy writes that to its log.
PROTOCOL = "holdfast.live"
_BEARER = "bearer."

_RAW = (
    "id",
    "sessionId",
    "timestamp",
    "hookType",
    "raw",
    "toolName",
    "toolInput",
    "toolOutput",
    "userPrompt",
)


def frame(event: Event, place: str) -> bytes:
    """The event as the viewer reads it."""
    body: Json = event.body if isinstance(event.body, dict) else shape(event.body)
    session = session_name(event.session_id) if event.session_id else None
    if event.kind == "raw_observation":
        raw = {name: body[name] for name in (*_RAW, "agentId") if name in body}
        data = {"type": "raw", "observation": raw, "sessionId": session}
    elif event.kind == "compressed_observation":
        data = {"type": "compressed", "observation": body, "sessionId": session}
    else:
        data = {"type": event.kind, event.kind: body}
    return dumps({"type": event.kind, "sessionId": session, "data": data, "place": place})


@dataclass(eq=False)
class Subscriber:
    caller: Caller
    credential: str | None  # checked again before every frame: it may have been revoked or have expired
    agent: str | None  # only this agent's events; None sees all of the tenant's
    viewer: Viewer
    since: str | None  # the place to go on from; empty for a first time, None if the reader gives none
    loop: asyncio.AbstractEventLoop
    frames: deque[bytes] = field(default_factory=deque)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    behind: bool = False

    def offer(self, body: bytes) -> None:
        """Queue a frame; runs in the loop."""
        if len(self.frames) >= QUEUE:
            self.behind = True
        else:
            self.frames.append(body)
        self.wake.set()


class LiveSocket:
    """Publisher of committed events, and the ASGI app of the socket."""

    def __init__(self, engine: Engine, auth: Auth):
        self._engine = engine
        self._auth = auth
        self._readers: set[Subscriber] = set()
        self._recents: dict[str, ReplayBuffer] = {}
        self._lock = threading.Lock()  # an event is either among the recent when a reader joins, or offered to it

    def publish(self, event: Event) -> None:
        if not self._recents:
            return
        with self._lock:
            recent = self._recents.get(event.tenant)
            if recent is None or self._is_over(event.tenant, recent):
                return
            body = recent.add(event, lambda place: frame(event, place))
            fitting = [one for one in self._readers if _reaches(event, one)]
        for reader in fitting:
            if not reader.loop.is_closed():
                reader.loop.call_soon_threadsafe(reader.offer, body)

    def _is_over(self, tenant: str, recent: ReplayBuffer) -> bool:
        """Whether there is no reader any more and none will come back; the events are dropped then."""
        over = recent.left_at is not None and self._engine.clock.steady() - recent.left_at > KEPT_SECONDS
        if over:
            del self._recents[tenant]
            self._engine.fleet.unwatch(tenant)
        return over

    def recheck(self) -> None:
        """Check the credential of every reader again: one may have been revoked."""
        with self._lock:
            readers = list(self._readers)
        for reader in readers:
            if not reader.loop.is_closed():
                reader.loop.call_soon_threadsafe(reader.wake.set)

    def missed(self, tenant: str) -> None:
        """Tell the readers of a tenant to load their lists anew: events of other servers were lost."""
        with self._lock:
            if tenant not in self._recents:
                return
            recent = self._recents[tenant] = ReplayBuffer(self._engine.entropy.hex(12))
            concerned = [one for one in self._readers if one.caller.tenant == tenant and one.since is not None]
            body = dumps({"type": "gap", "place": recent.place})
        for reader in concerned:
            if not reader.loop.is_closed():
                reader.loop.call_soon_threadsafe(reader.offer, body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        try:
            await self._look_up(self._credential(scope))
            reader = self._admit(scope)
        except Fault:
            await send({"type": "websocket.close", "code": POLICY, "reason": "unauthorized"})
            return
        if len(self._readers) >= READERS:
            await send({"type": "websocket.close", "code": TRY_LATER, "reason": "too many connections"})
            return
        try:  # before the reader gets its place: all that comes after it is then seen here
            await asyncio.to_thread(self._engine.fleet.watch, reader.caller.tenant)
        except Fault:
            await send({"type": "websocket.close", "code": TRY_LATER, "reason": "try again"})
            return
        chosen = PROTOCOL if PROTOCOL in scope.get("subprotocols", ()) else None
        self._join(reader)  # before it knows that it is connected: it misses nothing of what it does next
        try:
            await send({"type": "websocket.accept", "subprotocol": chosen})
            listening = asyncio.create_task(_until_gone(receive, reader))
            try:
                await self._feed(reader, send, listening)
            finally:
                listening.cancel()
        finally:
            self._leave(reader)

    def _join(self, reader: Subscriber) -> None:
        """Send a reader all events from now on, after those it missed."""
        tenant = reader.caller.tenant
        with self._lock:
            recent = self._recents.get(tenant)
            if recent is None or self._is_over(tenant, recent):
                recent = self._recents[tenant] = ReplayBuffer(self._engine.entropy.hex(12))
            recent.left_at = None
            self._readers.add(reader)
            if reader.since is None:
                return
            missed = recent.after(reader.since, lambda event: _reaches(event, reader)) if reader.since else []
            greeting = "hello" if missed is not None else "gap"
            # After the missed ones: a reader that is cut off among them resumes from where it was.
            reader.frames.extend([*(missed or ()), dumps({"type": greeting, "place": recent.place})])
        reader.wake.set()

    def _leave(self, reader: Subscriber) -> None:
        tenant = reader.caller.tenant
        with self._lock:
            self._readers.discard(reader)
            if not any(one.caller.tenant == tenant for one in self._readers) and tenant in self._recents:
                self._recents[tenant].left_at = self._engine.clock.steady()

    def _admit(self, scope: Scope) -> Subscriber:
        credential = self._credential(scope)
        caller = self._auth.of(credential)
        ctx = self._engine.context(caller)
        if not caller.may("read"):
            raise Fault("the token lacks the scope read")
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        asked = {name: values[0] for name, values in query.items()}
        bounds = ctx.sees(asked.get("agentId"))
        agent = str(bounds[0].value) if bounds else None
        viewer = listening(scope, asked)
        return Subscriber(caller, credential, agent, viewer, asked.get("since"), asyncio.get_running_loop())

    def _credential(self, scope: Scope) -> str | None:
        """From a page's sub-protocol, from ?token= as older clients give it, or from the header."""
        for name in scope.get("subprotocols", ()):
            if name.startswith(_BEARER):
                return _unpacked(name.removeprefix(_BEARER))
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [None])[0]
        return token or self._auth.credential(scope["headers"])

    async def _look_up(self, credential: str | None) -> None:
        """In a thread, so that the event loop then finds it in memory."""
        if not self._auth.is_at_hand(credential):
            await asyncio.to_thread(self._auth.of, credential)

    async def _is_admitted(self, reader: Subscriber) -> bool | None:
        """Whether the reader's credential is still valid; None if that cannot be known now."""
        try:
            await self._look_up(reader.credential)
            return self._auth.of(reader.credential) == reader.caller
        except Unauthorized:
            return False
        except Fault:  # a store that is exchanged, or a database that is away: nothing is sent meanwhile
            return None

    async def _feed(self, reader: Subscriber, send: Send, listening: asyncio.Task[None]) -> None:
        while not listening.done():
            with suppress(TimeoutError):  # then the credential is checked, which may be revoked while nothing happens
                await asyncio.wait_for(reader.wake.wait(), RECHECK_SECONDS)
            reader.wake.clear()
            if reader.behind:
                await send({"type": "websocket.close", "code": TRY_LATER, "reason": "too slow"})
                return
            admitted = await self._is_admitted(reader)
            if admitted is None:
                continue
            if not admitted:
                await send({"type": "websocket.close", "code": POLICY, "reason": "unauthorized"})
                return
            while reader.frames and not listening.done():
                await send({"type": "websocket.send", "text": reader.frames.popleft().decode()})


def _unpacked(text: str) -> str:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, ValueError):
        raise Unauthorized("unauthorized") from None


_IN_CHATS = ("memory", "forgotten")  # events that a caller in a chat receives


def _reaches(event: Event, reader: Subscriber) -> bool:
    if event.tenant != reader.caller.tenant or reader.agent not in (None, event.agent):
        return False
    if reader.viewer.umo and event.kind not in _IN_CHATS:
        return False
    return not set(event.audience).isdisjoint(viewer_keys(reader.viewer))


def listening(scope: Scope, asked: Mapping[str, str]) -> Viewer:
    """Who listens: by the headers that bind a connection to a chat, else by the query."""
    bound = chat_of(scope["headers"])
    if bound is None:
        return Viewer(asked.get("umo", ""), asked.get("senderId", ""))
    return Viewer(bound.umo or NO_CHAT, bound.sender_id)


async def _until_gone(receive: Receive, reader: Subscriber) -> None:
    """Read and drop what the client sends until it leaves."""
    while (await receive())["type"] != "websocket.disconnect":
        continue
    reader.wake.set()
