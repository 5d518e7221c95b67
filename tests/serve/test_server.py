"""The running server: statuses, idempotency, tokens, the live socket, the old MCP paths."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from patience import WAIT_SECONDS
from websockets.sync.client import connect
from world import running

pytestmark = pytest.mark.quick

A = "/agentmemory"


def post(client: httpx.Client, path: str, body: Any = None, **headers: str) -> httpx.Response:
    return client.post(A + path, json={} if body is None else body, headers=headers)


def test_a_memory_survives_a_restart(tmp_path: Path) -> None:
    with running(tmp_path / "m") as client:
        made = post(client, "/remember", {"content": "the build runs in nine minutes"})
        assert made.status_code == 201
    with running(tmp_path / "m") as client:
        found = post(client, "/search", {"query": "build minutes"}).json()["results"]
        assert [one["id"] for one in found] == [made.json()["memory"]["id"]]
        assert found[0]["kind"] == "memory"
        assert found[0]["observation"]["content"] == "the build runs in nine minutes"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "/remember", b"{", 400, "invalid"),
        ("POST", "/remember", b"[]", 400, "invalid"),
        ("POST", "/remember", b'{"content": 5}', 400, "invalid"),
        ("POST", "/remember", b'{"content": "a", "content": "b"}', 400, "invalid"),
        ("POST", "/remember", b'{"content": "\\ud800"}', 400, "invalid"),
        ("POST", "/remember", b'{"content": "a\\u0000b"}', 400, "invalid"),
        ("POST", "/remember", b'{"content": "a", "ttlDays": NaN}', 400, "invalid"),
        ("POST", "/remember", b'{"content": "a", "ttlDays": 1e999}', 400, "invalid"),
        ("POST", "/remember", b'{"content": "a", "importance": 99999999999999999999}', 400, "invalid"),
        ("POST", "/search", b'{"query": "a", "limit": 0}', 400, "invalid"),
        ("POST", "/search", b'{"query": "a", "limit": 101}', 400, "invalid"),
        ("POST", "/observe", b'{"sessionId": "s"}', 400, "invalid"),
        ("GET", "/observations", b"", 400, "invalid"),
        ("GET", "/memories/mem_nobody", b"", 404, "not_found"),
        ("GET", "/slot?label=nothing", b"", 404, "not_found"),
        ("GET", "/no/such/path", b"", 404, "not_found"),
        ("GET", "/remember", b"", 405, "method_not_allowed"),
        ("PATCH", "/actions/act_nobody", b'{"status": "done"}', 404, "not_found"),
        ("POST", "/lessons", b"{}", 400, "invalid"),
        ("POST", "/consolidate", b'{"minObservations": null}', 400, "invalid"),
    ],
)
def test_bad_requests_get_an_honest_answer(
    shared_server: httpx.Client, method: str, path: str, body: bytes, status: int, code: str
) -> None:
    answer = shared_server.request(method, A + path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert answer.json()["code"] == code
    assert answer.json()["error"]
    assert answer.json()["hint"]


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running(tmp_path_factory.mktemp("server") / "m") as client:
        yield client


def test_an_empty_body_is_fine_where_nothing_is_needed(shared_server: httpx.Client) -> None:
    headers = {"Content-Type": "application/json"}
    assert shared_server.post(A + "/claude-bridge/sync", headers=headers).status_code == 200
    assert shared_server.post(A + "/consolidate", content=b"{}", headers=headers).status_code == 200


def test_an_idempotency_key_gives_the_first_answer_again(shared_server: httpx.Client) -> None:
    key = {"Idempotency-Key": "k-1"}
    post(shared_server, "/slot", {"label": "keyed", "content": "a"})
    first = post(shared_server, "/slot/append", {"label": "keyed", "text": "b"}, **key)
    again = post(shared_server, "/slot/append", {"label": "keyed", "text": "b"}, **key)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert shared_server.get(A + "/slot?label=keyed").json()["slot"]["content"] == "a\nb"
    other = post(shared_server, "/slot/append", {"label": "keyed", "text": "c"}, **key)
    assert (other.status_code, other.json()["code"]) == (409, "conflict")


def test_a_failed_request_does_not_use_up_its_key(shared_server: httpx.Client) -> None:
    key = {"Idempotency-Key": "k-2"}
    assert post(shared_server, "/slot/append", {"label": "later", "text": "b"}, **key).status_code == 404
    post(shared_server, "/slot", {"label": "later", "content": "a"})
    assert post(shared_server, "/slot/append", {"label": "later", "text": "b"}, **key).status_code == 200


def test_parallel_requests_with_one_key_do_the_work_once(shared_server: httpx.Client) -> None:
    post(shared_server, "/slot", {"label": "raced", "content": "a"})
    statuses: list[int] = []

    def append() -> None:
        statuses.append(
            post(
                shared_server, "/slot/append", {"label": "raced", "text": "b"}, **{"Idempotency-Key": "k-3"}
            ).status_code
        )

    threads = [threading.Thread(target=append) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {200, 409}
    assert shared_server.get(A + "/slot?label=raced").json()["slot"]["content"] == "a\nb"


def test_lessons_say_created_or_changed(shared_server: httpx.Client) -> None:
    assert post(shared_server, "/lessons", {"content": "look twice"}).status_code == 201
    assert post(shared_server, "/lessons", {"content": "look twice"}).status_code == 200


def test_memories_can_be_counted_without_being_listed(shared_server: httpx.Client) -> None:
    post(shared_server, "/remember", {"content": "counted once and for all"})
    answer = shared_server.get(A + "/memories?count=true").json()
    assert answer["memories"] == []
    assert answer["total"] >= 1


def test_the_old_way_of_calling_tools_works(shared_server: httpx.Client) -> None:
    tools = shared_server.get(A + "/mcp/tools").json()["tools"]
    assert {"memory_recall", "memory_slot_list"} <= {one["name"] for one in tools}
    for path in ("/mcp/call", "/mcp/tools"):
        answer = post(shared_server, path, {"name": "memory_slot_list", "arguments": {}})
        assert json.loads(answer.json()["content"][0]["text"])["success"] is True
    bad = post(shared_server, "/mcp/call", {"name": "memory_slot_get", "arguments": {"label": "nothing"}})
    assert (bad.status_code, bad.json()["isError"]) == (404, True)
    assert post(shared_server, "/mcp/call", {"name": "no_such_tool", "arguments": {}}).status_code == 400


def test_every_write_reaches_the_live_socket(tmp_path: Path) -> None:
    with running(tmp_path / "m") as client:
        url = str(client.base_url).replace("http", "ws") + "/stream/mem-live/viewer"
        with connect(url) as socket:
            event = {"sessionId": "s", "hookType": "prompt_submit", "timestamp": "2026-01-01T00:00:00Z"}
            post(client, "/observe", {**event, "data": {"prompt": "hello"}, "project": "p", "cwd": "/"})
            post(client, "/remember", {"content": "frames are sent after the commit"})
            post(client, "/lessons", {"content": "look at the frames"})
            post(client, "/slot/replace", {"label": "persona", "content": "calm"})
            frames = [json.loads(socket.recv(timeout=WAIT_SECONDS)) for _ in range(5)]
    kinds = ["raw_observation", "compressed_observation", "memory", "lesson", "slot"]
    assert [frame["type"] for frame in frames] == kinds
    assert frames[0]["data"]["type"] == "raw"
    assert frames[0]["data"]["observation"]["userPrompt"] == "hello"
    assert frames[1]["data"]["observation"]["title"]
    assert frames[0]["sessionId"] == frames[0]["data"]["sessionId"] == "s"
    assert frames[2]["data"]["memory"]["content"] == "frames are sent after the commit"


def test_with_a_secret_everything_but_livez_needs_it(tmp_path: Path) -> None:
    with running(tmp_path / "m", secret="a-long-enough-secret") as client:
        assert client.get(A + "/livez").status_code == 200
        for path in ("/health", "/memories", "/mcp/tools"):
            assert client.get(A + path).status_code == 401
        assert client.get("/openapi.json").status_code == 401
        assert client.post("/mcp", json={}).status_code == 401
        good = {"Authorization": "Bearer a-long-enough-secret"}
        assert client.get(A + "/health", headers=good).status_code == 200
        assert client.get(A + "/health", headers={"Authorization": "Bearer wrong"}).status_code == 401
        url = str(client.base_url).replace("http", "ws") + "/stream/mem-live/viewer"
        with pytest.raises(Exception, match="403"), connect(url):
            pass
        with connect(url + "?token=a-long-enough-secret"):
            pass


def test_a_token_reaches_its_tenant_and_scope_only(tmp_path: Path) -> None:
    with running(tmp_path / "m", secret="a-long-enough-secret") as client:
        root = {"Authorization": "Bearer a-long-enough-secret"}

        def token(**ask: Any) -> dict[str, str]:
            made = post(client, "/tokens", ask, **root)
            assert made.status_code == 201, made.text
            return {"Authorization": f"Bearer {made.json()['token']}"}

        post(client, "/remember", {"content": "known to the default tenant"}, **root)
        other = token(tenant="other")
        reader = token(scopes=["read"])
        assert post(client, "/search", {"query": "known tenant"}, **other).json()["results"] == []
        assert post(client, "/remember", {"content": "known to the other"}, **other).status_code == 201
        assert len(post(client, "/search", {"query": "known"}, **reader).json()["results"]) == 1
        refused = post(client, "/remember", {"content": "x"}, **reader)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert post(client, "/tokens", {}, **other).status_code == 403
        assert post(client, "/verify", {}, **other).status_code == 403
        admin = token(tenant="other", scopes=["admin"])
        assert post(client, "/tokens", {"tenant": "default"}, **admin).status_code == 403
        listed = client.get(A + "/tokens", headers=admin).json()["tokens"]
        assert {one["tenant"] for one in listed} == {"other"}
        id = next(one["id"] for one in listed if "admin" not in one["scopes"])
        assert client.delete(f"{A}/tokens/{id}", headers=admin).status_code == 200
        assert post(client, "/search", {"query": "known"}, **other).status_code == 401


def test_a_second_server_on_the_folder_is_refused(tmp_path: Path) -> None:
    from holdfast.core.errors import DataLocked

    with running(tmp_path / "m"), pytest.raises(DataLocked, match="in use by process"), running(tmp_path / "m"):
        pass


def test_the_command_line_reaches_a_running_server(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    from holdfast.cli.main import main

    with running(tmp_path / "m", secret="a-long-enough-secret") as client:
        assert main(["remember", "written through the server", "--data", str(tmp_path / "m"), "--json"]) == 0
        made = json.loads(capsysbinary.readouterr().out)["memory"]["id"]
        found = post(client, "/search", {"query": "written server"}, Authorization="Bearer a-long-enough-secret")
        assert [one["id"] for one in found.json()["results"]] == [made]
    assert main(["memory", made, "--data", str(tmp_path / "m"), "--json"]) == 0
    assert json.loads(capsysbinary.readouterr().out)["memory"]["id"] == made
