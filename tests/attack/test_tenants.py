"""A tenant's token against the machine and the other tenants of one running server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from patience import WAIT_SECONDS
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from world import running

from holdfast.ops.framework import fields

SECRET = "a-secret-of-the-operator"
PREFIX = "/agentmemory"


class Server:
    def __init__(self, http: httpx.Client):
        self.http = http

    def token(self, **details: Any) -> dict[str, Any]:
        answer = self.http.post(f"{PREFIX}/tokens", json=details, headers=_bearer(SECRET))
        assert answer.status_code == 201
        made: dict[str, Any] = answer.json()
        return made

    def post(self, path: str, token: str, **body: Any) -> httpx.Response:
        return self.http.post(PREFIX + path, json=body, headers=_bearer(token))


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    roots = tmp_path / "operators-transcripts"
    roots.mkdir()
    line = {
        "type": "user",
        "sessionId": "sess",
        "uuid": "u1",
        "timestamp": "2026-01-01T00:00:00Z",
        "cwd": "/home/operator",
        "message": {"role": "user", "content": "OPERATORPRIVATE please fix the payroll"},
    }
    (roots / "sess.jsonl").write_text(json.dumps(line) + "\n")
    with running(tmp_path / "memory", secret=SECRET, import_roots=str(roots)) as http:
        yield Server(http)


@pytest.mark.parametrize("path", ["/replay/import-jsonl", "/antigravity/sync-all"])
def test_a_tenants_token_cannot_read_the_operators_transcripts(server: Server, path: str) -> None:
    token = server.token(tenant="stranger", scopes=["write"])["token"]
    server.post(path, token, mode="all")
    exported = server.http.get(f"{PREFIX}/export", headers=_bearer(token)).text
    assert "OPERATORPRIVATE" not in exported


def test_a_revoked_token_hears_nothing_more_on_its_open_socket(server: Server) -> None:
    writer = server.token(tenant="a", scopes=["admin"])["token"]
    listener = server.token(tenant="a", scopes=["read"])
    address = str(server.http.base_url).replace("http", "ws", 1).rstrip("/")
    with connect(f"{address}/stream/mem-live/viewer?token={listener['token']}") as socket:
        server.post("/remember", writer, content="before the revocation")
        assert "before the revocation" in str(socket.recv(timeout=WAIT_SECONDS))
        server.http.delete(f"{PREFIX}/tokens/{listener['record']['id']}", headers=_bearer(writer))
        server.post("/remember", writer, content="AFTERREVOCATION is not for that token")
        with pytest.raises(ConnectionClosed):  # before it is sent anything more
            socket.recv(timeout=WAIT_SECONDS)


def test_scores_do_not_tell_what_another_tenant_remembers(server: Server) -> None:
    mine, other = (server.token(tenant=name, scopes=["write"])["token"] for name in "ab")
    for text in ("zebra stripes in my memory", "giraffes are tall", "lions sleep at noon", "owls hunt at night"):
        server.post("/remember", mine, content=text)
    before = server.post("/search", mine, query="zebra").json()["results"][0]["bm25Score"]
    for number in range(12):
        server.post("/remember", other, content=f"zebra number{number} lives in the herd of place{number}")
    assert server.post("/search", mine, query="zebra").json()["results"][0]["bm25Score"] == before


def test_one_slow_redaction_does_not_hold_up_the_writes_of_others(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, real = threading.Event(), threading.Event(), fields.redact_text

    def slow(text: str) -> Any:
        if "SLOWTEXT" in text:
            begun.set()
            go_on.wait(WAIT_SECONDS)
        return real(text)

    monkeypatch.setattr(fields, "redact_text", slow)
    one, other = (server.token(tenant=name, scopes=["write"])["token"] for name in "ab")
    hog = threading.Thread(target=server.post, args=("/remember", one), kwargs={"content": "SLOWTEXT to clean " * 200})
    hog.start()
    try:
        assert begun.wait(WAIT_SECONDS)
        answer = server.http.post(
            f"{PREFIX}/remember", json={"content": "a small fact"}, headers=_bearer(other), timeout=WAIT_SECONDS
        )
        assert answer.status_code == 201
    except httpx.TimeoutException:
        pytest.fail("a write of another tenant waited for the redaction of a stranger's text")
    finally:
        go_on.set()
        hog.join(WAIT_SECONDS)
