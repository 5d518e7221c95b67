"""A hook whose server is away, slow or restarted loses nothing and does not hold the agent up."""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from patience import WAIT_SECONDS, until
from small_disks import disk_of
from world import running

from holdfast.cli.commands.doctor import examine
from holdfast.cli.connect.agents import AGENTS
from holdfast.cli.connect.config_entries import JsonHooks
from holdfast.cli.hook import hook_events, server_address, transcript_position
from holdfast.cli.hook.delivery import Delivery
from holdfast.cli.hook.hook_command import run_hook
from holdfast.cli.hook.server_address import ServerAddress, place_of
from holdfast.core.system import SystemClock
from holdfast.core.times import iso
from holdfast.local import spool
from holdfast.settings import SETTINGS, load

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
        timeout=WAIT_SECONDS,
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
    monkeypatch.setattr(transcript_position, "PIECE_BYTES", 300)
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
        old = ServerAddress(str(home), "http://127.0.0.1:9", "an older token", True, False)
        way = Delivery(old, {}, lambda: 1)
        assert way.send("GET", "/agentmemory/livez", None, 10) is not None
        assert client.get("/agentmemory/livez").status_code == 200
        assert card["url"] == str(client.base_url).rstrip("/")


def test_a_server_that_does_not_accept_the_token_is_not_called_silent(tmp_path: Path) -> None:
    """Such as one that was revoked: what happens waits, and doctor says how much."""
    home = tmp_path / "away"
    home.mkdir(mode=0o700)
    with running(tmp_path / "data", secret="the secret of the owner") as client:
        away = ("--url", str(client.base_url))
        started = hook("session-start", home, {}, *away, HOLDFAST_SECRET="hft_" + "a" * 40, HOLDFAST_DAEMON="on")
    assert "its server does not accept the credential. " in started.stdout
    assert "does not answer" not in started.stdout
    (check,) = [one for one in examine(load({"home": str(home)}, {})) if one.name == "hooks elsewhere"]
    assert check.found.startswith("1 events wait")


def test_what_waits_for_a_server_elsewhere_is_sent_by_a_later_hook(tmp_path: Path) -> None:
    """With a token, the server of this folder must not take it in: it may belong to another memory."""
    home = tmp_path / "data"
    token = "hft_" + "a" * 40
    away = ServerAddress(str(home), "http://127.0.0.1:9", token, False, False)
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


# ── a full disk ─────────────────────────────────────────────────────────────────────────────────────


def fill(disk: Path) -> Path:
    """Write to the disk until it takes no more."""
    path = disk / "filler"
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4_096)):
            pass
    return path


def test_on_a_full_disk_hooks_keep_what_they_are_told_and_say_so(tmp_path: Path) -> None:
    """The disk fills while a server runs; once there is space again, everything is in the memory."""
    with disk_of(24_000_000, tmp_path / "disk") as disk:
        home = disk / "data"
        with running(home) as client:
            until((home / "spool/reserve").exists, "the reserve")
            filler = fill(disk)
            started = hook("session-start", home, {})
            hook("prompt-submit", home, {"prompt": "the lamp code is 44 " + "x" * 4_000})
            assert "the disk is full" in started.stdout
            assert len(waiting(home)) == 2
            filler.unlink()
            token = {"Authorization": f"Bearer {json.loads((home / 'server.json').read_text())['token']}"}
            until(lambda: not spool.waiting(str(home)), "the intake")
            rows = client.get("/agentmemory/observations", params={"sessionId": SESSION}, headers=token).json()
        assert rows["observations"][0]["narrative"].startswith("the lamp code is 44")
        assert not [name for name in os.listdir(home / "spool") if name.startswith(".")]


def test_the_next_session_is_told_of_events_that_were_lost(tmp_path: Path) -> None:
    home = tmp_path / "data"
    (home / "spool").mkdir(parents=True)
    (home / "spool/dropped").write_text("...")
    with running(home):
        told = json.loads(hook("session-start", home, {}).stdout)["hookSpecificOutput"]["additionalContext"]
    assert "lost 3 events" in told
    assert "holdfast doctor" in told


def test_a_session_without_a_server_is_told_that_the_disk_is_full(tmp_path: Path) -> None:
    with disk_of(2_000_000, tmp_path / "disk") as disk:
        home = disk / "data"
        home.mkdir(mode=0o700)
        filler = fill(disk)
        assert "is full" in hook("session-start", home, {}).stdout
        assert len(waiting(home)) == 1  # on another disk
        filler.unlink()
        for name in spool.waiting(str(home)):
            spool.remove(str(home), name)


# ── the server that a hook starts ───────────────────────────────────────────────────────────────────


@pytest.fixture
def launched(tmp_path: Path) -> Iterator[Path]:
    """A data folder; the server that is started for it is ended by its own card."""
    home = tmp_path / "data"
    yield home
    card = home / "server.json"
    until(card.exists, "the server that was started")
    os.kill(json.loads(card.read_text())["pid"], signal.SIGTERM)


