"""The listening socket and the life of its connections. Knows nothing of requests or answers.

This depends on protocol classes of uvicorn that are not public, and pyproject.toml therefore bounds its version. The
public options cannot do it: uvicorn waits without end for a request head, queues any number of pipelined requests, and
keeps the answer of a client that never reads in memory (a 256 kB burst of requests became 22 MB). None of the three
can be seen from an ASGI app or set by an option, and a proxy in front is not there on a laptop. So `Connection` and
`Socket` override the hooks through which bytes come and go; what is refused on the wire has the shape of every fault.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

import httptools
import uvicorn
from starlette.types import ASGIApp
from uvicorn._types import ASGI3Application, ASGISendEvent
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import HANDLED_SIGNALS
from websockets.frames import Frame

from holdfast.core.errors import Fault, InvalidRequest, InvalidSettings, RateLimited, RequestTimeout, TooLarge
from holdfast.serve.http.admission import MAX_HEADER_BYTES, MAX_HEADERS, MAX_TARGET_BYTES, SECURITY_HEADERS
from holdfast.serve.http.request_body import WHOLE
from holdfast.serve.http.strict_json import dumps
from holdfast.settings import Settings

# Longer than the 4 and 5 s for which undici and httpx keep an idle connection: the client closes first, and
# never writes into one that is just being closed here.
KEEP_ALIVE_SECONDS = 15
# Answers that are under way at shutdown have this long; streams that have no end are cut after it.
GRACE_SECONDS = 2
# A queued request of 30 bytes takes 2.6 kB of memory: without a bound, 256 kB from a socket become 22 MB.
MAX_PIPELINED = 32
MAX_SOCKET_MESSAGE = 1_000_000
MAX_FRAGMENTS = 1_000  # empty ones do not count towards the size of the message
# Bytes of one request that are not its body: the head, chunk sizes, trailers.
MAX_OVERHEAD = MAX_HEADER_BYTES + MAX_TARGET_BYTES
# A body sent one byte to a chunk has 5 bytes of framing for each.
OVERHEAD_PER_BODY_BYTE = 8


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """How long and for how many the server waits."""

    header_seconds: float
    write_seconds: float
    max_connections: int

    @classmethod
    def of(cls, settings: Settings) -> ListenerLimits:
        return cls(settings.header_seconds, settings.body_seconds, settings.max_connections)


class Config(uvicorn.Config):
    limits: ListenerLimits


class SlowReaderGuard(asyncio.Protocol):
    """A client that has to keep reading: one that does not read its answers is cut off."""

    config: uvicorn.Config
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    _stuck: asyncio.TimerHandle | None = None

    @property
    def limits(self) -> ListenerLimits:
        return cast(Config, self.config).limits

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stuck = self.loop.call_later(self.limits.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._stuck)

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self._stuck)
        super().connection_lost(exc)


class Connection(SlowReaderGuard, HttpToolsProtocol):
    """One HTTP connection whose client also has to keep sending."""

    _owing: asyncio.TimerHandle | None = None
    _running: RequestResponseCycle | None = None
    _overhead = 0
    _in_head = _in_body = False

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        if len(self.connections) >= self.limits.max_connections:
            hint = "Close idle connections, or raise HOLDFAST_MAX_CONNECTIONS."
            return self._refuse(RateLimited("the connection limit is reached", hint=hint), 503)
        super().connection_made(transport)
        self._client_owes()

    def connection_lost(self, exc: Exception | None) -> None:
        self._client_paid()
        if self._running is not None:
            # uvicorn notifies the latest request only; a stream with another request behind it would go on.
            self._running.disconnected = not self._running.response_complete
            self._running.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self._overhead += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            return self._refuse(InvalidRequest("the bytes received are not an HTTP request"))
        except httptools.HttpParserUpgrade:
            # Any other upgrade is an offer (h2c) that is declined by answering the request.
            if self._should_upgrade():
                return self.handle_websocket_upgrade()
        if self._overhead > MAX_OVERHEAD:
            self._refuse(TooLarge(f"the head of the request is larger than {MAX_OVERHEAD} bytes"))
        elif self._answering:
            self._client_paid()
        else:
            self._client_owes()

    def handle_websocket_upgrade(self) -> None:
        self._client_paid()
        # websockets reads the head again, with limits of its own that end in a traceback here.
        if len(self.headers) > MAX_HEADERS or any(len(n) + len(v) > 8_000 for n, v in self.headers):
            return self._refuse(TooLarge("the headers of the WebSocket request are too many or too long"))
        super().handle_websocket_upgrade()

    def on_message_begin(self) -> None:
        self._overhead, self._in_head = 0, True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers come after the headers were checked, and would be added to them.
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        if len(self.pipeline) >= MAX_PIPELINED:
            raise InvalidRequest(f"more than {MAX_PIPELINED} pipelined requests")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._overhead = max(0, self._overhead - OVERHEAD_PER_BODY_BYTE * len(body))
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body = False
        self.scope[WHOLE] = True  # type: ignore[literal-required]
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._answering or not (self._in_head or self._in_body):
            return
        if self._in_body and self.expect_100_continue:
            # The client may now hold its body back for good: where its next request begins is unknown.
            self.transport.close()
        else:
            self._client_owes()

    def _client_owes(self) -> None:
        """Bytes are due within a time that a single byte does not extend."""
        if self._owing is None and not self.transport.is_closing():
            self._owing = self.loop.call_later(self.limits.header_seconds, self._too_late)

    def _client_paid(self) -> None:
        _cancel(self._owing)
        self._owing = None

    def _too_late(self) -> None:
        if self._in_head:
            self._refuse(RequestTimeout("the headers did not arrive in time"))
        else:
            # There was no request, or it was answered already: a status would be read as the next answer.
            self.transport.close()

    def _refuse(self, fault: Fault, status: int | None = None) -> None:
        self._client_paid()
        if not self._answering:  # else the bytes would stand in the middle of another answer
            self.transport.write(_wire(fault, status or fault.http_status))
        self.transport.close()


class Socket(SlowReaderGuard, WebSocketsSansIOProtocol):
    """One WebSocket."""

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True  # uvicorn does not set it, and logs each refusal as an error of the app

    def handle_ping(self) -> None:
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()  # for a client that does not read its pongs no more are buffered

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) < MAX_FRAGMENTS:
            super().handle_cont(event)
        else:
            self.transport.abort()


class Server(uvicorn.Server):
    """uvicorn that reports when it is ready, ends within a few seconds, and returns when it was stopped."""

    def __init__(self, config: Config, on_started: Callable[[], None], on_ending: Callable[[], None]):
        super().__init__(config)
        self._on_started = on_started
        self._on_ending = on_ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit:
            raise Fault("the server could not start", hint="See the log above for the cause.") from None
        self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_ending()
        cut = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._cut)
        await super().shutdown(sockets)
        cut.cancel()
        self._cut()

    def _cut(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn raises the signal once more at the end, which would kill the process before its caller
        # could close the store.
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in HANDLED_SIGNALS}
        try:
            yield
        finally:
            for number, action in before.items():
                signal.signal(number, action)


class Listener:
    """A server for one app. `run` blocks until `stop`, SIGTERM or SIGINT; any thread may call either."""

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        settings: Settings,
        on_ready: Callable[[str], None],
        limits: ListenerLimits | None = None,
        on_ending: Callable[[], None] = lambda: None,
    ):
        self.host = host
        self.port = port
        self.settings = settings
        self.on_ready = on_ready
        self.url = ""
        self.limits = limits or ListenerLimits.of(settings)
        self._server = Server(_config(app, settings, self.limits), self._ready, on_ending)

    def run(self) -> None:
        """Serve until stopped.

        Raises:
            InvalidSettings: the address cannot be listened on, or may not be without a secret.
        """
        exposed = self.settings.secret is not None
        with bind(self.host, self.port, exposed, self.limits.write_seconds) as listening:
            self.url = _url(listening)
            self._server.run(sockets=[listening])

    def stop(self) -> None:
        self._server.should_exit = True

    def _ready(self) -> None:
        self.on_ready(self.url)


def bind(host: str, port: int, exposed: bool, unread_seconds: float = 30) -> socket.socket:
    """A listening socket. Beyond loopback only if `exposed`: everyone there could read every memory.

    Raises:
        InvalidSettings: see above, or the address is taken, not this machine's, or not allowed.
    """
    where = f"{host or '*'}:{port}"
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise InvalidSettings(f"{where}: unknown host", hint="Choose with --host.") from None
    family, kind, protocol, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    if not exposed and not _is_loopback(str(address[0])):
        raise InvalidSettings(
            f"{where} is reachable from other machines, and no secret is set",
            hint="Set HOLDFAST_SECRET, or listen on 127.0.0.1.",
        )
    listening = socket.socket(family, kind, protocol)
    try:
        # A restart must not wait for the connections of the last run to be forgotten by the kernel.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # The kernel gives up a peer that takes none of the bytes that were left to it at closing.
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(unread_seconds * 1000))
        listening.bind(address)
        listening.listen(512)
    except OSError as error:
        listening.close()
        raise _unusable(where, error) from error
    return listening


def _unusable(where: str, error: OSError) -> InvalidSettings:
    if error.errno == errno.EADDRINUSE:
        hint = "Stop the other program, or choose another port with --port or HOLDFAST_PORT."
        return InvalidSettings(f"{where} is in use by another program", hint=hint)
    if error.errno == errno.EACCES:
        hint = "Choose a port above 1023 with --port or HOLDFAST_PORT."
        return InvalidSettings(f"{where}: permission denied", hint=hint)
    return InvalidSettings(f"{where}: cannot listen: {error.strerror}", hint="Choose with --host and --port.")


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def _url(listening: socket.socket) -> str:
    address, port = listening.getsockname()[:2]
    # Bound to every address, the server is reached at the machine's own.
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104 - compared, not bound
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _config(app: ASGIApp, settings: Settings, limits: ListenerLimits) -> Config:
    config = Config(
        app,
        interface="asgi3",
        http=Connection,
        ws=Socket,
        ws_max_size=MAX_SOCKET_MESSAGE,
        ws_per_message_deflate=False,  # a compressed message may become a thousand times its size
        lifespan="on",
        log_config=None,
        log_level=settings.log_level,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        workers=1,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=2 * GRACE_SECONDS,
    )
    config.limits = limits
    return config


def _wire(fault: Fault, status: int) -> bytes:
    body = dumps(fault.to_dict())
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode(), b"content-type: application/json"]
    lines += [b"content-length: %d" % len(body), b"connection: close"]
    lines += [name + b": " + value for name, value in SECURITY_HEADERS]
    return b"\r\n".join([*lines, b"", body])


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
