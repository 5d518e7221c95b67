"""A local stand-in for the three model APIs: real sockets, strict about requests, with real answer shapes."""

from __future__ import annotations

import json
import threading
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any

from patience import WAIT_SECONDS

KEY = "sk-secret-0123456789abcdef"
INSTRUCTION = "Summarize the session in one line"
TEXT = "the user prefers tabs over spaces"
ANSWER = "Prefers tabs."


@dataclass(frozen=True)
class Seen:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Play = Callable[[BaseHTTPRequestHandler], None]


def reply(status: int, body: bytes | dict[str, Any] = b"", **headers: str) -> Play:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    def play(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    return play


def anthropic_reply(text: str = ANSWER, stop_reason: str = "end_turn") -> dict[str, Any]:
    return {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5-20251001",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": text}],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 20, "output_tokens": 5},
    }


def openai_reply(text: str | None = ANSWER, finish_reason: str | None = "stop", **message: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
        "object": "chat.completion",
        "created": 1741570283,
        "model": "gpt-5.6-luna",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None, **message},
                "logprobs": None,
                "finish_reason": finish_reason,
            }
        ],
        "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25},
    }


def gemini_reply(text: str = ANSWER, finish_reason: str = "STOP") -> dict[str, Any]:
    parts = [{"text": "hm", "thought": True}, {"text": text}]
    return {
        "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": finish_reason, "index": 0}],
        "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 5, "totalTokenCount": 25},
        "modelVersion": "gemini-3.5-flash-lite",
    }


def speak(seen: Seen) -> Play:
    """What the real API would do with this request: answer it, or refuse it."""
    if KEY in seen.path or seen.headers.get("content-type") != "application/json":
        return reply(400)
    if seen.path == "/v1/messages":
        return _anthropic(seen)
    if seen.path == "/v1/chat/completions":
        return _openai(seen)
    if seen.path.startswith("/v1beta/models/") and seen.path.endswith(":generateContent"):
        return _gemini(seen)
    if seen.path == "/v1/embeddings":
        return _openai_embeddings(seen)
    if seen.path.startswith("/v1beta/models/") and seen.path.endswith(":batchEmbedContents"):
        return _gemini_embeddings(seen)
    return reply(404)


def _anthropic(seen: Seen) -> Play:
    body = seen.body
    if seen.headers.get("x-api-key") != KEY:
        return reply(401, {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}})
    sound = seen.headers.get("anthropic-version") == "2023-06-01" and set(body) == {
        "model",
        "max_tokens",
        "system",
        "messages",
    }
    if not sound or body["messages"] != [{"role": "user", "content": TEXT}] or body["system"] != INSTRUCTION:
        return reply(400)
    return reply(200, anthropic_reply())


def _openai(seen: Seen) -> Play:
    body = seen.body
    if seen.headers.get("authorization", f"Bearer {KEY}") != f"Bearer {KEY}":
        return reply(401, {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error"}})
    said = [(message["role"], message["content"]) for message in body["messages"]]
    if said != [("system", INSTRUCTION), ("user", TEXT)] or not isinstance(body["model"], str):
        return reply(400)
    return reply(200, openai_reply())


def _gemini(seen: Seen) -> Play:
    body = seen.body
    if seen.headers.get("x-goog-api-key") != KEY:
        return reply(403, {"error": {"code": 403, "status": "PERMISSION_DENIED"}})
    sound = (
        body["systemInstruction"] == {"parts": [{"text": INSTRUCTION}]}
        and body["contents"] == [{"role": "user", "parts": [{"text": TEXT}]}]
        and isinstance(body["generationConfig"]["maxOutputTokens"], int)
    )
    return reply(200, gemini_reply()) if sound else reply(400)


def numbers_of(text: str, dims: int) -> list[float]:
    """A vector that says which text it is of; not of length 1, as shortened ones of Gemini are not."""
    seed = zlib.crc32(text.encode())
    return [((seed >> (place % 29)) % 17 - 8) / 4 + 0.1 for place in range(dims)]


def openai_vectors(texts: list[str], dims: int) -> dict[str, Any]:
    rows = [
        {"object": "embedding", "index": index, "embedding": numbers_of(text, dims)} for index, text in enumerate(texts)
    ]
    # The index says which text a row is of; its place need not.
    return {"object": "list", "data": rows[::-1], "model": "m", "usage": {"prompt_tokens": 8, "total_tokens": 8}}


def _openai_embeddings(seen: Seen) -> Play:
    body = seen.body
    if seen.headers.get("authorization", f"Bearer {KEY}") != f"Bearer {KEY}":
        return reply(401, {"error": {"message": "Incorrect API key provided", "type": "invalid_request_error"}})
    small = body["model"] == "text-embedding-3-small"
    if "" in body["input"] or body["encoding_format"] != "float" or ("dimensions" in body) != small:
        return reply(400)
    return reply(200, openai_vectors(body["input"], body.get("dimensions", 768)))


def _gemini_embeddings(seen: Seen) -> Play:
    if seen.headers.get("x-goog-api-key") != KEY:
        return reply(403, {"error": {"code": 403, "status": "PERMISSION_DENIED"}})
    rows = []
    for one in seen.body["requests"]:
        text = one["content"]["parts"][0]["text"]
        sound = f"/v1beta/{one['model']}:batchEmbedContents" == seen.path and text
        if not sound or one["taskType"] not in {"RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"}:
            return reply(400)
        rows.append({"values": numbers_of(text, one["outputDimensionality"])})
    return reply(200, {"embeddings": rows}) if len(rows) <= 100 else reply(400)


@dataclass
class ModelServer:
    """Plays what `script` holds, request by request; then speaks the APIs."""

    script: deque[Play] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    let_go: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> ModelServer:
        self._http = _Server(("127.0.0.1", 0), _Request)
        self._http.model_server = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def hold(self, request: BaseHTTPRequestHandler) -> None:
        """A play that answers nothing until the test is over."""
        self.let_go.wait(WAIT_SECONDS)

    def drip_headers(self, request: BaseHTTPRequestHandler) -> None:
        """A play that sends a byte now and then, and never comes to the end of its headers."""
        request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not self.let_go.wait(0.02):
            request.wfile.write(b"a")

    def drip_body(self, request: BaseHTTPRequestHandler) -> None:
        """A play that sends its body a byte now and then."""
        request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not self.let_go.wait(0.02):
            request.wfile.write(b" ")


class _Server(ThreadingMixIn, HTTPServer):
    daemon_threads = False  # server_close() waits for every request, so none outlives its test
    model_server: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of many tests."""


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        seen = Seen(self.path, headers, json.loads(content))
        stage = self.server.model_server
        stage.seen.append(seen)
        play = stage.script.popleft() if stage.script else speak(seen)
        play(self)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests stay quiet."""
