"""The first to see a request and the last to touch its answer. Knows nothing of routes or records.

A server on this machine is reached by every web page its user opens: a page may post to 127.0.0.1, open a
WebSocket to it, or have its own name resolve to it (DNS rebinding). So the name in Host and the page in
Origin decide before anything else runs, for WebSockets too. Every fault below leaves here in one shape.

This costs an accepted request 4 µs, 5 µs with a rate limit.
"""

from __future__ import annotations

import ipaddress
import logging
import math
import re
import traceback
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import unquote_to_bytes

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from holdfast.core.errors import Fault, Forbidden, InvalidRequest, RateLimited, TooLarge, Unauthorized
from holdfast.core.ports import Clock
from holdfast.core.system import SystemClock
from holdfast.serve.http.strict_json import dumps
from holdfast.settings import Settings

MAX_HEADERS = 100
MAX_HEADER_BYTES = 64_000
MAX_TARGET_BYTES = 16_000
MAX_BUCKETS = 10_000
MAX_REMEMBERED = 256

Header = tuple[bytes, bytes]
Recognise = Callable[[bytes], str | None]
"""The name behind the value of an Authorization header, or None if it is not a valid credential."""
LookUp = Callable[[Scope, bytes], Awaitable[None]]
"""Looks the credential up in a thread, so that the event loop finds it in memory; raises a Fault if it cannot."""
Share = Callable[[bytes, float, float], Awaitable[float | None]]
"""Takes a request from the allowance that a caller has at several servers: 0, or how many seconds to wait. None: this
server decides alone."""

log = logging.getLogger("holdfast.serve")

SECURITY_HEADERS: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
VARY: Header = (b"vary", b"Origin")
PREFLIGHT_HEADERS: tuple[Header, ...] = (
    (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE, OPTIONS"),
    (
        b"access-control-allow-headers",
        b"Authorization, Content-Type, Idempotency-Key, Mcp-Session-Id, Mcp-Protocol-Version, Last-Event-ID",
    ),
    (b"access-control-max-age", b"600"),
)
# Pages inside an editor or a browser extension: their origins cannot be claimed by a web site.
TRUSTED_SCHEMES = frozenset({b"vscode-webview", b"chrome-extension"})

_OF_CREDENTIAL = "credential "
_NETLOC = re.compile(rb"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::\d{1,5})?")


class AdmissionControl:
    """An ASGI app around another: checks who calls from where, and adds headers to the answer."""

    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        *,
        clock: Clock | None = None,
        recognise: Recognise | None = None,
        look_up: LookUp | None = None,
        share: Share | None = None,
        names: Iterable[str] = (),
        linked: frozenset[str] = frozenset(),
    ):
        """`names`: hosts besides those of the settings. `linked`: pages to which other sites may lead their readers."""
        self.app = app
        self.look_up = look_up
        self.share = share
        self.hosts = AllowedHosts(settings.host, (*settings.allowed_hosts, *names))
        self.linked = linked
        self.buckets = RateBuckets(settings.rate, clock or SystemClock()) if settings.rate else None
        self.recognise = recognise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        answer = SecuredResponse(scope, send)
        try:
            answer.origin, credential = self._admit(scope)
            if credential is not None and self.look_up is not None:
                await self.look_up(scope, credential)
            if self.buckets is not None:
                await self._charge(self.buckets, scope, credential)
            if answer.origin and scope.get("method") == "OPTIONS" and _asks_ahead(scope["headers"]):
                return await answer.whole(204, PREFLIGHT_HEADERS, b"")
            await self.app(scope, receive, answer)
            if answer.held:
                await answer.release()
        except (ClientDisconnect, WebSocketDisconnect):
            return None  # no client is left to answer
        except Exception as error:  # noqa: BLE001 - the HTTP edge: whatever failed, the client gets one shape
            await answer.fault(_as_fault(error, scope))

    def _admit(self, scope: Scope) -> tuple[bytes | None, bytes | None]:
        """The allowed origin and the credential of the request; a Fault when it may not come in."""
        _check_target(scope)
        host, origin, site, credential = _telling(scope["headers"])
        if host is None and scope.get("http_version") != "1.0":
            raise InvalidRequest(
                "the request has no Host header", hint="Send a Host header with the name of the server."
            )
        if host is not None:
            self.hosts.check_host(host)
        if origin is not None:
            self.hosts.check_origin(origin, host)
        elif site == b"cross-site" and not (scope.get("method") == "GET" and scope["path"] in self.linked):
            raise _foreign_page("cross-site request")
        return origin, credential

    async def _charge(self, buckets: RateBuckets, scope: Scope, credential: bytes | None) -> None:
        """Take the request from its caller's allowance: of a credential at all servers, of an address at this one."""
        payer = self._payer(scope, credential)
        wait = None
        if credential is not None and self.share is not None and payer.startswith(_OF_CREDENTIAL):
            wait = await self.share(credential, buckets.rate, buckets.burst)
        if wait is None:
            buckets.take(payer)
        elif wait:
            raise _too_many(wait)

    def _payer(self, scope: Scope, credential: bytes | None) -> str:
        # Only a valid credential has an allowance of its own: with one for each that is claimed, a
        # client that guesses secrets would never be slowed down.
        if credential is not None and self.recognise and (name := self.recognise(credential)):
            return f"{_OF_CREDENTIAL}{name}"
        return address_of(scope)


