"""MCP over HTTP is loaded with the first request, whatever else comes at that time."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from patience import WAIT_SECONDS
from processes import environment
from world import running

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {"Accept": "application/json, text/event-stream"}
LOADED = "import sys, holdfast.serve.run; print(sorted({'mcp', 'mcp_types'} & set(sys.modules)))"


def test_a_server_starts_without_the_library_that_speaks_mcp() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], env=environment(), capture_output=True, text=True, timeout=WAIT_SECONDS
    )

    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_first_requests_that_come_together_are_all_answered(tmp_path: Path) -> None:
    with running(tmp_path / "m") as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post("/mcp", json=LIST, headers=HEADERS), range(8)))

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1


def test_a_library_that_cannot_be_loaded_fails_the_request_and_not_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Any) -> Any:
        raise ImportError("no module named mcp")

    monkeypatch.setattr("holdfast.serve.mcp.http.McpHttp._load", refuse)
    with running(tmp_path / "m") as client:
        assert client.post("/mcp", json=LIST, headers=HEADERS).status_code == 500
        assert client.post("/mcp", json=LIST, headers=HEADERS).status_code == 500
        assert client.get("/livez").status_code == 200


def test_a_server_that_was_never_asked_ends(tmp_path: Path) -> None:
    with running(tmp_path / "m") as client:
        assert isinstance(client, httpx.Client)
    assert not (tmp_path / "m" / "server.json").exists()
