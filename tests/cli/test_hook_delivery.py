"""A hook whose server is away, slow or restarted loses nothing and does not hold the agent up."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from world import running

from holdfast import spool
from holdfast.cli import hook_events, hook_place, hook_transcript
from holdfast.cli.hook import run_hook
from holdfast.cli.hook_delivery import Delivery
from holdfast.cli.hook_place import Place, place_of
from holdfast.settings import SETTINGS
from holdfast.system import SystemClock
from holdfast.times import iso

SESSION = "5c1e2a40-1111-4222-8333-444455556666"


def line(kind: str, number: int, content: Any) -> str:
    role = {"role": kind, "content": content}
    stamp = iso(SystemClock().now_ms() - 60_000 + number * 1_000)
    fields = {"type": kind, "sessionId": SESSION, "uuid": f"u{number}", "timestamp": stamp, "message": role}
    return json.dumps(fields) + "\n"


def text(said: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": said}]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_text(
        line("user", 1, "Why is the build slow?") + line("assistant", 2, text("The cache key has the date."))
    )
    return path


def hook(
    event: str, home: Path, payload: dict[str, Any], *options: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    """The real command, as an agent runs it."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "HOLDFAST_HOME": str(home), "HOLDFAST_DAEMON": "off"}
    return subprocess.run(
        [sys.executable, "-m", "holdfast.cli.main", "hook", event, *options],
        input=json.dumps({"session_id": SESSION, "cwd": str(home.parent), **payload}),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**env, "HOLDFAST_EMBEDDER": "none", **environ},
    )


def waiting(home: Path) -> list[spool.Entry]:
    entries = [spool.read(str(home), name) for name in spool.waiting(str(home))]
    return [entry for entry in entries if entry is not None]


def test_without_a_server_everything_waits_in_order_and_nothing_is_printed(tmp_path: Path, transcript: Path) -> None:
    home = tmp_path / "data"
    for event in ("session-start", "prompt-submit", "stop", "session-end"):
        done = hook(event, home, {"prompt": "Why is the build slow?", "transcript_path": str(transcript)})
        assert (done.stdout, done.stderr) == ("", "")
    found = [entry.path.rpartition("/")[2] for entry in waiting(home)]
    assert found == ["start", "observe", "transcript", "end"]


def test_what_waited_is_in_the_memory_once_a_server_runs(tmp_path: Path, transcript: Path) -> None:
    home = tmp_path / "data"
    for event in ("session-start", "prompt-submit", "stop", "session-end"):
        hook(event, home, {"prompt": "Why is the build slow?", "transcript_path": str(transcript)})
    with running(home) as client:
        token = {"Authorization": f"Bearer {json.loads((home / 'server.json').read_text())['token']}"}
        for _ in range(600):
            if client.get("/agentmemory/health", headers=token).json()["spool"]["waiting"] == 0:
                break
        asked = {"sessionId": SESSION}
        rows = client.get("/agentmemory/observations", params=asked, headers=token).json()["observations"]
        assert [one["narrative"] for one in rows] == ["Why is the build slow?", "The cache key has the date."]
        with transcript.open("a") as more:
            more.write(line("assistant", 9, text("I took the date out of the key.")))
        hook("stop", home, {"transcript_path": str(transcript)})
        hook("stop", home, {"transcript_path": str(transcript)})
        rows = client.get("/agentmemory/observations", params=asked, headers=token).json()["observations"]
    assert [one["narrative"] for one in rows][2:] == ["I took the date out of the key."]
    assert waiting(home) == []


def test_a_piece_that_waits_ends_before_a_call_without_its_result(tmp_path: Path, transcript: Path) -> None:
    home = tmp_path / "data"
    call = [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make"}}]
    with transcript.open("a") as more:
        more.write(line("assistant", 3, call))
    hook("stop", home, {"transcript_path": str(transcript)})
    with transcript.open("a") as more:
        more.write(line("user", 4, [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "built"}]))
    hook("stop", home, {"transcript_path": str(transcript)})
    first, second = (entry.body for entry in waiting(home))
    assert (first["firstLine"], second["firstLine"]) == (1, 3)
    assert "toolu_1" in second["text"]