def address_of(scope: Scope) -> str:
    """Who calls without a credential."""
    address = str((scope.get("client") or ("unknown", 0))[0])
    # One IPv6 customer has 2^64 addresses; the first half of the address is who it is.
    return str(ipaddress.ip_network(f"{address.partition('%')[0]}/64", strict=False)) if ":" in address else address


class AllowedHosts:
    """The names this server answers to, and the web origins that may call it."""

    def __init__(self, bound: str, allowed: Iterable[str]):
        bare = bound.strip("[]")
        self.names = {b"localhost", bare.lower().encode(), *(name.lower().encode() for name in allowed)}
        # Bound to every address, the server cannot know them all. Any address written as a number is safe:
        # rebinding needs a name.
        self.any_address = bare in ("", "0.0.0.0", "::")  # noqa: S104 - compared, not bound
        # What was accepted, so that the usual client is checked once. Bounded: any port is accepted.
        self._good_hosts: set[bytes] = set()
        self._good_origins: set[tuple[bytes, bytes | None]] = set()

    def check_host(self, host: bytes) -> None:
        if host in self._good_hosts:
            return
        name = _name(host)
        if name is None:
            raise InvalidRequest(
                "the Host header is not a host name", hint="Send the name of the server in the Host header."
            )
        if not (host.lower() in self.names or self._known(name)):
            raise Forbidden(
                "the name in the Host header is not allowed",
                hint="If the name is yours, add it to HOLDFAST_ALLOWED_HOSTS.",
                details={"reason": "host_not_allowed"},
            )
        if len(self._good_hosts) < MAX_REMEMBERED:
            self._good_hosts.add(host)

    def check_origin(self, origin: bytes, host: bytes | None) -> None:
        if (origin, host) in self._good_origins:
            return
        if not self._good_origin(origin.lower(), host):
            raise _foreign_page("the origin in the Origin header is not allowed")
        if len(self._good_origins) < MAX_REMEMBERED:
            self._good_origins.add((origin, host))

    def _good_origin(self, origin: bytes, host: bytes | None) -> bool:
        scheme, _, netloc = origin.partition(b"://")
        if scheme in TRUSTED_SCHEMES:
            return bool(netloc)
        name = _name(netloc)
        if scheme not in (b"http", b"https") or name is None:
            return False
        if host is not None and netloc == host.lower():
            return True
        return origin in self.names or netloc in self.names or name in self.names or _is_loopback(name)

    def _known(self, name: bytes) -> bool:
        return name in self.names or _is_loopback(name) or (self.any_address and _address(name) is not None)


class RateBuckets:
    """How much each caller may still request: `rate` a second, and `burst` at once; by itself, twice the rate."""

    def __init__(self, rate: float, clock: Clock, burst: float | None = None):
        self.rate = rate
        self.burst = max(1.0, 2 * rate) if burst is None else burst
        self.clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, payer: str) -> None:
        now = self.clock.steady()
        left, at = self._left.pop(payer, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.rate)
        self._left[payer] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > MAX_BUCKETS:
            self._left.popitem(last=False)
        if left < 1:
            raise _too_many((1 - left) / self.rate)


def _too_many(wait: float) -> RateLimited:
    return RateLimited("too many requests", details={"retryAfter": math.ceil(wait)})


