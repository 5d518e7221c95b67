"""The guard in front of every request: names, pages, limits, and the one shape of a fault."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rows import each
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from holdfast.core.errors import Conflict, Unauthorized
from holdfast.serve.http.admission import AdmissionControl
from holdfast.settings import Settings, load

pytestmark = pytest.mark.quick

Header = tuple[bytes, bytes]


class StubClock:
    def __init__(self) -> None:
        self.time = 1000.0

    def now_ms(self) -> int:
        return int(self.time * 1000)

    def steady(self) -> float:
        return self.time


class Reply:
    """What the client got."""

    def __init__(self, messages: list[Message]):
        self.messages = messages
        start = messages[0] if messages else {}
        self.status: int = start.get("status", 0)
        self.headers = {name.decode(): value.decode() for name, value in start.get("headers", [])}
        self.body = b"".join(message.get("body", b"") for message in messages[1:])

    @property
    def json(self) -> dict[str, Any]:
        value = json.loads(self.body)
        assert isinstance(value, dict)
        return value


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-app", b"hello")]})
    await send({"type": "http.response.body", "body": b"hello"})


def settings(**overrides: object) -> Settings:
    return load(overrides, environ={})


def ask(
    guard: AdmissionControl,
    *headers: tuple[str, str],
    host: str | None = "127.0.0.1:3111",
    kind: str = "http",
    method: str = "GET",
    path: str = "/",
    query: str = "",
    client: str = "127.0.0.1",
    **scope: object,
) -> Reply:
    sent: list[Message] = []
    pairs = [("host", host)] if host is not None else []
    full: Scope = {
        "type": kind,
        "method": method,
        "http_version": "1.1",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in [*pairs, *headers]],
        "client": (client, 50000),
        **scope,
    }

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(guard(full, receive, send))
    return Reply(sent)


OPEN = AdmissionControl(hello, settings())


@each(
    "host",
    [
        "localhost",
        "LOCALHOST:3111",
        "localhost.",
        "127.0.0.1",
        "127.0.0.1:99",
        "127.8.9.1:3111",
        "[::1]:3111",
        "[::1]",
    ],
)
def test_a_name_of_this_machine_is_answered_at_any_port(host: str) -> None:
    assert ask(OPEN, host=host).status == 200


@each(
    "host",
    [
        "evil.test",
        "evil.test:3111",
        "localhost.evil.test",
        "127.0.0.1.evil.test",
        "192.168.1.5:3111",
        "0.0.0.0:3111",
        "[::2]:3111",
        "2130706433",
        "0x7f.1",
        "[::ffff:127.0.0.1]",
        "xn--lcalhost-m4a",
    ],
)
def test_a_name_that_was_pointed_at_this_machine_is_refused(host: str) -> None:
    reply = ask(OPEN, host=host)
    assert (reply.status, reply.json["reason"]) == (403, "host_not_allowed")
    assert ask(OPEN, host=host, kind="websocket").messages[0]["type"] == "websocket.close"


@each(
    "host",
    ["", " ", "a b", "localhost:", "localhost:x", "localhost:3111:1", "[::1", "user@localhost", "localhost/"],
)
def test_a_host_that_is_not_a_name_is_refused(host: str) -> None:
    assert ask(OPEN, host=host).status == 400


@given(host=st.text(st.characters(codec="latin-1")).map(lambda text: text.encode("latin-1")))
def test_no_host_whatsoever_makes_the_guard_itself_fail(host: bytes) -> None:
    reply = ask(OPEN, headers=[(b"host", host)])
    assert reply.status in (200, 400, 403)
    assert ask(OPEN, headers=[(b"host", b"localhost"), (b"origin", host)]).status in (200, 403)


def test_a_missing_host_is_refused_unless_the_client_speaks_http_1_0() -> None:
    assert ask(OPEN, host=None).status == 400
    assert ask(OPEN, host=None, http_version="1.0").status == 200


def test_two_hosts_and_two_origins_are_refused() -> None:
    assert ask(OPEN, ("host", "localhost")).status == 400
    assert ask(OPEN, ("origin", "http://localhost"), ("origin", "http://localhost")).status == 400


def test_the_bound_host_and_those_in_the_settings_are_answered() -> None:
    guard = AdmissionControl(hello, settings(host="192.168.1.5", allowed_hosts="mem.example, other.example:8443"))
    assert ask(guard, host="192.168.1.5:3111").status == 200
    assert ask(guard, host="Mem.Example").status == 200
    assert ask(guard, host="mem.example:99").status == 200
    assert ask(guard, host="other.example:8443").status == 200
    assert ask(guard, host="other.example").status == 403
    assert ask(guard, host="192.168.1.6").status == 403


def test_bound_to_every_address_any_number_is_answered_and_still_no_foreign_name() -> None:
    guard = AdmissionControl(hello, settings(host="0.0.0.0"))
    assert ask(guard, host="10.1.2.3:3111").status == 200
    assert ask(guard, host="[fe80::1]:3111").status == 200
    assert ask(guard, host="evil.test:3111").status == 403


ALLOWED = [
    "http://127.0.0.1:3111",
    "http://localhost:5173",
    "https://localhost",
    "http://[::1]:8080",
    "vscode-webview://abc",
    "chrome-extension://abcdef",
]
FOREIGN = [
    "https://evil.test",
    "http://evil.test:3111",
    "null",
    "",
    "http://localhost.evil.test",
    "http://localhost@evil.test",
    "http://127.0.0.1.evil.test",
    "file://",
    "vscode-webview://",
    "ftp://localhost",
    "http://localhost/path",
    "//localhost",
    "http://192.168.1.5:3111",
]


@each("origin", ALLOWED)
def test_an_allowed_page_is_answered_with_its_own_origin_and_never_a_star(origin: str) -> None:
    reply = ask(OPEN, ("origin", origin), ("sec-fetch-site", "cross-site"))
    assert reply.status == 200
    assert reply.headers["access-control-allow-origin"] == origin
    assert reply.headers["access-control-expose-headers"] == "Mcp-Session-Id, WWW-Authenticate"
    assert reply.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in reply.headers
    assert ask(OPEN, ("origin", origin), kind="websocket").messages[0]["type"] == "websocket.accept"


@each("origin", FOREIGN)
def test_a_foreign_page_is_refused_by_http_and_by_websocket(origin: str) -> None:
    reply = ask(OPEN, ("origin", origin))
    assert (reply.status, reply.json["reason"]) == (403, "origin_not_allowed")
    assert "access-control-allow-origin" not in reply.headers
    assert ask(OPEN, ("origin", origin), kind="websocket").messages == [
        {"type": "websocket.close", "code": 1008, "reason": "forbidden"}
    ]


def test_a_websocket_is_refused_with_the_full_fault_where_the_server_can_carry_it() -> None:
    reply = ask(OPEN, ("origin", "https://evil.test"), kind="websocket", extensions={"websocket.http.response": {}})
    assert reply.messages[0]["type"] == "websocket.http.response.start"
    assert (reply.status, reply.json["code"]) == (403, "forbidden")


def test_a_page_of_the_named_host_itself_and_pages_in_the_settings_are_allowed() -> None:
    guard = AdmissionControl(hello, settings(allowed_hosts="mem.example,https://app.example"))
    assert ask(guard, ("origin", "https://mem.example"), host="mem.example").status == 200
    assert ask(guard, ("origin", "https://mem.example:8443")).status == 200
    assert ask(guard, ("origin", "https://app.example")).status == 200
    assert ask(guard, ("origin", "http://app.example")).status == 403
    assert ask(guard, host="app.example").status == 403


def test_an_origin_that_was_good_for_one_host_is_not_remembered_as_good_for_another() -> None:
    guard = AdmissionControl(hello, settings(host="0.0.0.0"))
    assert ask(guard, ("origin", "http://10.0.0.1:80"), host="10.0.0.1:80").status == 200
    assert ask(guard, ("origin", "http://10.0.0.1:80"), host="10.0.0.2:80").status == 403


def test_a_request_by_a_page_of_another_site_without_an_origin_is_refused() -> None:
    assert ask(OPEN, ("sec-fetch-site", "cross-site")).status == 403
    assert ask(OPEN, ("sec-fetch-site", "same-origin")).status == 200
    assert ask(OPEN, ("sec-fetch-site", "none")).status == 200


def test_a_preflight_is_answered_for_an_allowed_page_only() -> None:
    wish = ("access-control-request-method", "POST")
    reply = ask(OPEN, ("origin", "http://localhost:5173"), wish, method="OPTIONS")
    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["access-control-allow-origin"] == "http://localhost:5173"
    allowed = reply.headers["access-control-allow-headers"].lower()
    for name in ("authorization", "content-type", "idempotency-key", "mcp-session-id", "last-event-id"):
        assert name in allowed
    assert "DELETE" in reply.headers["access-control-allow-methods"]
    assert ask(OPEN, ("origin", "https://evil.test"), wish, method="OPTIONS").status == 403
    assert ask(OPEN, ("origin", "http://localhost"), method="OPTIONS").body == b"hello"


def test_every_answer_has_the_security_headers_and_what_the_app_set_stays() -> None:
    async def cached(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"cache-control", b"max-age=60")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    for reply in (ask(OPEN), ask(OPEN, host="evil.test"), ask(AdmissionControl(cached, settings()))):
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["cross-origin-resource-policy"] == "same-origin"
    assert ask(OPEN).headers["cache-control"] == "no-store"
    assert ask(OPEN).headers["x-app"] == "hello"
    assert ask(AdmissionControl(cached, settings())).headers["cache-control"] == "max-age=60"


def test_too_many_too_large_and_too_long_are_refused() -> None:
    assert ask(OPEN, *[("x", "y")] * 99).status == 200
    assert ask(OPEN, *[("x", "y")] * 100).status == 413
    assert ask(OPEN, ("x", "y" * 64_000)).status == 413
    assert ask(OPEN, path="/" + "a" * 16_000).status == 413
    assert ask(OPEN, query="q=" + "a" * 16_000).status == 413


@each("bad", ["%ff", "a%00b", "%ed%a0%80"])
def test_a_url_that_decoding_would_change_is_refused(bad: str) -> None:
    assert ask(OPEN, path=f"/{bad}").status == 400
    assert ask(OPEN, query=f"q={bad}").status == 400
    assert ask(OPEN, path="/%C3%A9", query="q=%f0%9f%98%80&r=100%").status == 200


def test_a_caller_may_ask_twice_the_rate_at_once_and_is_then_told_when_to_come_back() -> None:
    clock = StubClock()
    guard = AdmissionControl(hello, settings(rate=5), clock=clock)
    assert [ask(guard).status for _ in range(11)] == [200] * 10 + [429]
    reply = ask(guard)
    assert (reply.json["code"], reply.json["retryable"], reply.headers["retry-after"]) == (
        "rate_limited",
        True,
        "1",
    )
    assert ask(guard, client="10.0.0.9").status == 200
    clock.time += 0.5
    assert [ask(guard).status for _ in range(3)] == [200, 200, 429]


def test_a_rate_below_one_a_second_still_lets_one_request_in_and_names_the_whole_wait() -> None:
    guard = AdmissionControl(hello, settings(rate=0.1), clock=StubClock())
    assert ask(guard).status == 200
    assert ask(guard).headers["retry-after"] == "10"


def test_only_a_valid_credential_has_an_allowance_of_its_own() -> None:
    known = {b"Bearer good": "agent-1"}
    guard = AdmissionControl(hello, settings(rate=1), clock=StubClock(), recognise=known.get)
    guesses = [ask(guard, ("authorization", f"Bearer guess{n}")).status for n in range(4)]
    assert guesses == [200, 200, 429, 429]
    assert ask(guard, ("authorization", "Bearer good")).status == 200


def test_the_addresses_of_one_ipv6_network_share_an_allowance() -> None:
    guard = AdmissionControl(hello, settings(rate=1), clock=StubClock())
    statuses = [ask(guard, client=f"2001:db8::{n}").status for n in range(1, 4)]
    assert statuses == [200, 200, 429]
    assert ask(guard, client="2001:db8:0:1::1").status == 200
    assert ask(guard, client="fe80::1%eth0").status == 200


def test_the_number_of_remembered_callers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.serve.http.admission.MAX_BUCKETS", 3)
    guard = AdmissionControl(hello, settings(rate=1), clock=StubClock())
    for n in range(10):
        ask(guard, client=f"10.0.0.{n}")
    assert guard.buckets is not None
    assert len(guard.buckets._left) == 3


def failing(error: Exception, *before: Message) -> AdmissionControl:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for message in before:
            await send(message)
        raise error

    return AdmissionControl(app, settings())


def test_a_fault_from_below_is_answered_in_the_one_shape() -> None:
    fault = Conflict("the memory changed", details={"id": "mem_1"})
    reply = ask(failing(fault), ("origin", "http://localhost"))
    assert (reply.status, reply.json) == (409, fault.to_dict())
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["access-control-allow-origin"] == "http://localhost"
    assert ask(failing(ExceptionGroup("tasks", [fault]))).status == 409
    assert ask(failing(Unauthorized("no credential"))).headers["www-authenticate"] == "Bearer"


def test_a_framework_in_between_that_answers_exceptions_itself_does_not_change_the_shape() -> None:
    async def endpoint(request: object) -> None:
        raise Unauthorized("no credential")

    app = Starlette(routes=[Route("/page", endpoint)])
    reply = ask(AdmissionControl(app, settings()), path="/page")
    assert (reply.status, reply.json["code"], len(reply.messages)) == (401, "unauthorized", 2)


def test_a_500_that_the_app_chose_to_answer_is_passed_on() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 500, "headers": []})
        await send({"type": "http.response.body", "body": b"its own", "more_body": True})
        await send({"type": "http.response.body", "body": b" words"})

    reply = ask(AdmissionControl(app, settings()))
    assert (reply.status, reply.body) == (500, b"its own words")
    assert reply.headers["x-frame-options"] == "DENY"


def test_an_unexpected_error_tells_the_client_nothing_and_the_log_its_class_place_and_route(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def endpoint(request: object) -> None:
        raise KeyError("the secret hunter2")

    router = Router([Route("/agentmemory/{id}", endpoint)])
    with caplog.at_level(logging.ERROR, "holdfast.serve"):
        reply = ask(AdmissionControl(router, settings()), path="/agentmemory/mem_private")
    assert (reply.status, reply.json["code"]) == (500, "internal")
    assert b"hunter2" not in reply.body
    assert b"KeyError" not in reply.body
    assert "KeyError" in caplog.text
    assert "test_admission.py" in caplog.text
    assert "/agentmemory/{id}" in caplog.text
    assert "hunter2" not in caplog.text
    assert "mem_private" not in caplog.text


START: Message = {"type": "http.response.start", "status": 200, "headers": []}


def test_an_error_in_the_middle_of_an_answer_leaves_it_unfinished_and_adds_nothing() -> None:
    reply = ask(failing(KeyError("x"), START, {"type": "http.response.body", "body": b"ha", "more_body": True}))
    assert (reply.status, reply.body, len(reply.messages)) == (200, b"ha", 2)


def test_an_error_on_an_open_websocket_closes_it_once_with_a_reason() -> None:
    accept: Message = {"type": "websocket.accept"}
    close: Message = {"type": "websocket.close", "code": 1000}
    reply = ask(failing(KeyError("x"), accept), kind="websocket")
    assert reply.messages[-1] == {"type": "websocket.close", "code": 1011, "reason": "internal"}
    assert ask(failing(Conflict("x"), accept), kind="websocket").messages[-1]["code"] == 1008
    assert ask(failing(KeyError("x"), accept, close), kind="websocket").messages == [accept, close]


def test_a_client_that_went_away_is_not_an_error(caplog: pytest.LogCaptureFixture) -> None:
    assert ask(failing(ClientDisconnect())).messages == []
    assert caplog.text == ""


def test_the_lifespan_passes_through_untouched() -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["type"])

    assert ask(AdmissionControl(app, settings()), kind="lifespan").messages == []
    assert seen == ["lifespan"]
