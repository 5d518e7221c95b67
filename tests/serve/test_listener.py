"""The listening socket against clients that are slow, greedy or hostile: real connections on 127.0.0.1."""

from __future__ import annotations

import asyncio
import json
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from patience import WAIT_SECONDS, until
from rows import each
from starlette.types import Receive, Scope, Send
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Origin

from holdfast.core.errors import Fault, InvalidSettings
from holdfast.serve.http.admission import AdmissionControl
from holdfast.serve.http.listener import MAX_PIPELINED, Listener, ListenerLimits, SlowReaderGuard, bind
from holdfast.serve.http.request_body import read_body
from holdfast.settings import load

PATIENT = ListenerLimits(header_seconds=5, write_seconds=5, max_connections=50)
HASTY = ListenerLimits(header_seconds=2, write_seconds=1, max_connections=50)
LIMIT = 10_000
PAUSE = 0.3

GET = b"GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
UPGRADE = (
    b"GET /socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


class CallContext:
    """A small app: /hello, /echo with a body, /headers, /stream without an end, and a WebSocket."""

    def __init__(self) -> None:
        self.gone = threading.Event()
        self.release = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.live(receive, send)
        elif scope["type"] == "websocket":
            await self.echo(receive, send)
        elif scope["path"] == "/stream":
            await self.stream(receive, send)
        else:
            if scope["path"] == "/wait":
                await asyncio.to_thread(self.release.wait, 10)
            body = await read_body(scope, receive, limit=LIMIT, pause_seconds=PAUSE)
            if scope["path"] == "/headers":
                body = json.dumps([name.decode() for name, _ in scope["headers"]]).encode()
            await send(
                {
                    "type": "http.response.start",
                    "status": 200,
                    "headers": [(b"content-length", b"%d" % len(body))],
                }
            )
            await send({"type": "http.response.body", "body": body})

    async def live(self, receive: Receive, send: Send) -> None:
        for phase in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{phase}.complete"})

    async def echo(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": message.get("text") or ""})
        self.gone.set()

    async def stream(self, receive: Receive, send: Send) -> None:
        async def pour() -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:
                await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
                await asyncio.sleep(0)

        pouring = asyncio.create_task(pour())
        while (await receive())["type"] != "http.disconnect":
            pass
        pouring.cancel()
        self.gone.set()


class Running:
    def __init__(self, listener: Listener, ctx: CallContext, url: str):
        self.listener, self.ctx, self.url = listener, ctx, url
        self.port = int(url.rpartition(":")[2])

    @contextmanager
    def client(self, *sent: bytes) -> Iterator[socket.socket]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_SECONDS) as sock:
            for data in sent:
                sock.sendall(data)
            yield sock

    def says(self, *sent: bytes) -> bytes:
        """Everything that comes back until the server closes the connection."""
        with self.client(*sent) as sock:
            return until_closed(sock)


@contextmanager
def running(patience: ListenerLimits = PATIENT, **overrides: object) -> Iterator[Running]:
    settings = load(overrides, environ={})
    ctx = CallContext()
    ready: queue.Queue[str] = queue.Queue()
    listener = Listener(AdmissionControl(ctx, settings), "127.0.0.1", 0, settings, ready.put, patience)
    thread = threading.Thread(target=listener.run)
    thread.start()
    try:
        yield Running(listener, ctx, ready.get(timeout=WAIT_SECONDS))
    finally:
        ctx.release.set()
        listener.stop()
        thread.join(WAIT_SECONDS)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as up:
        yield up


@pytest.fixture(scope="module")
def hasty() -> Iterator[Running]:
    with running(HASTY) as up:
        yield up


def until_closed(sock: socket.socket) -> bytes:
    got = b""
    try:
        while data := sock.recv(65_536):
            got += data
    except ConnectionError:
        pass
    return got


def answers(up: Running) -> bool:
    """On a busy machine a request may come too late for the limits of `hasty`."""
    with up.client(GET) as sock:
        return one_answer(sock)[0] == 200


def one_answer(sock: socket.socket) -> tuple[int, bytes]:
    """The next answer on a connection that stays open, by its Content-Length."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += sock.recv(1) or pytest.fail("the connection was closed")
    length = int((re.search(rb"content-length: (\d+)", got) or [b"", b"0"])[1])
    body = b""
    while len(body) < length:
        body += sock.recv(length - len(body))
    return int(got.split()[1]), body


def fault(raw: bytes) -> tuple[int, Any]:
    head, _, body = raw.partition(b"\r\n\r\n")
    assert b"x-content-type-options: nosniff" in head
    return int(head.split()[1]), json.loads(body)["code"]


def trickle(sock: socket.socket, data: bytes) -> bytes:
    """Send a byte whenever the server has been silent for a moment; what it said in the end."""
    ends = time.monotonic() + WAIT_SECONDS
    sock.settimeout(0.03)
    while time.monotonic() < ends:
        try:
            sock.sendall(data)
            got = sock.recv(65_536)
        except TimeoutError:
            continue
        except ConnectionError:
            return b""
        sock.settimeout(WAIT_SECONDS)
        return (got + until_closed(sock)) if got else got
    pytest.fail("the server let a slow client stay")


# --- starting


def test_the_url_given_when_ready_has_the_real_port_and_is_answered(server: Running) -> None:
    assert server.url == f"http://127.0.0.1:{server.port}"
    assert server.port > 0
    raw = server.says(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert raw.startswith(b"HTTP/1.1 200")
    assert b"server:" not in raw.lower()


def test_a_port_in_use_is_named_together_with_the_way_to_choose_another(server: Running) -> None:
    listener = Listener(CallContext(), "127.0.0.1", server.port, load({}, environ={}), print)
    with pytest.raises(InvalidSettings, match=f"127.0.0.1:{server.port} is in use") as caught:
        listener.run()
    assert "--port" in caught.value.hint


@each("host", ["0.0.0.0", "::", ""])
def test_nothing_beyond_this_machine_is_bound_without_a_secret(host: str) -> None:
    with pytest.raises(InvalidSettings, match="no secret") as caught:
        bind(host, 0, exposed=False)
    assert "HOLDFAST_SECRET" in caught.value.hint


def test_every_address_is_bound_with_a_secret_and_the_url_is_one_that_can_be_opened() -> None:
    settings = load({"secret": "s", "host": "0.0.0.0"}, environ={})
    urls: queue.Queue[str] = queue.Queue()
    listener = Listener(AdmissionControl(CallContext(), settings), "0.0.0.0", 0, settings, urls.put)
    thread = threading.Thread(target=listener.run)
    thread.start()
    url = urls.get(timeout=WAIT_SECONDS)
    listener.stop()
    thread.join(WAIT_SECONDS)
    assert url.startswith("http://127.0.0.1:")


@each("host", ["no.such.host.invalid", "192.0.2.1", "bad host"])
def test_an_address_that_is_not_of_this_machine_is_refused(host: str) -> None:
    with pytest.raises(InvalidSettings, match=host):
        bind(host, 0, exposed=True)


def test_ipv6_loopback_needs_no_secret() -> None:
    with bind("::1", 0, exposed=False) as listening:
        assert listening.family == socket.AF_INET6


def test_an_app_that_cannot_start_is_a_fault_and_not_an_exit(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("no store")

    with pytest.raises(Fault, match="could not start"):
        Listener(broken, "127.0.0.1", 0, load({}, environ={}), pytest.fail).run()


# --- slow clients


def test_a_head_that_trickles_in_is_answered_408_and_each_byte_does_not_prolong_it(hasty: Running) -> None:
    with hasty.client(b"GET /hello HTTP/1.1\r\nHost: localhost\r\nX: ") as sock:
        raw = trickle(sock, b"a")
    assert fault(raw) == (408, "request_timeout")


def test_the_second_head_of_a_connection_may_not_trickle_either(hasty: Running) -> None:
    with hasty.client(GET) as sock:
        assert one_answer(sock)[0] == 200
        sock.sendall(b"GET /hello HTTP/1.1\r\nX: ")
        raw = trickle(sock, b"a")
    assert fault(raw) == (408, "request_timeout")


def test_a_half_sent_second_head_is_answered_408(hasty: Running) -> None:
    with hasty.client(GET) as sock:
        assert one_answer(sock)[0] == 200
        sock.sendall(b"GET /hello HTTP/1.1\r\nHost: lo")
        assert fault(until_closed(sock)) == (408, "request_timeout")


def test_a_connection_that_never_asks_is_closed_without_a_word(hasty: Running) -> None:
    assert hasty.says() == b""


def test_empty_lines_between_requests_do_not_hold_a_connection(hasty: Running) -> None:
    with hasty.client(GET) as sock:
        assert one_answer(sock)[0] == 200
        raw = trickle(sock, b"\r\n")
    assert raw == b""


def test_forty_half_sent_heads_are_all_gone_in_time_and_the_server_still_answers(hasty: Running) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(hasty.client(b"GET / HTTP/1.1\r\nX")) for _ in range(40)]
        assert all(fault(until_closed(sock))[0] == 408 for sock in slow)
        until(lambda: answers(hasty), "the server answers")


def test_a_body_that_stops_half_way_is_answered_408(server: Running) -> None:
    with server.client(POST + b"Content-Length: 100\r\n\r\n{") as sock:
        status, body = one_answer(sock)
    assert (status, json.loads(body)["code"]) == (408, "request_timeout")


def test_a_body_that_trickles_in_is_answered_408(hasty: Running) -> None:
    with hasty.client(POST + b"Content-Length: 9000\r\n\r\n") as sock:
        raw = trickle(sock, b" ")
    assert b" 408 " in raw


def test_an_answer_may_take_longer_than_a_head(hasty: Running) -> None:
    with hasty.client(GET.replace(b"/hello", b"/wait")) as sock:
        sock.settimeout(1)
        with pytest.raises(TimeoutError):
            sock.recv(1)
        hasty.ctx.release.set()
        sock.settimeout(WAIT_SECONDS)
        assert one_answer(sock)[0] == 200


def test_a_client_that_does_not_read_its_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "TCP_USER_TIMEOUT", raising=False)
    with running(HASTY) as up, up.client(GET.replace(b"/hello", b"/stream")):
        assert up.ctx.gone.wait(WAIT_SECONDS)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this kernel has no such timeout")
def test_a_client_that_leaves_less_lying_than_stops_the_writing_is_cut_off_by_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SlowReaderGuard, "pause_writing", lambda self: super(SlowReaderGuard, self).pause_writing())
    with running(HASTY) as up, socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", up.port))
        sock.sendall(GET.replace(b"/hello", b"/stream"))
        assert up.ctx.gone.wait(WAIT_SECONDS)


# --- greedy clients


def test_a_head_without_an_end_is_refused_before_it_is_large(server: Running) -> None:
    with server.client(b"GET /hello HTTP/1.1\r\nHost: localhost\r\nX: ") as sock:
        raw = trickle(sock, b"a" * 20_000)
    assert raw == b"" or fault(raw) == (413, "too_large")


@pytest.mark.parametrize(
    "head",
    [
        b"GET /hello HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"GET /hello HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 65_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 17_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        UPGRADE + b"X: y\r\n" * 200 + b"\r\n",
        UPGRADE + b"X: " + b"y" * 9_000 + b"\r\n\r\n",
    ],
    ids=["many", "large", "long URL", "many for a WebSocket", "large for a WebSocket"],
)
def test_a_whole_head_that_is_too_large_is_refused(server: Running, head: bytes) -> None:
    with server.client(head) as sock:
        status, body = one_answer(sock)
    assert (status, json.loads(body)["code"]) == (413, "too_large")


def test_a_body_that_says_it_is_too_large_is_refused_unread_and_the_connection_stays_usable(
    server: Running,
) -> None:
    size = 100 * LIMIT
    with server.client(POST + b"Content-Length: %d\r\n\r\n" % size) as sock:
        assert one_answer(sock)[0] == 413
        sock.sendall(b"x" * size + GET)
        assert one_answer(sock)[0] == 200


def test_a_refused_body_that_never_ends_is_cut_off(hasty: Running) -> None:
    with hasty.client(POST + b"Content-Length: 999999999\r\n\r\n") as sock:
        assert one_answer(sock)[0] == 413
        trickle(sock, b"x" * 1000)


def test_a_chunked_body_is_counted_as_it_comes(server: Running) -> None:
    chunk = b"1000\r\n" + b" " * 4096 + b"\r\n"
    with server.client(POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 3) as sock:
        assert one_answer(sock)[0] == 413


def test_a_chunked_body_of_single_bytes_is_taken(server: Running) -> None:
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in b" " * 9_000)
    with server.client(POST + b"Transfer-Encoding: chunked\r\n\r\n", body, b"0\r\n\r\n") as sock:
        assert one_answer(sock) == (200, b" " * 9_000)


def test_trailers_never_become_headers_and_may_not_go_on_for_ever(server: Running) -> None:
    start = POST.replace(b"/echo", b"/headers") + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    with server.client(start, b"Authorization: Bearer x\r\n\r\n") as sock:
        status, body = one_answer(sock)
        assert (status, "authorization" in json.loads(body)) == (200, False)
    with server.client(start) as sock:
        trickle(sock, b"X: " + b"y" * 9_000 + b"\r\n")


def test_a_gzip_body_and_a_form_are_refused(server: Running) -> None:
    with server.client(POST + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}") as sock:
        assert one_answer(sock)[0] == 415
    with server.client(POST.replace(b"application/json", b"text/plain") + b"Content-Length: 2\r\n\r\n{}") as sock:
        assert one_answer(sock)[0] == 415


def test_a_client_that_asks_before_sending_is_told_no_and_the_connection_ends(server: Running) -> None:
    raw = server.says(POST + b"Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")
    assert b" 413 " in raw
    assert b"100 Continue" not in raw


def test_one_connection_more_than_allowed_is_answered_503_and_a_free_place_is_given_again() -> None:
    with running(ListenerLimits(5, 5, max_connections=3)) as up, ExitStack() as stack:
        held = [stack.enter_context(up.client(GET)) for _ in range(3)]
        assert [one_answer(sock)[0] for sock in held] == [200, 200, 200]
        raw = up.says()
        assert fault(raw) == (503, "rate_limited")
        assert b"connection: close" in raw
        held[0].shutdown(socket.SHUT_WR)
        until_closed(held[0])
        with up.client(GET) as sock:
            assert one_answer(sock)[0] == 200


def test_pipelined_requests_are_answered_in_order(server: Running) -> None:
    bodies = [b"%d" % n for n in range(10)]
    asked = b"".join(POST + b"Content-Length: 1\r\n\r\n" + body for body in bodies)
    with server.client(asked) as sock:
        assert [one_answer(sock) for _ in bodies] == [(200, body) for body in bodies]


def test_requests_pipelined_without_measure_end_the_connection(server: Running) -> None:
    raw = server.says(GET * (MAX_PIPELINED * 20))
    assert raw.count(b"HTTP/1.1 200") <= MAX_PIPELINED + 1


def test_garbage_behind_a_request_ends_the_connection_and_writes_nothing_into_the_answer(
    server: Running,
) -> None:
    raw = server.says(GET.replace(b"/hello", b"/stream") + b"\x00garbage")
    assert b"400" not in raw
    assert b"error" not in raw


def test_a_stream_with_a_request_behind_it_ends_when_its_client_goes_away(server: Running) -> None:
    server.ctx.gone.clear()
    with server.client(GET.replace(b"/hello", b"/stream") + GET) as sock:
        sock.recv(10)
    assert server.ctx.gone.wait(WAIT_SECONDS)


# --- hostile clients


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 100,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: local\x00host\r\n\r\n",
        b"FROB / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT evil.test:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        POST + b"Content-Length: -2\r\n\r\n{}",
        POST + b"Transfer-Encoding: chunked, x\r\n\r\n{}",
        POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
    ],
    ids=lambda raw: repr(raw[-24:]),
)
def test_bytes_that_are_not_a_request_never_get_more_than_a_refusal(hasty: Running, raw: bytes) -> None:
    answer = hasty.says(raw)
    assert answer == b"" or 400 <= int(answer.split()[1]) < 500
    until(lambda: answers(hasty), "the server answers")


@pytest.mark.parametrize("host", [b"evil.test", b"evil.test:3111", b"localhost\r\nHost: evil.test"])
def test_a_foreign_host_is_refused_for_requests_and_websockets(server: Running, host: bytes) -> None:
    for start in (GET, UPGRADE + b"\r\n"):
        with server.client(start.replace(b"Host: localhost", b"Host: " + host)) as sock:
            assert one_answer(sock)[0] in (400, 403)


@pytest.mark.parametrize("origin", [b"https://evil.test", b"null", b"http://localhost.evil.test"])
def test_a_websocket_of_a_foreign_page_is_refused_before_it_opens(server: Running, origin: bytes) -> None:
    raw = server.says(UPGRADE + b"Origin: " + origin + b"\r\n\r\n")
    assert fault(raw) == (403, "forbidden")


@pytest.mark.parametrize(
    "head",
    [
        UPGRADE.replace(b"GET", b"POST") + b"\r\n",
        UPGRADE.replace(b"Version: 13", b"Version: 99") + b"\r\n",
        UPGRADE.replace(b"dGhl", b"x") + b"\r\n",
    ],
    ids=["POST", "version", "key"],
)
def test_a_broken_websocket_handshake_is_refused(hasty: Running, head: bytes) -> None:
    answer = hasty.says(head)
    assert answer == b"" or 400 <= int(answer.split()[1]) < 500


def test_an_offer_to_upgrade_to_something_else_is_declined_by_answering(server: Running) -> None:
    offer = b"\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    with server.client(GET.replace(b"\r\n\r\n", offer)) as sock:
        assert one_answer(sock)[0] == 200


# --- WebSockets


def test_a_websocket_of_an_allowed_page_echoes(server: Running) -> None:
    with connect(f"ws://127.0.0.1:{server.port}/socket", origin=Origin("http://localhost:5173")) as ws:
        ws.send("hello")
        assert ws.recv(WAIT_SECONDS) == "hello"


def test_a_websocket_message_over_a_megabyte_closes_the_socket(server: Running) -> None:
    with connect(f"ws://127.0.0.1:{server.port}/socket") as ws:
        with suppress(ConnectionClosed):  # the server may have closed before everything was sent
            ws.send("x" * 1_000_001)
        with pytest.raises(ConnectionClosed) as caught:
            ws.recv(WAIT_SECONDS)
        assert caught.value.rcvd is None or caught.value.rcvd.code == 1009


def opened(sock: socket.socket) -> None:
    assert one_answer(sock)[0] == 101


def test_a_message_of_empty_fragments_without_end_is_cut_off(server: Running) -> None:
    with server.client(UPGRADE + b"\r\n") as sock:
        opened(sock)
        empty = b"\x00\x80\x00\x00\x00\x00"
        sock.sendall(b"\x01\x80\x00\x00\x00\x00" + empty * 5_000)
        assert until_closed(sock) == b""


PINGS = (b"\x89\xfd\x00\x00\x00\x00" + b"p" * 125) * 1000


def test_a_flood_of_pings_whose_pongs_are_not_read_is_cut_off(hasty: Running) -> None:
    hasty.ctx.gone.clear()
    with hasty.client(UPGRADE + b"\r\n") as sock:
        opened(sock)
        with suppress(ConnectionError, TimeoutError):
            while not hasty.ctx.gone.is_set():
                sock.sendall(PINGS)
        assert hasty.ctx.gone.wait(WAIT_SECONDS)


def test_pongs_that_nobody_reads_are_not_kept(server: Running) -> None:
    with server.client(UPGRADE + b"\r\n") as sock:
        opened(sock)
        with suppress(ConnectionError):  # on a slow machine the server's patience ends first
            for _ in range(200):  # 26 MB
                sock.sendall(PINGS)
        kept = [each.transport.get_write_buffer_size() for each in server.listener._server.server_state.connections]
    assert max(kept, default=0) < 2_000_000


# --- stopping


def test_stopping_ends_open_connections_of_every_kind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ExitStack() as stack:
        with running() as up:
            idle = stack.enter_context(up.client(GET))
            assert one_answer(idle)[0] == 200
            half = stack.enter_context(up.client(b"GET / HT"))
            stream = stack.enter_context(up.client(GET.replace(b"/hello", b"/stream")))
            assert stream.recv(15) == b"HTTP/1.1 200 OK"
            ws = stack.enter_context(up.client(UPGRADE + b"\r\n"))
            opened(ws)
            unread = stack.enter_context(up.client(GET.replace(b"/hello", b"/stream")))
        assert until_closed(idle) == b""
        assert until_closed(half) == b""
        assert until_closed(ws)[:1] == b"\x88"
        until_closed(unread)
        assert caplog.text == ""


SCRIPT = """
import sys
sys.path[:0] = {folders!r}
from test_listener import CallContext
from holdfast.serve.http.admission import AdmissionControl
from holdfast.serve.http.listener import Listener
from holdfast.settings import load
settings = load({{}}, environ={{}})
app = AdmissionControl(CallContext(), settings)
Listener(app, "127.0.0.1", 0, settings, lambda url: print(url, flush=True)).run()
print("closed", flush=True)
"""


@each("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_server_and_what_comes_after_it_still_runs(number: signal.Signals) -> None:
    here = Path(__file__).resolve()
    folders = [here.parent, here.parents[1], here.parents[2] / "src"]
    script = SCRIPT.format(folders=[str(folder) for folder in folders])
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS) as sock:
                sock.sendall(UPGRADE + b"\r\n")
                opened(sock)
                process.send_signal(number)
                out, err = process.communicate(timeout=WAIT_SECONDS)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, "closed\n", "")
