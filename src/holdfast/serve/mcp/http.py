"""MCP over HTTP, loaded with the first request.

The MCP library takes as long to load as the rest of a server together (`import holdfast.serve.run`: 1.7 s of processor
time with it, 0.95 s without), and a server that hooks or commands start may never get such a request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from holdfast.serve.mcp.surface import ConnectionOf


class McpHttp:
    """An ASGI app while `run` is entered; `connection_of` gives each request the connection for its operations."""

    def __init__(self, connection_of: ConnectionOf, pool: ThreadPoolExecutor, tools: str, max_body: int):
        self._connection_of = connection_of
        self._pool = pool
        self._tools = tools
        self._max_body = max_body

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        self._wanted, self._stopped = asyncio.Event(), asyncio.Event()
        self._manager: asyncio.Future[StreamableHTTPSessionManager] = asyncio.get_running_loop().create_future()
        self._serving = asyncio.create_task(self._serve())
        try:
            yield
        finally:
            self._stopped.set()
            self._wanted.set()
            await self._serving

    async def _serve(self) -> None:
        """The life of the manager in one task: it must be left where it was entered."""
        await self._wanted.wait()
        if self._stopped.is_set():
            return
        manager = await asyncio.to_thread(self._load)
        async with manager.run():
            self._manager.set_result(manager)
            await self._stopped.wait()

    def _load(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from holdfast.serve.mcp.surface import McpSurface

        # Stateless: a session lives in the client's credential, not in this process, so nothing piles up.
        return StreamableHTTPSessionManager(
            McpSurface(self._connection_of, self._pool, self._tools).server(),
            json_response=True,
            stateless=True,
            max_request_body_size=self._max_body,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._wanted.set()
        either: set[asyncio.Future[Any]] = {self._manager, self._serving}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self._manager.done():
            self._serving.result()  # raises why it could not be loaded
        await self._manager.result().asgi_app(scope, receive, send)