def test_a_hook_starts_the_server_of_its_folder(launched: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    hook("prompt-submit", launched, {"prompt": "hello"}, HOLDFAST_DAEMON="on", HOLDFAST_PORT=str(port))
    until(lambda: (launched / "server.json").exists() and not spool.waiting(str(launched)), "an empty spool")
    assert json.loads((launched / "server.json").read_text())["url"].endswith(f":{port}")
    assert spool.spool_status(str(launched)) == spool.Status()


def test_a_session_waits_for_a_server_that_is_up_only_after_five_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a server takes so long; without it the session would get no context."""
    home, passed = tmp_path / "data", [0.0]
    monkeypatch.setattr("holdfast.local.launcher.launch_server", lambda folder, environ: 1)
    with running(tmp_path / "other") as client:

        def pause(seconds: float) -> None:
            passed[0] += seconds
            if passed[0] > 5:
                card(home, str(client.base_url).rstrip("/"))

        way = Delivery(ServerAddress(str(home), "", None, True), {}, lambda: 1)
        way.awaken(lambda: passed[0], pause)
        assert way.send("GET", "/agentmemory/livez", None, 10) is not None


def agents_limit() -> Any:
    """The seconds after which Claude Code ends a hook, as `connect` writes them."""
    files = next(agent for agent in AGENTS if agent.name == "claude-code").files
    hooks = next(part for file in files for part in file.entries if isinstance(part, JsonHooks))
    return min(row.fields["timeout"] for row in hooks.rows)


def test_a_session_gives_up_before_the_agent_ends_its_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = [0.0]
    monkeypatch.setattr("holdfast.local.launcher.launch_server", lambda folder, environ: 1)
    way = Delivery(ServerAddress(str(tmp_path / "data"), "", None, True), {}, lambda: 1)
    way.awaken(lambda: passed[0], lambda seconds: passed.__setitem__(0, passed[0] + seconds))
    told = way.send("POST", "/agentmemory/session/start", {}, hook_events.START)
    assert "does not answer" in (told or {})["unavailable"]  # the agent has to know that its memory is missing
    assert passed[0] < hook_events.START < agents_limit()


def test_a_session_in_a_folder_that_cannot_be_written_does_not_wait_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def launch(folder: str, environ: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("holdfast.local.launcher.launch_server", launch)
    way = Delivery(ServerAddress(str(tmp_path), "", None, True), {}, lambda: 1)
    way.awaken(lambda: 0.0, lambda seconds: pytest.fail("there is nothing to wait for"))
    told = way.send("POST", "/agentmemory/session/start", {}, hook_events.START)
    assert f"{tmp_path} cannot be written: Read-only file system" in (told or {})["unavailable"]


# ── where the server is ─────────────────────────────────────────────────────────────────────────────


def card(home: Path, url: str, token: str = "run-token") -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "server.json").write_text(json.dumps({"url": url, "token": token}))


def test_the_card_of_the_folder_leads_to_its_server(tmp_path: Path) -> None:
    card(tmp_path, "http://127.0.0.1:4000")
    found = place_of(["stop", "--data", str(tmp_path)], {"HOLDFAST_SECRET": "s" * 20})
    assert found == ServerAddress(str(tmp_path), "http://127.0.0.1:4000", "run-token", True)


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
    assert place_of(["stop"], environ) == ServerAddress(str(tmp_path), "https://memory.example.org", "x" * 20, False)


def test_a_named_folder_is_another_memory_than_the_environments_server(tmp_path: Path) -> None:
    environ = {"HOLDFAST_URL": "https://memory.example.org"}
    assert place_of(["stop", "--data", str(tmp_path)], environ) == ServerAddress(str(tmp_path), "", None, True)


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
    names = {name: getattr(server_address, name.upper()) for name in ("home", "url", "port", "secret", "daemon")}
    assert names == {name: rows[name] for name in names}


def test_an_agent_whose_memory_is_still_in_the_vault_is_told_so_and_loses_nothing(tmp_path: Path) -> None:
    home, vault = tmp_path / "data", tmp_path / "vault"
    with running(home, vault=str(vault)) as client:  # the folder of the vault does not exist
        told = hook("session-start", home, {"source": "startup"})
        assert "this memory may be in it" in json.loads(told.stdout)["hookSpecificOutput"]["additionalContext"]
        assert hook("prompt-submit", home, {"prompt": "Why is the build slow?"}).stdout == ""
        assert [entry.path.rpartition("/")[2] for entry in waiting(home)] == ["start", "observe"]
        assert client.post("/agentmemory/vault/init", json={}).status_code == 200

        def is_delivered() -> bool:
            health = client.get("/agentmemory/health").json()
            return health["status"] == "healthy" and not health["spool"]["waiting"]

        until(is_delivered, "a healthy memory with an empty spool")
        assert client.get("/agentmemory/health").json()["counts"]["observations"] == 1
