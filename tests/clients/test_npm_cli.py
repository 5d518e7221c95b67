"""The real `agentmemory` command against a running Holdfast: what it can do without an engine of its own.

`doctor` is run with --dry-run: without it, it asks questions on a terminal or downloads an engine.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from real_clients import CLI, Holdfast, Start, files_in, run_node

Command = Callable[..., subprocess.CompletedProcess[str]]
SECRETS = pytest.mark.parametrize("secret", [None, "s3cret-of-both"], ids=["open", "secret"])


@pytest.fixture
def transcripts(tmp_path: Path) -> Path:
    """A folder as Claude Code leaves it: one session of a question and a tool call with its result."""
    folder = tmp_path / "projects" / "shop"
    folder.mkdir(parents=True)
    common = {"sessionId": "cc-1", "cwd": "/work/shop"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "npm test"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "12 passed"}
    lines = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Rename the invoices table"}},
        {"type": "assistant", "uuid": "u2", "message": {"role": "assistant", "content": [call]}},
        {"type": "user", "uuid": "u3", "message": {"role": "user", "content": [result]}},
    ]
    dated = [{**common, **line, "timestamp": f"2026-11-01T10:00:0{at}.000Z"} for at, line in enumerate(lines)]
    (folder / "cc-1.jsonl").write_text("\n".join(map(json.dumps, dated)) + "\n", encoding="utf-8")
    return tmp_path / "projects"


@pytest.fixture
def agentmemory(home: Path) -> Command:
    """Run the command for a server; it must leave nothing behind in its home."""

    def run(server: Holdfast, *arguments: str, secret: str | None = None) -> subprocess.CompletedProcess[str]:
        extra = {"AGENTMEMORY_SECRET": secret} if secret else {}
        done = run_node(CLI, *arguments, home=home, url=server.url, env=extra)
        assert files_in(home) == []
        return done

    return run


def field(name: str, output: str) -> str:
    """The value that stands behind a name in one of the command's boxes."""
    found = re.search(rf"^│\s+{name}:\s+(.*?)\s*│$", output, re.MULTILINE)
    assert found, f"{name} is not in {output}"
    return found[1]


@SECRETS
def test_status_shows_how_the_server_is_and_what_it_holds(
    start: Start, agentmemory: Command, secret: str | None
) -> None:
    server = start(secret=secret)
    server.post("/agent/observe", sessionId="s1", project="shop", text="The login test fails on Edge")
    server.post("/agent/observe", sessionId="s2", project="shop", text="It passes on Firefox")
    server.post("/agent/observe", sessionId="s2", project="shop", text="The cookie was too long")
    server.post("/remember", content="Deploys happen on Tuesdays")
    done = agentmemory(server, "status", secret=secret)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Connected — v{server.get('/health')['version']} at {server.url}" in done.stdout
    shown = {name: field(name, done.stdout) for name in ("Health", "Sessions", "Observations", "Memories", "Provider")}
    assert shown == {
        "Health": "✓ healthy",
        "Sessions": "2",
        "Observations": "3",
        "Memories": "1",
        "Provider": "✗ noop (no key)",
    }
    for flag in server.get("/config/flags")["flags"]:
        mark = "✓" if flag["enabled"] else "✗"
        assert re.search(rf"{mark} {flag['key']}\s+{flag['label']}", done.stdout)


def test_status_names_the_address_at_which_the_viewer_is(server: Holdfast, agentmemory: Command) -> None:
    assert field("Viewer", agentmemory(server, "status").stdout) == server.url


@SECRETS
def test_doctor_finds_the_server_well_and_its_viewer_reachable(
    start: Start, agentmemory: Command, secret: str | None
) -> None:
    done = agentmemory(start(secret=secret), "doctor", "--dry-run", secret=secret)
    assert (done.returncode, done.stderr) == (0, "")
    assert "✓ Server reachable" in done.stdout
    assert "✓ Health status" in done.stdout
    assert "[viewer-unreachable]" not in done.stdout


def test_the_demo_seeds_its_sessions_and_finds_them_again(server: Holdfast, agentmemory: Command) -> None:
    done = agentmemory(server, "demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Seeded 6 observations across 3 sessions" in done.stdout
    assert "agentmemory is working." in done.stdout
    found = dict(re.findall(r'"([^"]+)"\s*│\n│\s+→ (\d+) hit', done.stdout))
    assert set(found) == {"jwt auth middleware", "database performance optimization", "rate limiting"}
    assert int(found["jwt auth middleware"]) >= 1
    assert int(found["rate limiting"]) >= 1

    sessions = server.get("/sessions")["sessions"]
    assert {one["status"] for one in sessions} == {"completed"}
    assert sorted(len(server.observations(one["id"])) for one in sessions) == [1, 2, 3]


@SECRETS
def test_transcripts_are_imported_once_however_often_it_is_asked(
    start: Start,
    agentmemory: Command,
    transcripts: Path,
    secret: str | None,
) -> None:
    server = start(secret=secret, import_roots=transcripts)
    first = agentmemory(server, "import-jsonl", str(transcripts / "shop"), secret=secret)
    assert (first.returncode, first.stderr) == (0, "")
    assert "imported 1 file(s), 2 observation(s) across 1 session(s)" in first.stdout
    again = agentmemory(server, "import-jsonl", secret=secret)
    assert "imported 1 file(s), 0 observation(s) across 1 session(s)" in again.stdout
    asked, ran = server.observations("cc-1")
    assert (asked["hookType"], asked["userPrompt"]) == ("prompt_submit", "Rename the invoices table")
    assert (ran["hookType"], ran["toolName"], ran["toolOutput"]) == ("post_tool_use", "Bash", "12 passed")


def test_an_import_from_a_folder_that_is_not_allowed_fails_and_says_why(
    server: Holdfast, agentmemory: Command, tmp_path: Path
) -> None:
    done = agentmemory(server, "import-jsonl", str(tmp_path))
    assert done.returncode == 1
    assert "path: not in a folder" in done.stdout
    assert server.get("/sessions")["sessions"] == []


def test_an_import_without_the_secret_fails_and_says_why(start: Start, agentmemory: Command, transcripts: Path) -> None:
    server = start(secret="the-right-secret", import_roots=transcripts)
    done = agentmemory(server, "import-jsonl", secret="another")
    assert done.returncode == 1
    assert "Set AGENTMEMORY_SECRET to match the server's secret" in done.stdout
    assert server.get("/sessions")["sessions"] == []
