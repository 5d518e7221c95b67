"""MCP on standard input and output, answering every request that came before the client hung up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from holdfast.connection import Connection
from holdfast.serve.mcp.surface import McpSurface

# A client that closes its end may still be reading ours; a call that takes longer than this is given up.
LAST_ANSWERS_SECONDS = 60
# One: a client that writes and then reads without waiting gets its answers in that order.
THREADS = 1


class _OpenRequests:
    """Requests without an answer yet."""

    def __init__(self) -> None:
        self._ids: set[Any] = set()
        self._none_left = anyio.Event()

    def asked(self, message: object) -> None:
        inner: Any = getattr(message, "message", None)
        if hasattr(inner, "method") and hasattr(inner, "id"):
            self._ids.add(inner.id)

    def answered(self, message: SessionMessage) -> None:
        inner = message.message
        if not hasattr(inner, "method"):
            self._ids.discard(getattr(inner, "id", None))
            if not self._ids:
                self._none_left.set()

    async def wait(self) -> None:
        while self._ids:
            self._none_left = anyio.Event()
            await self._none_left.wait()


async def serve_stdio(connection: Connection, tools: str = "core", here: str | None = None) -> None:
    """Speak MCP until the client hangs up and its last request is answered; `here` is the project it is started in."""
    waiting = _OpenRequests()
    with ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="mcp") as pool:
        server = McpSurface(lambda _: connection, pool, tools, here).server()
        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
            to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)

            async def listen() -> None:
                async with to_server:
                    async for message in incoming:
                        waiting.asked(message)
                        await to_server.send(message)
                    with anyio.move_on_after(LAST_ANSWERS_SECONDS):
                        await waiting.wait()

            async def speak() -> None:
                async with outgoing:
                    async for message in from_server:
                        await outgoing.send(message)
                        waiting.answered(message)

            tasks.start_soon(listen)
            tasks.start_soon(speak)
            await server.run(from_client, to_client, server.create_initialization_options())
            await to_client.aclose()
