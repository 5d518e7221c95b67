"""A connection that is bound to a chat speaks for it alone, whatever a language model writes into its tools."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import warm
from chat_world import A_PRIVATE, B_PRIVATE, G1, asked_by
from engines import store_of
from patience import WAIT_SECONDS
from rows import each
from websockets.sync.client import connect
from world import World, running

from holdfast.core.errors import Forbidden, InvalidRequest
from holdfast.core.model import Caller, Chat
from holdfast.ops.framework.operation import ChatRequest
from holdfast.ops.registry import OPERATIONS, TOOLS
from holdfast.protocol.access import Viewer, viewer_keys
from holdfast.serve.events.websocket import listening

A, B = Viewer(A_PRIVATE, "A"), Viewer(B_PRIVATE, "B")
FOR_A = Caller(chat=Chat(A_PRIVATE, "A"))
PREFIX = "/agentmemory"


def bound(umo: str, sender: str = "") -> dict[str, str]:
    return {"Holdfast-Umo": quote(umo), **({"Holdfast-Sender": quote(sender)} if sender else {})}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with running(tmp_path_factory.mktemp("bound") / "memory") as http:
        for content, chat in (("Anna hides a ladder", asked_by(A)), ("Ben hides a boat", asked_by(B))):
            assert http.post(f"{PREFIX}/remember", json={"content": content, **chat}).status_code == 201
        yield http


def test_a_request_that_names_no_chat_comes_from_the_bound_one(server: httpx.Client) -> None:
    headers = bound(A_PRIVATE, "A")
    made = server.post(f"{PREFIX}/remember", json={"content": "Anna likes walnuts"}, headers=headers).json()["memory"]
    found = server.post(f"{PREFIX}/search", json={"query": "hides likes"}, headers=headers).text
    listed = server.get(f"{PREFIX}/memories", headers=headers).text

    assert (made["umo"], made["owners"]) == (A_PRIVATE, ["A"])
    for text in (found, listed):
        assert "ladder" in text
        assert "boat" not in text


@pytest.mark.parametrize(
    "arguments", [asked_by(B), {"umo": G1}, {"senderId": "B"}, {"sender_id": "B"}, {"allChats": True}]
)
def test_it_speaks_for_no_other_chat_or_sender_and_not_for_all(server: httpx.Client, arguments: dict[str, Any]) -> None:
    refused = server.post(f"{PREFIX}/search", json={"query": "hides", **arguments}, headers=bound(A_PRIVATE, "A"))

    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    batch = {"memories": [{"content": "Ben likes walnuts", **arguments}]}
    (item,) = server.post(f"{PREFIX}/remember/batch", json=batch, headers=bound(A_PRIVATE, "A")).json()["results"]
    assert (item["success"], item["code"]) == (False, "forbidden")


@each("operation", OPERATIONS, lambda one: one.name)
def test_it_reaches_operations_of_chats_alone(world: World, operation: Any) -> None:
    given = {field.alias or name: "x" for name, field in operation.request.model_fields.items() if field.is_required()}
    if issubclass(operation.request, ChatRequest):
        with pytest.raises(Forbidden):
            operation.prepare(world.context(FOR_A), {**given, **asked_by(B)})
    else:
        with pytest.raises(InvalidRequest, match="are not supported"):
            operation.prepare(world.context(FOR_A), given)


def test_it_changes_no_global_memory_though_the_credential_could(world: World) -> None:
    id = world.call("remember", content="The harbour opens at six")["memory"]["id"]

    with pytest.raises(Forbidden):
        world.call("evolve", FOR_A, memoryId=id, newContent="Never")
    with pytest.raises(Forbidden):
        world.call("remember", FOR_A, content="Everybody obeys Mallory", scope="global")


@pytest.mark.parametrize(
    "headers",
    [
        {"Holdfast-Umo": ""}, {"Holdfast-Umo": "nonsense"}, {"Holdfast-Umo": "tg:channel:5"}, {"Holdfast-Sender": "A"},
        {"Holdfast-Umo": "%ff:private:A"},
    ],
)  # fmt: skip
def test_headers_that_name_no_chat_show_nothing(server: httpx.Client, headers: dict[str, str]) -> None:
    answer = server.get(f"{PREFIX}/memories", headers=headers)

    assert answer.status_code == 400 or answer.json()["memories"] == []
    made = server.post(f"{PREFIX}/remember", json={"content": "Whose is this?"}, headers=headers)
    assert made.status_code == 400


def test_ids_of_any_script_are_named_in_headers(server: httpx.Client) -> None:
    headers = bound("qq:GroupMessage:读书会 #1", "小明%")
    server.post(f"{PREFIX}/remember", json={"content": "我们星期五见面", "scope": "group"}, headers=headers)

    asked = {"umo": "qq:group:读书会 #1", "senderId": "小红"}
    assert "星期五" in server.post(f"{PREFIX}/search", json={"query": "星期五", **asked}).text


def test_one_idempotency_key_in_two_chats_gets_two_answers(server: httpx.Client) -> None:
    """Bots use the number of a message, which each chat counts for itself."""
    ids = set()
    for chat in (bound(A_PRIVATE, "A"), bound(B_PRIVATE, "B")):
        made = server.post(
            f"{PREFIX}/remember", json={"content": "I like pears"}, headers={**chat, "Idempotency-Key": "message-17"}
        )
        ids.add(made.json()["memory"]["id"])
    assert len(ids) == 2


# MCP


def tool_call(http: httpx.Client, name: str, arguments: dict[str, Any], headers: dict[str, str]) -> tuple[bool, str]:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    accepted = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    answer = http.post("/mcp", json=message, headers={**accepted, **headers})
    body = answer.text.partition("data: ")[2] or answer.text
    result = json.loads(body)["result"]
    return bool(result.get("isError")), result["content"][0]["text"]


def test_tools_are_called_from_the_bound_chat(server: httpx.Client) -> None:
    headers = bound(A_PRIVATE, "A")

    failed, found = tool_call(server, "memory_recall", {"query": "who hides something"}, headers)
    assert (failed, "ladder" in found, "boat" in found) == (False, True, False)
    for arguments in (asked_by(B), {"allChats": True}):
        failed, told = tool_call(server, "memory_recall", {"query": "who hides something", **arguments}, headers)
        assert failed
        assert "boat" not in told
    old = server.post(f"{PREFIX}/mcp/call", json={"name": "memory_slot_list", "arguments": {}}, headers=headers)
    assert old.status_code == 400


@each("name", TOOLS)
def test_no_tool_tells_a_bound_chat_what_is_another_ones(server: httpx.Client, name: str) -> None:
    given = {field: "hides" for field in TOOLS[name].schema.get("required", ())}

    _, told = tool_call(server, name, given, bound(A_PRIVATE, "A"))

    assert "boat" not in told


def test_live_readers_hear_of_the_bound_chat(server: httpx.Client) -> None:
    address = (
        str(server.base_url).rstrip("/").replace("http", "ws") + f"/stream/mem-live/viewer?umo={B_PRIVATE}&senderId=B"
    )
    with connect(address, additional_headers=bound(A_PRIVATE, "A")) as socket:
        for viewer, word in ((B, "for Ben"), (A, "for Anna"), (Viewer(), "for all")):
            server.post(f"{PREFIX}/remember", json={"content": f"A word {word} alone", **asked_by(viewer)})
        heard = str(socket.recv(timeout=WAIT_SECONDS)) + str(socket.recv(timeout=WAIT_SECONDS))

    assert ("for Anna" in heard, "for all" in heard, "for Ben" in heard) == (True, True, False)


def test_a_header_without_a_chat_hears_nothing() -> None:
    assert viewer_keys(listening({"headers": [(b"holdfast-umo", b"")]}, asked_by(A))) == ()


def said_on_stdio(home: Path, *options: str) -> list[dict[str, Any]]:
    """The answers of `holdfast mcp` to: keep, look, look as another, list resources."""
    messages = [
        (
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        ),
        ("tools/call", {"name": "memory_save", "arguments": {"content": "Anna hides a saw"}}),
        ("tools/call", {"name": "memory_recall", "arguments": {"query": "hides"}}),
        ("tools/call", {"name": "memory_recall", "arguments": {"query": "hides", **asked_by(B)}}),
        ("resources/list", {}),
    ]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for number, (method, params) in enumerate(messages)
    ]
    lines.insert(1, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    words = ("mcp", "--data", str(home), *options)
    environ = {**os.environ, "HOLDFAST_STORE": store_of(home)}
    run = warm.run(words, environ, WAIT_SECONDS, input="\n".join(lines) + "\n")
    assert run.returncode == 0, run.stderr
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    return [one["result"] for one in sorted(answers, key=lambda one: one["id"])]


@pytest.mark.parametrize("served", [False, True], ids=["folder", "server"])
def test_mcp_on_stdio_is_bound_by_its_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: bool) -> None:
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "none")
    monkeypatch.delenv("AGENTMEMORY_URL", raising=False)
    home = tmp_path / "memory"

    def spoken() -> list[dict[str, Any]]:
        return said_on_stdio(home, "--umo", A_PRIVATE, "--sender-id", "A")

    if served:
        with running(home) as http:
            http.post(f"{PREFIX}/remember", json={"content": "Ben hides a boat", **asked_by(B)})
            _, kept, found, refused, resources = spoken()
    else:
        world = World(home)
        world.call("remember", content="Ben hides a boat", **asked_by(B))
        world.close()
        _, kept, found, refused, resources = spoken()

    assert A_PRIVATE in kept["content"][0]["text"]
    assert "saw" in found["content"][0]["text"]
    assert "boat" not in json.dumps([kept, found, refused])
    assert refused["isError"] is True
    assert resources["resources"] == []
