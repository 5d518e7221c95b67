"""Every recorded request again, byte for byte: it succeeds, and the answer has what its client reads."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest
from patience import WAIT_SECONDS
from real_clients import Holdfast, Start
from recorded_calls import HOOK_RUNS, SHIM_RUNS

Number = (int, float)
HIT = {"obsId": str, "sessionId": (str, type(None)), "title": str, "type": str, "score": Number, "timestamp": str}
# What the clients read of each answer; a list stands for a list of such things that is not empty.
SHAPES: dict[tuple[str, str], Any] = {
    ("POST", "session/start"): {
        "session": {"id": str, "project": str, "cwd": str, "startedAt": str, "status": str, "observationCount": int},
        "context": str,
    },
    ("POST", "session/end"): {"success": bool},
    ("POST", "session/commit"): {"commit": {"sha": str, "shortSha": str, "sessionIds": [str], "files": [str]}},
    ("POST", "observe"): {"observationId": str},
    ("POST", "enrich"): {"context": str},
    ("POST", "context"): {"context": str, "blocks": int, "tokens": int},
    ("POST", "claude-bridge/sync"): {"success": bool},
    ("GET", "livez"): {"status": str, "service": str},
    ("GET", "mcp/tools"): {
        "tools": [{"name": str, "description": str, "inputSchema": {"type": str, "properties": dict}}]
    },
    ("POST", "mcp/call"): {"content": [{"type": str, "text": str}]},
    ("POST", "remember"): {
        "success": bool,
        "memory": {
            "id": str,
            "type": str,
            "title": str,
            "content": str,
            "concepts": list,
            "files": list,
            "isLatest": bool,
            "createdAt": str,
            "version": int,
        },
    },
    ("POST", "search"): {"format": str, "results": [HIT], "tokens_used": int, "truncated": bool},
    ("POST", "smart-search"): {"mode": str, "results": [HIT], "lessons": list},
    ("GET", "sessions"): {"sessions": [{"id": str, "project": str, "status": str, "observationCount": int}]},
    ("GET", "export"): {"version": str, "sessions": list, "memories": list, "observations": dict},
    ("GET", "audit"): {
        "success": bool,
        "entries": [{"id": str, "timestamp": str, "operation": str, "targetIds": list}],
    },
    ("DELETE", "governance/memories"): {"success": bool, "deleted": int, "total": int},
}


def missing(shape: Any, value: Any, where: str = "answer") -> list[str]:
    """What the value lacks of the shape."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{where} is not an object"]
        return [
            lack for name, inner in shape.items() for lack in missing(inner, value.get(name, ...), f"{where}.{name}")
        ]
    if isinstance(shape, list):
        if not isinstance(value, list) or not value:
            return [f"{where} is not a list with something in it"]
        return [lack for at, one in enumerate(value) for lack in missing(shape[0], one, f"{where}[{at}]")]
    return [] if isinstance(value, shape) else [f"{where} is {value!r}, not {shape}"]


def wire(request: dict[str, Any]) -> bytes:
    """The body as the JavaScript clients write it."""
    body = request["body"]
    return b"" if body is None else json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()


def send(server: Holdfast, request: dict[str, Any]) -> tuple[int, bytes]:
    """The recorded bytes, and nothing that an HTTP library would add to them."""
    address = urlsplit(server.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=WAIT_SECONDS)
    try:
        connection.putrequest(request["method"], request["path"], skip_host=True, skip_accept_encoding=True)
        connection.putheader("host", address.netloc)
        for name, value in request["headers"].items():
            connection.putheader(name, value)
        if request["method"] != "GET":
            connection.putheader("content-length", str(len(wire(request))))
        connection.endheaders(wire(request) or None)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def replay(server: Holdfast, requests: list[dict[str, Any]]) -> list[str]:
    """What was wrong with the answers."""
    wrong = []
    for request in requests:
        status, reply = send(server, request)
        said = f"{request['method']} {request['path']} -> {status}"
        if not 200 <= status < 300:
            wrong.append(f"{said} {reply.decode()}")
            continue
        path = urlsplit(request["path"]).path.removeprefix("/agentmemory/")
        wrong += [f"{said}: {lack}" for lack in missing(SHAPES[request["method"], path], json.loads(reply))]
    return wrong


