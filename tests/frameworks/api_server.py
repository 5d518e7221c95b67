"""The APIs of OpenAI and Anthropic on loopback: what was asked is written down, and each answer is a set sentence."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = "Noted, with thanks."
WORDS = ["Noted, ", "with ", "thanks."]


class ApiServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def said(self) -> str:
        """Everything that the last request says."""
        return json.dumps(self.bodies[-1], ensure_ascii=False)


class _Handler(BaseHTTPRequestHandler):
    server: ApiServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        path = self.path.split("?")[0].removeprefix("/v1")
        number = len(self.server.bodies)
        if body.get("stream"):
            self._send("text/event-stream", "".join(_event(*one) for one in STREAMS[path](number)))
        else:
            self._send("application/json", json.dumps(WHOLE[path](number)))

    def _send(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Silence."""


def _event(name: str, data: Any) -> str:
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "") + f"data: {text}\n\n"


def _completion(number: int) -> dict[str, Any]:
    message = {"role": "assistant", "content": ANSWER}
    choice = {"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}
    return {"id": f"c{number}", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _completion_stream(number: int) -> Iterator[tuple[str, Any]]:
    about = {"id": f"c{number}", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    for word in WORDS:
        yield "", {**about, "choices": [{"index": 0, "delta": {"role": "assistant", "content": word}}]}
    yield "", {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    yield "", "[DONE]"


def _response(number: int) -> dict[str, Any]:
    text = {"type": "output_text", "text": ANSWER, "annotations": []}
    message = {"id": "o1", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    return {
        "id": f"resp_{number}", "object": "response", "created_at": 1, "status": "completed", "model": "m",
        "output": [message], "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip


def _response_stream(number: int) -> Iterator[tuple[str, Any]]:
    yield "response.created", {"type": "response.created", "sequence_number": 0, "response": _response(number)}
    for at, word in enumerate(WORDS):
        yield "response.output_text.delta", {
            "type": "response.output_text.delta", "sequence_number": at + 1, "item_id": "o1", "output_index": 0,
            "content_index": 0, "delta": word, "logprobs": [],
        }  # fmt: skip
    done = {"type": "response.completed", "sequence_number": 9, "response": _response(number)}
    yield "response.completed", done


def _message(number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": ANSWER}],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip


def _message_stream(number: int) -> Iterator[tuple[str, Any]]:
    yield "message_start", {"type": "message_start", "message": {**_message(number), "content": []}}
    block = {"type": "text", "text": ""}
    yield "content_block_start", {"type": "content_block_start", "index": 0, "content_block": block}
    for word in WORDS:
        delta = {"type": "text_delta", "text": word}
        yield "content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta}
    yield "content_block_stop", {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 3}}
    yield "message_stop", {"type": "message_stop"}


WHOLE = {"/chat/completions": _completion, "/responses": _response, "/messages": _message}
STREAMS = {"/chat/completions": _completion_stream, "/responses": _response_stream, "/messages": _message_stream}


@contextmanager
def api_server() -> Iterator[ApiServer]:
    server = ApiServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
