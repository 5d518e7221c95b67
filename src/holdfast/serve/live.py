"""Live: committed events to WebSocket readers. One that does not keep up is dropped, never waited for."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from starlette.types import Receive, Scope, Send

from holdfast.engine import Engine
from holdfast.errors import Fault
from holdfast.keys import session_name
from holdfast.model import Caller, Event, Json
from holdfast.protocol.access import Viewer, viewer_keys
from holdfast.serve.auth import Auth, chat_of
from holdfast.serve.strict_json import dumps
from holdfast.shapes import shape

# A viewer that is this many frames behind will not catch up; it reconnects and reads what it missed.
QUEUE = 1_000
READERS = 200
POLICY, TRY_LATER = 1008, 1013
NO_CHAT = "?"  # what an empty header names: no chat there is, so that nothing is heard


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


def frame(event: Event) -> bytes:
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
    return dumps({"type": event.kind, "sessionId": session, "data": data})


@dataclass(eq=False)
class Reader:
    caller: Caller
    credential: str | None  # asked again before every frame: it may have been revoked or have run out
    agent: str | None  # only this agent's events; None sees all of the tenant's
    viewer: Viewer
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


class Live:
    """Publisher of committed events, and the ASGI app of the socket."""

    def __init__(self, engine: Engine, auth: Auth):
        self._engine = engine
        self._auth = auth
        self._readers: set[Reader] = set()
        self._lock = threading.Lock()

    def publish(self, event: Event) -> None:
        if not self._readers:
            return
        with self._lock:
            fitting = [one for one in self._readers if _reaches(event, one)]
        if fitting:
            body = frame(event)
            for reader in fitting:
                if not reader.loop.is_closed():
                    reader.loop.call_soon_threadsafe(reader.offer, body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        try:
            reader = self._admit(scope)
        except Fault:
            await send({"type": "websocket.close", "code": POLICY, "reason": "unauthorized"})
            return
        if len(self._readers) >= READERS:
            await send({"type": "websocket.close", "code": TRY_LATER, "reason": "too many readers"})
            return
        await send({"type": "websocket.accept"})
        with self._lock:
            self._readers.add(reader)
        listening = asyncio.create_task(_until_gone(receive, reader))
        try:
            await self._feed(reader, send, listening)
        finally:
            listening.cancel()
            with self._lock:
                self._readers.discard(reader)

    def _admit(self, scope: Scope) -> Reader:
        credential = self._credential(scope)
        caller = self._auth.of(credential)
        desk = self._engine.desk(caller)
        if not caller.may("read"):
            raise Fault("the token lacks the scope read")
        asked = {name: values[0] for name, values in parse_qs(scope["query_string"].decode("latin-1")).items()}
        bounds = desk.sees(asked.get("agentId"))
        agent = str(bounds[0].value) if bounds else None
        return Reader(caller, credential, agent, listening(scope, asked), asyncio.get_running_loop())

    def _credential(self, scope: Scope) -> str | None:
        """From ?token=, as browsers cannot set headers on a socket, or from the header."""
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [None])[0]
        return token or self._auth.credential(scope["headers"])

    def _still_admitted(self, reader: Reader) -> bool:
        try:
            return self._auth.of(reader.credential) == reader.caller
        except Fault:
            return False

    async def _feed(self, reader: Reader, send: Send, listening: asyncio.Task[None]) -> None:
        while not listening.done():
            await reader.wake.wait()
            reader.wake.clear()
            if reader.behind:
                await send({"type": "websocket.close", "code": TRY_LATER, "reason": "too slow"})
                return
            if not self._still_admitted(reader):
                await send({"type": "websocket.close", "code": POLICY, "reason": "unauthorized"})
                return
            while reader.frames and not listening.done():
                await send({"type": "websocket.send", "text": reader.frames.popleft().decode()})


_IN_CHATS = ("memory", "forgotten")  # events of which somebody in a chat learns


def _reaches(event: Event, reader: Reader) -> bool:
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


async def _until_gone(receive: Receive, reader: Reader) -> None:
    """Read and drop what the client sends until it leaves."""
    while (await receive())["type"] != "websocket.disconnect":
        continue
    reader.wake.set()
