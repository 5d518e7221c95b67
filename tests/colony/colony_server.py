"""A local server that speaks the vault API of The Colony: tokens, ETags, quota, 60 changes an hour, and faults on demand."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from patience import WAIT_SECONDS

KEY = "col_0123456789abcdef"
QUOTA = 10 * 1024 * 1024
MOST_FILE = 1_000_000
ALLOWED = (".md", ".txt", ".json", ".yaml")
TIME = "2026-06-19T05:16:43+00:00"

Handler = BaseHTTPRequestHandler
# What is done in the place of the real answer. True: and then the real answer is given too.
Play = Callable[["Handler"], bool]


@dataclass
class Fault:
    method: str
    path: str  # what the path has in it
    play: Play
    times: int = 1


@dataclass
class Seen:
    method: str
    path: str
    headers: dict[str, str]


@dataclass
class Colony:
    """What the server knows of one agent."""

    files: dict[str, str] = field(default_factory=dict)
    provisioned: bool = False
    karma: int = 10
    tokens: set[str] = field(default_factory=set)
    issued: int = 0
    changes: int = 0
    changes_per_hour: int | None = None
    page: int | None = None
    paged_by: str = "cursor"
    faults: list[Fault] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    before_put: Callable[[str], None] = lambda name: None
    url: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def used(self) -> int:
        return sum(len(text.encode()) for text in self.files.values())

    def fail(self, method: str, path: str, play: Play, times: int = 1) -> None:
        self.faults.append(Fault(method, path, play, times))

    def asked(self, method: str) -> list[Seen]:
        return [one for one in self.seen if one.method == method]

    def due(self, method: str, path: str) -> Play | None:
        for fault in self.faults:
            if fault.times and fault.method == method and fault.path in path:
                fault.times -= 1
                return fault.play
        return None


def status(code: int, **headers: str) -> Play:
    def play(request: Handler) -> bool:
        _reply(request, code, {"detail": {"message": "no", "code": "MADE_UP"}}, headers)
        return False

    return play


def broken_json(request: Handler) -> bool:
    _send(request, 200, b'{"items": [', {})
    return False


def hang_up(request: Handler) -> bool:
    request.close_connection = True
    return False


def cut_off(request: Handler) -> bool:
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b'{"content": "')
    request.close_connection = True
    return False


def endless(request: Handler) -> bool:
    """More bytes than any file has, for as long as somebody reads them."""
    request.send_response(200)
    request.end_headers()
    request.close_connection = True
    try:
        while True:
            request.wfile.write(b" " * 1_000_000)
    except OSError:
        return False


def slow_until(event: threading.Event) -> Play:
    def play(request: Handler) -> bool:
        event.wait(WAIT_SECONDS)
        request.close_connection = True
        return False

    return play


def redirect(to: str) -> Play:
    return status(307, Location=to)


def _reply(request: Handler, code: int, body: object, headers: dict[str, str] | None = None) -> None:
    _send(request, code, b"" if body is None else json.dumps(body).encode(), headers or {})


def _send(request: Handler, code: int, content: bytes, headers: dict[str, str]) -> None:
    request.send_response(code)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)


def _error(request: Handler, code: int, name: str, headers: dict[str, str] | None = None) -> None:
    _reply(request, code, {"detail": {"message": name.lower(), "code": name}}, headers)


def etag(text: str) -> str:
    return f'"{hashlib.sha256(text.encode()).hexdigest()}"'


def _info(name: str, text: str) -> dict[str, Any]:
    return {"filename": name, "content_size": len(text.encode()), "created_at": TIME, "updated_at": TIME}


class Request(BaseHTTPRequestHandler):
    """One request to the vault API."""

    protocol_version = "HTTP/1.1"

    @property
    def colony(self) -> Colony:
        return self.server.colony  # type: ignore[attr-defined]

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""

    def _any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        path = self.path.removeprefix("/api/v1")
        if self.command != "POST":
            self.colony.seen.append(Seen(self.command, path, {k.lower(): v for k, v in self.headers.items()}))
        play = self.colony.due(self.command, path)
        if play is not None:
            if not play(self):
                return
            self.wfile = _Nowhere()  # type: ignore[assignment]
        with self.colony.lock:
            self._answer(path)

    do_GET = do_PUT = do_DELETE = do_POST = _any

    def _answer(self, path: str) -> None:
        split = urlsplit(path)
        if split.path == "/auth/token":
            return self._token()
        if self.headers.get("Authorization", "").removeprefix("Bearer ") not in self.colony.tokens:
            return _error(self, 401, "AUTH_INVALID_TOKEN")
        if split.path == "/vault/status":
            return self._status()
        if split.path == "/vault/files":
            return self._list({name: values[0] for name, values in parse_qs(split.query).items()})
        return {"GET": self._get, "PUT": self._put, "DELETE": self._delete}[self.command](
            unquote(split.path.removeprefix("/vault/files/"))
        )

    def _token(self) -> None:
        if json.loads(self.body).get("api_key") != KEY:
            return _error(self, 401, "AUTH_INVALID_KEY")
        self.colony.issued += 1
        token = f"jwt-{self.colony.issued}"
        self.colony.tokens.add(token)
        return _reply(self, 200, {"access_token": token, "token_type": "bearer"})

    def _status(self) -> None:
        quota = QUOTA if self.colony.provisioned else 0
        _reply(
            self,
            200,
            {
                "quota_bytes": quota,
                "used_bytes": self.colony.used,
                "available_bytes": max(quota - self.colony.used, 0),
                "file_count": len(self.colony.files),
            },
        )

    def _list(self, asked: dict[str, str]) -> None:
        names = [name for name in sorted(self.colony.files) if name.startswith(asked.get("prefix", ""))]
        start = int(asked.get(self.colony.paged_by, 0))
        end = len(names) if self.colony.page is None else start + self.colony.page
        more = end < len(names)
        items = [_info(name, self.colony.files[name]) for name in names[start:end]]
        answer = {"items": items, "total": len(names), "has_more": more}
        if self.colony.paged_by == "cursor":
            answer["next_cursor"] = str(end) if more else None
        _reply(self, 200, answer)

    def _get(self, name: str) -> None:
        if name not in self.colony.files:
            return _error(self, 404, "NOT_FOUND")
        text = self.colony.files[name]
        return _reply(self, 200, {**_info(name, text), "content": text, "etag": etag(text)}, {"ETag": etag(text)})

    def _limited(self) -> bool:
        self.colony.changes += 1
        if self.colony.changes_per_hour is None or self.colony.changes <= self.colony.changes_per_hour:
            return False
        _error(self, 429, "RATE_LIMITED", {"Retry-After": "1800"})
        return True

    def _put(self, name: str) -> None:
        self.colony.before_put(name)
        text = json.loads(self.body)["content"]
        if self._limited():
            return None
        if refusal := self._refusal(name, text):
            return _error(self, *refusal)
        self.colony.provisioned = True
        self.colony.files[name] = text
        return _reply(self, 200, _info(name, text), {"ETag": etag(text)})

    def _refusal(self, name: str, text: str) -> tuple[int, str] | None:
        there = self.colony.files.get(name)
        if self.headers.get("If-None-Match") == "*" and there is not None:
            return 412, "PRECONDITION_FAILED"
        match = self.headers.get("If-Match")
        if match is not None and (there is None or match != etag(there)):
            return 412, "PRECONDITION_FAILED"
        if self.colony.karma < 10:
            return 403, "KARMA_TOO_LOW"
        if not name.endswith(ALLOWED):
            return 400, "INVALID_INPUT"
        rest = self.colony.used - len((there or "").encode())
        if len(text.encode()) > MOST_FILE or rest + len(text.encode()) > QUOTA:
            return 400, "QUOTA_EXCEEDED"
        return None

    def _delete(self, name: str) -> None:
        if self._limited():
            return None
        if self.colony.files.pop(name, None) is None:
            return _error(self, 404, "NOT_FOUND")
        return _reply(self, 204, None)


class _Nowhere:
    """Takes an answer that never arrives."""

    def write(self, data: bytes) -> int:
        return len(data)

    def flush(self) -> None:
        """Nothing waits."""

    closed = False

    def close(self) -> None:
        """Nothing is open."""


def done_but_unanswered(request: Handler) -> bool:
    """The change is made, and the connection breaks before the answer."""
    request.close_connection = True
    return True


@contextmanager
def running(colony: Colony) -> Iterator[Colony]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Request)
    server.colony = colony  # type: ignore[attr-defined]
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    colony.url = f"http://127.0.0.1:{server.server_port}/api/v1"
    try:
        yield colony
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