class SecuredResponse:
    """The way back to the client: what is sent through it leaves with the security headers."""

    __slots__ = ("_closed", "_scope", "_send", "_socket", "_started", "held", "origin")

    def __init__(self, scope: Scope, send: Send):
        self._scope = scope
        self._send = send
        self._socket = scope["type"] == "websocket"
        self._started = self._closed = False
        self.origin: bytes | None = None
        self.held: list[Message] = []

    async def __call__(self, message: Message) -> None:
        # Starlette answers an exception with a text of its own and raises it again. So a 500 waits until
        # it is known whether an exception follows, which is then answered in its place.
        if self.held or message.get("status") == 500:
            self.held.append(message)
        else:
            await self._pass(message)

    async def release(self) -> None:
        for message in self.held:
            await self._pass(message)

    async def _pass(self, message: Message) -> None:
        kind = message["type"]
        if kind == "http.response.start" or kind == "websocket.http.response.start":
            self._started = True
            message["headers"] = self._dressed(message.get("headers") or ())
        elif kind == "websocket.accept":
            self._started = True
        elif kind == "websocket.close":
            self._closed = True
        await self._send(message)

    def _dressed(self, headers: Iterable[Header]) -> list[Header]:
        dressed = list(headers)
        present = {name for name, _ in dressed}
        dressed += [header for header in SECURITY_HEADERS if header[0] not in present]
        dressed.append(VARY)
        if self.origin is not None:
            dressed.append((b"access-control-allow-origin", self.origin))
            dressed.append((b"access-control-expose-headers", b"Mcp-Session-Id, WWW-Authenticate"))
        return dressed

    async def whole(self, status: int, headers: Iterable[Header], body: bytes) -> None:
        kind = "websocket.http.response" if self._socket else "http.response"
        await self._pass({"type": f"{kind}.start", "status": status, "headers": [*headers]})
        await self._send({"type": f"{kind}.body", "body": body})

    async def fault(self, fault: Fault) -> None:
        """Report it to the client, in the one shape if its answer has not begun, else by ending the connection."""
        if not (self._started or self._closed) and self._tells_why():
            body = dumps(fault.to_dict())
            await self.whole(fault.http_status, _fault_headers(fault, body), body)
        elif self._socket and not self._closed:
            code = 1011 if fault.http_status >= 500 else 1008
            await self._send({"type": "websocket.close", "code": code, "reason": fault.code})
        elif not self._closed:
            # A response that has begun is left unfinished: the server then cuts the connection, and the
            # client cannot take half an answer for a whole one. The reason can stand in the log alone.
            log.error("a response ended before it was complete: %s (%s)", fault.message, fault.code)

    def _tells_why(self) -> bool:
        return not self._socket or "websocket.http.response" in self._scope.get("extensions", {})


def _check_target(scope: Scope) -> None:
    path, query = scope.get("raw_path") or b"", scope.get("query_string", b"")
    if len(path) + len(query) > MAX_TARGET_BYTES:
        raise TooLarge(f"the URL is longer than {MAX_TARGET_BYTES} bytes", hint="Send long values in the body.")
    for part in (path, query):
        # Decoding further in puts U+FFFD for what is not UTF-8, and so changes a value silently.
        if b"%" in part:
            plain = unquote_to_bytes(part)
            if b"\0" in plain or not _is_utf8(plain):
                raise InvalidRequest("the URL has a NUL character or is not UTF-8")


def _telling(headers: list[Header]) -> tuple[bytes | None, bytes | None, bytes | None, bytes | None]:
    """Host, Origin, Sec-Fetch-Site and Authorization, of headers that are few and small enough."""
    host = origin = site = credential = None
    size = 0
    for name, value in headers:
        size += len(name) + len(value)
        if name == b"host":
            if host is not None:
                raise InvalidRequest("the request has more than one Host header")
            host = value
        elif name == b"origin":
            if origin is not None:
                raise InvalidRequest("the request has more than one Origin header")
            origin = value
        elif name == b"sec-fetch-site":
            site = value
        elif name == b"authorization":
            credential = value
    if size > MAX_HEADER_BYTES or len(headers) > MAX_HEADERS:
        limits = f"{MAX_HEADERS} headers or {MAX_HEADER_BYTES} bytes"
        raise TooLarge(f"the request exceeds {limits}", hint="Send fewer or shorter headers.")
    return host, origin, site, credential


def _asks_ahead(headers: list[Header]) -> bool:
    return any(name == b"access-control-request-method" for name, _ in headers)


def _foreign_page(message: str) -> Forbidden:
    return Forbidden(
        message,
        hint="If the page is yours, add its host to HOLDFAST_ALLOWED_HOSTS.",
        details={"reason": "origin_not_allowed"},
    )


def _name(netloc: bytes) -> bytes | None:
    found = _NETLOC.fullmatch(netloc)
    return (found[1] or found[2].rstrip(b".")).lower() if found else None


def _address(name: bytes) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.decode("ascii"))
    except ValueError:
        return None


def _is_loopback(name: bytes) -> bool:
    address = _address(name)
    return name == b"localhost" or (address is not None and address.is_loopback)


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _fault_headers(fault: Fault, body: bytes) -> list[Header]:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if isinstance(fault, Unauthorized):
        headers.append((b"www-authenticate", fault.challenge.encode()))
    return [*headers, *wait_header(fault)]


def wait_header(fault: Fault) -> list[Header]:
    """When to try again, where that is known."""
    wait = fault.details.get("retryAfter", fault.retry_after)
    return [(b"retry-after", str(wait).encode())] if isinstance(wait, int) and wait >= 0 else []


def _as_fault(error: Exception, scope: Scope) -> Fault:
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]  # task groups wrap what their one task raised
    if isinstance(error, Fault):
        return error
    # The text of an exception may quote a memory or a secret; its class and place do not.
    place = traceback.extract_tb(error.__traceback__)[-1]
    known = scope.get("route", "an unknown route")  # never the path itself: it may hold ids and names
    route = known if isinstance(known, str) else getattr(known, "path", "a nameless route")
    log.error("%s at %s:%d on %s", type(error).__name__, place.filename, place.lineno or 0, route)
    fault = Fault("internal server error", hint="Check the server's log, then retry.")
    fault.code = "internal"
    return fault