def test_a_server_that_hangs_is_given_up_and_the_event_waits(tmp_path: Path) -> None:
    home = tmp_path / "data"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        hook("prompt-submit", home, {"prompt": "hello"}, "--url", url)
    assert [entry.body["data"] for entry in waiting(home)] == [{"prompt": "hello"}]


def test_a_subagents_last_words_are_told_once(tmp_path: Path, transcript: Path) -> None:
    home = tmp_path / "data"
    said = {"agent_id": "a1", "agent_type": "Explore", "last_assistant_message": "The cache key has the date."}
    hook("subagent-stop", home, {**said, "agent_transcript_path": str(transcript)})
    piece, stop = (entry.body for entry in waiting(home))
    assert piece["lastMessage"] == "The cache key has the date."
    assert stop["data"]["last_message"] == ""


def test_when_the_time_is_up_the_rest_of_a_long_transcript_waits(
    tmp_path: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each piece takes longer than the session's end may take."""
    monkeypatch.setattr(hook_transcript, "PIECE_BYTES", 300)
    with transcript.open("a") as more:
        more.write("".join(line("assistant", number, text(f"point {number}")) for number in range(3, 9)))
    steady, kept, sent = iter(range(1_000)), [], []

    def send(method: str, path: str, body: Any, timeout: float) -> dict[str, Any]:
        sent.append(path)
        return {"consumedLines": body["text"].count("\n") if "text" in body else None}

    def keep(path: str, body: Any) -> bool:
        kept.append(body)
        return True

    monkeypatch.setattr(hook_events.time, "monotonic", lambda: float(next(steady)))
    payload = json.dumps({"session_id": SESSION, "transcript_path": str(transcript)})
    run_hook("session-end", payload, {}, send, lambda: 1, keep, str(tmp_path / "data"))
    assert len(kept) > 1
    assert sent[-1] == "/agentmemory/session/end"
    whole = transcript.read_text()
    assert whole.endswith("".join(body["text"] for body in kept))


def test_a_restarted_server_is_found_again_by_its_card(tmp_path: Path) -> None:
    home = tmp_path / "data"
    with running(home) as client:
        card = json.loads((home / "server.json").read_text())
        old = Place(str(home), "http://127.0.0.1:9", "an older token", True, False)
        way = Delivery(old, {}, lambda: 1)
        assert way.send("GET", "/agentmemory/livez", None, 10) is not None
        assert client.get("/agentmemory/livez").status_code == 200
        assert card["url"] == str(client.base_url).rstrip("/")


def test_what_waits_for_a_server_elsewhere_is_sent_by_a_later_hook(tmp_path: Path) -> None:
    """With a token, the server of this folder must not take it in: it may belong to another memory."""
    home = tmp_path / "data"
    token = "hft_" + "a" * 40
    away = Place(str(home), "http://127.0.0.1:9", token, False, False)
    Delivery(away, {}, lambda: 1).keep("/agentmemory/observe", {"n": 1})
    assert spool.waiting(str(home)) == []
    (folder,) = (home / "elsewhere").iterdir()
    assert len(spool.waiting(str(folder))) == 1
    seen: list[Any] = []

    class Reached(Delivery):
        def send(self, method: str, path: str, body: object, timeout: float) -> dict[str, Any]:
            seen.append(body)
            return {}

    Reached(away, {}, lambda: 2).finish()
    assert (seen, spool.waiting(str(folder))) == ([{"n": 1}], [])


# ── the server that a hook starts ───────────────────────────────────────────────────────────────────


@pytest.fixture
def launched(tmp_path: Path) -> Iterator[Path]:
    """A data folder; the server that is started for it is ended by its own card."""
    home = tmp_path / "data"
    yield home
    card = home / "server.json"
    for _ in range(600):
        if card.exists():
            os.kill(json.loads(card.read_text())["pid"], signal.SIGTERM)
            break
        time.sleep(0.05)


def test_a_hook_starts_the_server_of_its_folder(launched: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    hook("prompt-submit", launched, {"prompt": "hello"}, HOLDFAST_DAEMON="on", HOLDFAST_PORT=str(port))
    for _ in range(1_200):
        if (launched / "server.json").exists() and not spool.waiting(str(launched)):
            break
        time.sleep(0.05)
    assert json.loads((launched / "server.json").read_text())["url"].endswith(f":{port}")
    assert spool.spool_status(str(launched)) == spool.Status()


# ── where the server is ─────────────────────────────────────────────────────────────────────────────


def card(home: Path, url: str, token: str = "run-token") -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "server.json").write_text(json.dumps({"url": url, "token": token}))


def test_the_card_of_the_folder_leads_to_its_server(tmp_path: Path) -> None:
    card(tmp_path, "http://127.0.0.1:4000")
    found = place_of(["stop", "--data", str(tmp_path)], {"HOLDFAST_SECRET": "s" * 20})
    assert found == Place(str(tmp_path), "http://127.0.0.1:4000", "run-token", True)


def test_an_address_on_this_machine_is_the_folders_own_server(tmp_path: Path) -> None:
    environ = {"HOLDFAST_HOME": str(tmp_path)}
    assert place_of(["stop", "--url", "http://127.0.0.1:4000"], environ).own
    card(tmp_path, "http://127.0.0.1:4000")
    assert place_of(["stop", "--url", "http://localhost:4000"], environ).secret == "run-token"
    other = place_of(["stop", "--url", "http://127.0.0.1:5000"], environ)
    assert (other.own, other.secret) == (False, None)


def test_an_address_elsewhere_gets_the_secret_and_nothing_of_the_folder(tmp_path: Path) -> None:
    card(tmp_path, "http://127.0.0.1:4000")
    environ = {
        "HOLDFAST_HOME": str(tmp_path),
        "AGENTMEMORY_URL": "https://memory.example.org/",
        "HOLDFAST_SECRET": "x" * 20,
    }
    assert place_of(["stop"], environ) == Place(str(tmp_path), "https://memory.example.org", "x" * 20, False)


def test_a_named_folder_is_another_memory_than_the_environments_server(tmp_path: Path) -> None:
    environ = {"HOLDFAST_URL": "https://memory.example.org"}
    assert place_of(["stop", "--data", str(tmp_path)], environ) == Place(str(tmp_path), "", None, True)


def test_a_token_is_who_the_caller_means_to_be(tmp_path: Path) -> None:
    card(tmp_path, "http://127.0.0.1:4000")
    found = place_of(["stop"], {"HOLDFAST_HOME": str(tmp_path), "HOLDFAST_SECRET": "hft_abc"})
    assert (found.secret, found.own) == ("hft_abc", False)


def test_a_port_of_the_environment_counts_where_no_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert place_of(["stop"], {"PORT": "4000"}).url == "http://127.0.0.1:4000"
    assert place_of(["stop"], {"HOLDFAST_HOME": str(tmp_path), "PORT": "4000"}).url == ""


def test_a_hook_reads_the_same_variables_as_the_settings() -> None:
    rows = {row.name: (row.env, *row.also) for row in SETTINGS}
    names = {name: getattr(hook_place, name.upper()) for name in ("home", "url", "port", "secret", "daemon")}
    assert names == {name: rows[name] for name in names}


def test_an_agent_whose_memory_is_still_in_the_vault_is_told_so_and_loses_nothing(tmp_path: Path) -> None:
    home, vault = tmp_path / "data", tmp_path / "vault"
    with running(home, vault=str(vault)) as client:  # the folder of the vault is not there
        told = hook("session-start", home, {"source": "startup"})
        assert "this memory may be in it" in json.loads(told.stdout)["hookSpecificOutput"]["additionalContext"]
        assert hook("prompt-submit", home, {"prompt": "Why is the build slow?"}).stdout == ""
        assert [entry.path.rpartition("/")[2] for entry in waiting(home)] == ["start", "observe"]
        vault.mkdir()
        ends = time.monotonic() + 60
        health = client.get("/agentmemory/health").json()
        while (health["status"] != "healthy" or health["spool"]["waiting"]) and time.monotonic() < ends:
            health = client.get("/agentmemory/health").json()
        assert health["counts"]["observations"] == 1
