"""A relay between clients and a server that passes every byte on unchanged and keeps what was asked and answered.

Most clients never read their answers. Only on the wire can be seen that a request was made, and that it succeeded.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httptools
from patience import WAIT_SECONDS


@dataclass
class Exchange:
    """One request and, once it is there, the answer."""

    method: str
    path: str
    headers: dict[str, str]
    raw: bytes
    status: int | None = None
    reply: bytes = b""

    @property
    def body(self) -> Any:
        return json.loads(self.raw) if self.raw else None

    @property
    def answer(self) -> Any:
        return json.loads(self.reply)

    def __str__(self) -> str:
        return f"{self.method} {self.path} -> {self.status} {self.reply[:200]!r}"


@dataclass
class Side:
    """What an HTTP parser reports while one side of a connection speaks."""

    spoken: Any
    url: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def on_message_begin(self) -> None:
        self.url, self.headers, self.body = b"", {}, b""

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode().lower()] = value.decode()

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.spoken(self)


class Connection:
    """One client's connection and the connection that carries it on to the server."""

    def __init__(self, tap: Wiretap, client: socket.socket, server: socket.socket):
        self.tap, self.client, self.server = tap, client, server
        self.waiting: deque[Exchange] = deque()
        self.asking = httptools.HttpRequestParser(Side(self._asked))
        self.answering = httptools.HttpResponseParser(Side(self._answered))
        self.threads = [threading.Thread(target=self._carry_requests), threading.Thread(target=self._carry_answers)]
        for thread in self.threads:
            thread.start()

    def _carry_requests(self) -> None:
        _carry(self.client, self.server, self.asking)
        # Hooks exit without waiting. On a busy machine the answer may be under way then; it is still to be seen.
        self.tap.wait_for(lambda: not self.waiting)
        _end(self.server, socket.SHUT_WR)

    def _carry_answers(self) -> None:
        _carry(self.server, self.client, self.answering)
        _end(self.client, socket.SHUT_WR)

    def _asked(self, side: Side) -> None:
        exchange = Exchange(self.asking.get_method().decode(), side.url.decode(), side.headers, side.body)
        self.waiting.append(exchange)
        self.tap.note(exchange)

    def _answered(self, side: Side) -> None:
        exchange = self.waiting.popleft()
        exchange.reply = side.body
        exchange.status = self.answering.get_status_code()
        self.tap.note()

    def close(self) -> None:
        self.waiting.clear()
        self.tap.note()
        for one in (self.client, self.server):
            _end(one, socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        self.client.close()
        self.server.close()


def _carry(source: socket.socket, sink: socket.socket, parser: Any) -> None:
    """Carry bytes until the source ends. A sink that is gone already is no fault: what comes is heard all the same."""
    with suppress(OSError):
        while piece := source.recv(65_536):
            parser.feed_data(piece)
            with suppress(OSError):
                sink.sendall(piece)


def _end(one: socket.socket, how: int) -> None:
    with suppress(OSError):
        one.shutdown(how)


class Wiretap:
    """Listens on a port of its own and relays to the server at `url`."""

    def __init__(self, url: str):
        address = urlsplit(url)
        self._server = (address.hostname or "", address.port or 80)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.exchanges: list[Exchange] = []
        self._news = threading.Condition()
        self._connections: list[Connection] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return  # closed: the test is over
            self._connections.append(Connection(self, client, socket.create_connection(self._server)))

    def note(self, exchange: Exchange | None = None) -> None:
        with self._news:
            if exchange is not None:
                self.exchanges.append(exchange)
            self._news.notify_all()

    def wait_for(self, condition: Callable[[], bool]) -> bool:
        """Whether the condition, looked at after every piece of news, came true in time."""
        with self._news:
            return self._news.wait_for(condition, WAIT_SECONDS)

    def answered(self, count: int) -> list[Exchange]:
        """The exchanges so far, as soon as at least `count` of them have their answer."""
        enough = self.wait_for(lambda: len(self._complete()) >= count)
        assert enough, f"{count} answers were expected, but only these came: {_listed(self.exchanges)}"
        return self._complete()

    def _complete(self) -> list[Exchange]:
        return [one for one in self.exchanges if one.status is not None]

    def answer_to(self, path: str) -> Exchange:
        """The first answered exchange with that path."""
        found = self.wait_for(lambda: self._found(path) is not None)
        exchange = self._found(path)
        assert found, f"{path} was not asked or not answered; there were {_listed(self.exchanges)}"
        assert exchange
        return exchange

    def _found(self, path: str) -> Exchange | None:
        return next((one for one in self._complete() if one.path == path), None)

    def assert_all_succeeded(self) -> None:
        failed = [one for one in self.exchanges if one.status is None or not 200 <= one.status < 300]
        assert not failed, f"the server refused or did not answer: {_listed(failed)}"

    def close(self) -> None:
        _end(self._listening, socket.SHUT_RDWR)
        self._listening.close()
        self._accepting.join()
        for connection in self._connections:
            connection.close()


def _listed(exchanges: list[Exchange]) -> str:
    return "\n  ".join(["", *map(str, exchanges)]) if exchanges else "none"