@pytest.mark.parametrize("name", [name for name, run in HOOK_RUNS.items() if run.requests])
def test_the_requests_of_a_hook_get_what_the_hook_needs(start: Start, name: str) -> None:
    run = HOOK_RUNS[name]
    assert replay(start(secret=run.secret), list(run.requests)) == []


def requests_of(name: str) -> list[dict[str, Any]]:
    """What the shim sent in that run, but for the call of a tool that only the recorded server had."""
    sent = [request for step in SHIM_RUNS[name]["steps"] for request in step["requests"]]
    return [request for request in sent if (request["body"] or {}).get("name") != "memory_custom_tool"]


@pytest.mark.parametrize("name", SHIM_RUNS)
def test_the_requests_of_the_shim_get_what_the_shim_needs(start: Start, name: str) -> None:
    server = start(secret=SHIM_RUNS[name]["env"].get("AGENTMEMORY_SECRET"))
    server.post("/agent/observe", sessionId="s", project="proj", text="The auth header is checked twice")
    assert len(requests_of(name)) >= 2
    assert replay(server, requests_of(name)) == []


def test_every_path_that_was_recorded_has_its_shape() -> None:
    hooks = [request for run in HOOK_RUNS.values() for request in run.requests]
    shim = [request for name in SHIM_RUNS for request in requests_of(name)]
    recorded = {(one["method"], urlsplit(one["path"]).path.removeprefix("/agentmemory/")) for one in hooks + shim}
    assert recorded == set(SHAPES)


@pytest.mark.parametrize("path", ["search", "smart-search"])
def test_a_hit_tells_its_story_where_the_clients_look_for_it(server: Holdfast, path: str) -> None:
    """pi and Hermes show `observation`, or the hit itself without one: its title, type and `narrative`."""
    server.post(
        "/remember", content="Tokens are signed with jose. It runs on Edge, jsonwebtoken does not.", title="Signing"
    )
    server.post("/agent/observe", sessionId="s", project="proj", text="Signing fails when the key is rotated")
    results = server.post(f"/{path}", query="signing", limit=5)["results"]
    shown = [one.get("observation", one) for one in results]
    stories = {one["kind"]: seen.get("narrative", "") for one, seen in zip(results, shown, strict=True)}
    assert set(stories) == {"memory", "observation"}
    assert "runs on Edge" in stories["memory"]
    assert "key is rotated" in stories["observation"]
    assert [missing({"title": str, "type": str, "timestamp": str}, one) for one in shown] == [[], []]


def test_an_unknown_tool_is_refused(server: Holdfast) -> None:
    (request,) = [
        request
        for step in SHIM_RUNS["shim"]["steps"]
        for request in step["requests"]
        if (request["body"] or {}).get("name") == "memory_custom_tool"
    ]
    status, reply = send(server, request)
    assert status == 400
    assert isinstance(json.loads(reply)["error"], str)


def test_what_a_hook_sent_is_kept_even_if_it_hangs_up_before_the_answer(server: Holdfast) -> None:
    (request,) = HOOK_RUNS["post-tool-use"].requests
    address = urlsplit(server.url)
    headers = {"host": address.netloc, **request["headers"], "content-length": str(len(wire(request)))}
    head = [f"{request['method']} {request['path']} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    with socket.create_connection((address.hostname, address.port)) as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode() + wire(request))
    tries = (server.observations("sess-abc") for _ in range(2_000))
    (kept,) = next((found for found in tries if found), [None])
    assert kept is not None, "the observation never arrived"
    assert kept["hookType"] == "post_tool_use"
