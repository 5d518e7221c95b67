"""The whole server as one ASGI app."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.connection import Connection, LocalConnection
from holdfast.core.errors import Fault, Forbidden, InvalidRequest, MethodNotAllowed, NotFound, Unauthorized
from holdfast.core.metrics import MEDIA_TYPE
from holdfast.engine import Engine
from holdfast.ops.openapi import openapi
from holdfast.serve.background.drill_schedule import DrillSchedule
from holdfast.serve.background.follow_thread import FollowThread
from holdfast.serve.background.guard_watch import GuardWatch
from holdfast.serve.background.journal_thread import JournalThreads
from holdfast.serve.background.learning_thread import LearningThread
from holdfast.serve.background.maintenance import Maintenance
from holdfast.serve.background.schedule import SnapshotSchedule
from holdfast.serve.background.spool_intake import SpoolIntake
from holdfast.serve.events.broker import Broker
from holdfast.serve.events.fleet_news import FleetNews
from holdfast.serve.events.websocket import LiveSocket
from holdfast.serve.http.admission import AdmissionControl, wait_header
from holdfast.serve.http.auth import Auth
from holdfast.serve.http.request_body import read_body
from holdfast.serve.http.rest import PREFIX, Rest
from holdfast.serve.http.static_pages import agent_guide, auth_guide
from holdfast.serve.http.strict_json import dumps, loads
from holdfast.serve.http.viewer_files import viewer_page
from holdfast.serve.http.write_batcher import WriteBatcher
from holdfast.serve.mcp.http import McpHttp
from holdfast.serve.mcp.tools import call_tool, text_of, tool_list
from holdfast.serve.metrics_page import readings
from holdfast.serve.oauth.endpoints import OAuthEndpoints
from holdfast.serve.oauth.issuer import AUTHORIZE, public_names

if TYPE_CHECKING:
    from holdfast.serve.mcp.surface import Context

# Writers wait for their commit inside a thread; enough of them that many share one.
THREADS = 32


class App:
    """Routes, background work and the guard in front, for one engine."""

    def __init__(self, engine: Engine, run_token: str):
        self.engine = engine
        self.auth = Auth(engine, run_token)
        self.pool = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="op")
        self.batcher = WriteBatcher(lambda: engine.store)
        self.rest = Rest(engine, self.auth, self.pool, self.batcher)
        self.live = LiveSocket(engine, self.auth)
        self.maintenance = Maintenance(engine)
        self.learning = LearningThread(engine)
        self.schedule = SnapshotSchedule(engine)
        self.journal = JournalThreads(engine)
        self.follow = FollowThread(engine)
        self.drills = DrillSchedule(engine)
        self.guard = GuardWatch(engine)
        self.spool = SpoolIntake(engine)
        self.broker = Broker(engine) if engine.settings.nats_url else None
        self.mcp = McpHttp(self._connection_of, self.pool, engine.settings.mcp_tools, engine.settings.max_body)
        self.oauth = OAuthEndpoints(engine, self.auth, self.pool) if engine.settings.oauth else None
        routes = [
            Route(f"{PREFIX}/mcp/tools", self._mcp_tools, methods=["GET"]),
            Route(f"{PREFIX}/mcp/tools", self._mcp_call, methods=["POST"]),
            Route(f"{PREFIX}/mcp/call", self._mcp_call, methods=["POST"]),
            Route(_ALIVE, self._livez),
            Route("/metrics", self._metrics, methods=["GET"]),
            Route("/openapi.json", self._page("application/json", lambda: dumps(openapi()))),
            Route("/", self._home),
            *(Route(path, viewer_page) for path in _VIEWER_PATHS),
            Route("/agent.md", self._page("text/markdown", agent_guide)),
            Route("/auth.md", self._page("text/markdown", auth_guide)),
            WebSocketRoute("/stream/mem-live/viewer", self.live),
            Mount("/mcp", self._mcp_http),
            *(self.oauth.routes() if self.oauth else ()),
        ]
        faults = {404: _no_such_path, 405: _no_such_method}
        self._others = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=faults)
        self.asgi: ASGIApp = AdmissionControl(
            self._route,
            engine.settings,
            clock=engine.clock,
            recognise=self._recognise,
            look_up=self._look_up,
            share=self._share,
            names=public_names(engine.settings),
            linked=frozenset({AUTHORIZE}) if self.oauth else frozenset(),
        )

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Operations go straight to REST: at thousands of requests a second a route table is felt."""
        if scope["type"] == "http":
            path = scope["path"]
            if path == "/mcp":  # the mount's own redirect would lose the body
                scope = {**scope, "path": "/mcp/"}
            elif path.startswith(PREFIX + "/") and not path.startswith(_NOT_REST):
                return await self.rest(scope, receive, send)
        await self._others(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.engine.publishers.append(self.live)
        self.engine.join_fleet(FleetNews(self.engine, self.auth, self.live))
        self.maintenance.start()
        self.learning.start()
        self.schedule.start()
        self.journal.start()
        self.follow.start()
        self.drills.start()
        self.guard.start()
        self.spool.start()
        self.batcher.start()
        if self.broker:
            self.broker.start()
        try:
            async with self.mcp.run():
                yield
        finally:
            if self.broker:
                await asyncio.to_thread(self.broker.stop)
            await asyncio.to_thread(self.follow.stop)
            await asyncio.to_thread(self.spool.stop)
            await asyncio.to_thread(self.guard.stop)
            await asyncio.to_thread(self.drills.stop)
            await asyncio.to_thread(self.schedule.stop)
            await asyncio.to_thread(self.learning.stop)
            await asyncio.to_thread(self.maintenance.stop)
            await asyncio.to_thread(self.batcher.stop)
            await asyncio.to_thread(self.journal.stop)
            await asyncio.to_thread(self.rest.keys.stop)
            self.engine.publishers.remove(self.live)
            self.pool.shutdown()

    def _recognise(self, credential: bytes) -> str | None:
        try:
            return self.auth.caller([(b"authorization", credential)]).name
        except Fault:
            return None

    async def _look_up(self, scope: Scope, credential: bytes) -> None:
        """A database that does not answer must not hold up the event loop, nor the question whether this is alive."""
        if scope["path"] == _ALIVE:
            return
        with suppress(Unauthorized):  # the operation decides what that means
            given = self.auth.credential([(b"authorization", credential)])
            if not self.auth.is_at_hand(given):
                await asyncio.get_running_loop().run_in_executor(self.pool, self.auth.of, given)

    async def _share(self, credential: bytes, rate: float, burst: float) -> float | None:
        fleet = self.engine.fleet
        caller = self.auth.caller([(b"authorization", credential)])
        if not fleet.is_shared or caller.owner:  # the owner's credential is this process's own
            return None
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self.pool, fleet.take_request, caller.name, caller.tenant, rate, burst)
        except Fault:  # the database is away: the limit of this server is better than none
            return None

    def _connection_of(self, ctx: Context) -> Connection:
        if ctx.request is None:
            raise InvalidRequest("mcp: the request carries no HTTP request")
        return LocalConnection(self.engine, self.auth.caller(ctx.request.scope["headers"]), here=False)

    async def _mcp_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._check_remote(scope)
        if scope["method"] == "GET":  # an event stream that nothing would ever be sent on
            raise MethodNotAllowed("mcp: this server is stateless; send a POST request")
        await self.mcp(scope, receive, send)

    def _check_remote(self, scope: Scope) -> None:
        try:
            self.auth.caller(scope["headers"])
        except Unauthorized as fault:
            if self.oauth is None:
                raise
            had_token = any(name == b"authorization" for name, _ in scope["headers"])
            raise self.oauth.challenged(fault, had_token=had_token) from None

    async def _livez(self, request: Request) -> Response:
        """Open to everybody, so it reports only that this is alive and whether it requires a secret."""
        return _json({"status": "ok", "service": "holdfast", "signIn": bool(self.engine.settings.secret)})

    async def _home(self, request: Request) -> Response:
        return Response(status_code=307, headers={"Location": "/viewer"})

    async def _metrics(self, request: Request) -> Response:
        caller = self.auth.caller(request.scope["headers"])
        if not caller.may("read"):
            raise Forbidden("metrics: the token lacks the scope read")
        loop = asyncio.get_running_loop()
        text = await loop.run_in_executor(self.pool, readings, self.engine, caller, self.broker)
        return Response(text.encode(), headers={"Content-Type": MEDIA_TYPE})

    def _page(self, media: str, make: Callable[[], bytes]) -> Callable[[Request], Awaitable[Response]]:
        """A page that is the same for everybody who may read at all."""

        async def page(request: Request) -> Response:
            self.auth.caller(request.scope["headers"])
            return Response(make(), media_type=media, headers={"Content-Security-Policy": _CSP})

        return page

    async def _mcp_tools(self, request: Request) -> Response:
        self.auth.caller(request.scope["headers"])
        return _json({"tools": tool_list()})

    async def _mcp_call(self, request: Request) -> Response:
        """The old way to call a tool: {"name": …, "arguments": …}."""
        caller = self.auth.caller(request.scope["headers"])
        settings = self.engine.settings
        raw = await read_body(
            request.scope, request.receive, limit=settings.max_body, pause_seconds=settings.body_seconds
        )
        body = loads(raw) if raw else {}
        name, arguments = (body.get("name"), body.get("arguments") or {}) if isinstance(body, dict) else (None, {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise InvalidRequest("mcp: name must be a tool name, and arguments an object")
        loop = asyncio.get_running_loop()
        try:
            connection = LocalConnection(self.engine, caller, here=False)
            answer = await loop.run_in_executor(self.pool, call_tool, connection, name, arguments)
        except NotFound as fault:
            if fault.message.startswith("tool:"):
                raise InvalidRequest(fault.message, hint=fault.hint) from None
            return _tool_fault(fault)
        except Fault as fault:
            return _tool_fault(fault)
        return _json({"content": [{"type": "text", "text": text_of(answer)}]})


_ALIVE = "/livez"
_VIEWER_PATHS = ("/viewer", "/viewer/{path:path}", f"{PREFIX}/viewer")
_NOT_REST = (f"{PREFIX}/mcp/", f"{PREFIX}/viewer")
_CSP = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


async def _no_such_path(request: Request, error: Exception) -> Response:
    fault = NotFound("path not found", hint="GET /openapi.json lists all paths.")
    return _json(fault.to_dict(), fault.http_status)


async def _no_such_method(request: Request, error: Exception) -> Response:
    fault = MethodNotAllowed("Method not allowed.")
    return _json(fault.to_dict(), fault.http_status)


def _json(value: Any, status: int = 200) -> Response:
    return Response(dumps(value), status_code=status, media_type="application/json")


def _tool_fault(fault: Fault) -> Response:
    """A failed tool is an error of the call: the status shows it, and the body is what a model can read."""
    body = fault.to_dict()
    content = [{"type": "text", "text": text_of(body)}]
    answer = _json({**body, "content": content, "isError": True}, fault.http_status)
    answer.raw_headers.extend(wait_header(fault))
    return answer
