"""One server by itself: whatever comes first starts it, and everything else finds it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from broker import free_port
from daemons import OpenMemory, finish, is_alive
from patience import until
from processes import holdfast
from small_disks import disk_of

from holdfast import daemon
from holdfast.cli.commands.serve import is_running, wait_for_end
from holdfast.client import Holdfast
from holdfast.core.errors import DataLocked, ServerUnreachable
from holdfast.engine import Engine
from holdfast.local import launcher
from holdfast.store.data_folder import DataFolder

TRANSCRIPTS = Path(__file__).parent.parent / "intake" / "transcripts"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[OpenMemory]:
    made = OpenMemory(tmp_path / "memory")
    yield made
    made.end()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[OpenMemory]:
    made = OpenMemory(tmp_path / "other")
    yield made
    made.end()


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Starting


def test_the_first_command_starts_the_server_and_the_next_one_finds_it(home: OpenMemory) -> None:
    home.remember("The lighthouse stands on the northern cliff.")
    first = home.card

    assert home.contents() == {"The lighthouse stands on the northern cliff."}
    assert home.card == first
    assert first["onDemand"] is True


def test_what_the_server_leaves_in_the_folder_is_for_its_owner_only(home: OpenMemory) -> None:
    home.remember("The lighthouse stands on the northern cliff.")

    assert _mode(home.folder) == 0o700
    assert [_mode(home.folder / name) for name in ("server.log", "server.json", "lock")] == [0o600] * 3


def test_commands_that_start_at_once_in_an_empty_folder_share_one_server(home: OpenMemory) -> None:
    done = finish([home.start("remember", f"Fact number {number}.", "--json") for number in range(5)])

    assert [code for code, _, _ in done] == [0] * 5, done
    assert home.contents() == {f"Fact number {number}." for number in range(5)}
    assert "error" not in home.log


def test_a_server_that_is_launched_twice_serves_once(home: OpenMemory) -> None:
    home.remember("The lighthouse stands on the northern cliff.")
    first = home.card

    second = launcher.launch_server(str(home.folder), home.environ)

    until(lambda: not is_alive(second), "the end of the second server")
    assert home.card == first


def test_the_server_keeps_none_of_the_callers_open_files(home: OpenMemory) -> None:
    reading, writing = os.pipe()
    try:
        subprocess.run(
            holdfast("remember", "The lighthouse.", "--json"),
            env=home.environ,
            pass_fds=(writing,),
            stdout=subprocess.DEVNULL,
            check=True,
        )
    finally:
        os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b""  # it would not end as long as the server had the other side
    assert home.is_served


def test_the_server_is_in_a_session_of_its_own(home: OpenMemory) -> None:
    launched = launcher.launch_server(str(home.folder), home.environ)

    until(lambda: home.is_served_by(launched), "the server serves")
    assert os.getsid(launched) != os.getsid(0)


def test_a_port_that_another_program_has_is_left_to_it(home: OpenMemory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = home.run("remember", "The lighthouse.", HOLDFAST_PORT=str(port))

    assert str(port) not in home.card["url"]
    assert done.stderr == (
        f"note: HOLDFAST_PORT is {port}, but the server of {home.folder} listens on {home.card['url']}\n"
    )


@pytest.mark.parametrize("option", ["--no-daemon", "--url="])
def test_a_command_says_that_the_server_at_the_port_has_another_folder(
    home: OpenMemory, other: OpenMemory, option: str
) -> None:
    home.remember("The lighthouse.")
    port = home.card["url"].rpartition(":")[2]
    environ = {"PORT": port}  # as good as the usual one: it was not named for Holdfast
    named = {name: value for name, value in other.environ.items() if name != "HOLDFAST_PORT"}
    other.environ = {**named, **environ}

    done = other.run("recall", "lighthouse", option)

    assert done.stderr == (
        f"note: the server at {home.card['url']} has another data folder; this command uses {other.folder}\n"
        f"This memory is empty: {other.folder}\n"
        "A lost one comes back with: holdfast snapshot restore latest --from VAULT --yes\n"
    )


def test_a_server_at_the_terminal_says_that_holdfast_itself_has_the_port(home: OpenMemory, other: OpenMemory) -> None:
    home.remember("The lighthouse.")
    done = other.run("serve", "--port", home.card["url"].rpartition(":")[2], check=False)

    assert done.returncode == 3
    assert "in use by the Holdfast server of another data folder" in done.stderr


def test_a_folder_on_a_read_only_disk_is_told_with_its_own_remedy(tmp_path: Path) -> None:
    with disk_of(12_000_000, tmp_path / "disk") as disk:
        home = OpenMemory(disk / "data")
        home.run("remember", "The harbour opens at six.", "--no-daemon")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        said = home.run("recall", "harbour", check=False)
        found = json.loads(home.run("doctor", "--json", check=False).stdout)
    assert said.returncode == 22
    assert "mounted read-only" in said.stderr
    assert "Reads still work" not in said.stderr
    (check,) = (one for one in found["checks"] if one["name"] == "data folder")
    assert "mounted read-only" in check["hint"]


def test_the_port_of_somebody_elses_web_application_is_not_taken(home: OpenMemory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = {name: value for name, value in home.environ.items() if name != "HOLDFAST_PORT"}
    home.environ = {**environ, "PORT": str(port)}

    home.remember("The lighthouse.")

    assert not home.card["url"].endswith(f":{port}")


def test_two_folders_have_two_servers(home: OpenMemory, other: OpenMemory) -> None:
    home.remember("The lighthouse.")
    other.remember("The harbour.")

    assert home.card["url"] != other.card["url"]
    assert (home.contents(), other.contents()) == ({"The lighthouse."}, {"The harbour."})


def test_a_folder_that_cannot_be_made_is_told_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    home = OpenMemory(tmp_path / "file" / "memory")

    done = home.run("recall", "lighthouse", check=False)

    assert done.returncode == 22
    assert str(home.folder) in done.stderr
    assert "Choose a writable folder" in done.stderr


def test_what_keeps_the_server_from_starting_is_the_commands_own_error(home: OpenMemory) -> None:
    done = home.run("recall", "lighthouse", check=False, HOLDFAST_HOST="203.0.113.1")

    assert done.returncode == 3
    assert "no secret is set" in done.stderr
    assert "HOLDFAST_SECRET" in done.stderr


def test_a_store_that_no_server_can_open_can_still_be_restored(home: OpenMemory) -> None:
    home.remember("The lighthouse.")
    snapshot = home.json("snapshot", "create")["id"]
    home.signal(signal.SIGTERM)
    database = DataFolder(home.folder).database()
    database.write_bytes(b"no database at all" * 1_000)

    done = home.run("recall", "lighthouse", check=False)
    listed = home.json("snapshot", "list")["snapshots"]
    home.run("snapshot", "restore", snapshot, "--yes")

    assert done.returncode == 23
    assert [one["id"] for one in listed] == [snapshot]
    assert home.contents() == {"The lighthouse."}
    assert home.is_served


# Ending


def test_a_server_without_use_ends_and_the_next_command_starts_another(home: OpenMemory) -> None:
    home.remember("The lighthouse.", HOLDFAST_IDLE="3s")
    until(lambda: not home.is_served, "the end of the idle server")
    until(lambda: not DataFolder(home.folder).is_locked(), "the folder to be free")
    assert not (home.folder / "server.json").exists()

    assert home.contents() == {"The lighthouse."}


def test_a_server_whose_folder_was_removed_ends(home: OpenMemory) -> None:
    home.remember("The lighthouse.", HOLDFAST_IDLE="3s")
    pid = home.card["pid"]

    shutil.rmtree(home.folder)

    until(lambda: not is_alive(pid), "the end of the server")


def test_serve_at_a_terminal_takes_the_place_of_a_server_in_the_background(home: OpenMemory) -> None:
    home.remember("The lighthouse.")
    before = home.card["pid"]

    with home.start("serve", "--json") as process:
        try:
            until(lambda: home.is_served_by(process.pid), "the server at the terminal")
            until(lambda: not is_alive(before), "the end of the first server")
            assert home.contents() == {"The lighthouse."}
            assert home.card["onDemand"] is False
        finally:
            process.terminate()


def test_a_server_can_be_started_and_stopped_by_hand(home: OpenMemory) -> None:
    started = home.json("serve", "--background")
    assert started == {"url": home.card["url"], "data": str(home.folder)}

    assert home.json("serve", "--stop") == {"stopped": True, "data": str(home.folder)}
    assert not DataFolder(home.folder).is_locked()
    assert home.json("serve", "--stop") == {"stopped": False, "data": str(home.folder)}


def test_a_server_in_the_background_listens_on_the_port_that_was_named(home: OpenMemory) -> None:
    port = free_port()
    started = home.json("serve", "--background", "--port", str(port))
    assert started["url"] == f"http://127.0.0.1:{port}"
    home.json("serve", "--stop")


def test_a_server_that_was_stopped_is_gone_when_the_command_returns(home: OpenMemory) -> None:
    home.remember("The lighthouse.")
    pid = home.card["pid"]

    done = home.run("serve", "--stop")

    assert "has stopped" in done.stderr
    assert not is_running(pid)


def test_stopping_waits_for_the_process_and_not_only_for_the_folder() -> None:
    looks = []
    with subprocess.Popen(["sleep", "600"]) as child:

        def pause(seconds: float) -> None:
            looks.append(seconds)
            if len(looks) == 3:
                child.kill()
                child.wait()

        wait_for_end(child.pid, pause)
    assert len(looks) == 3


def test_the_status_says_whether_the_server_runs_and_starts_none(home: OpenMemory) -> None:
    first = home.run("status").stdout
    assert first.splitlines()[0] == "server: not running; the next command or hook starts it"
    assert first.splitlines()[1].startswith(f"folder: {home.folder}")
    assert not home.folder.exists()

    home.remember("The lighthouse.")
    second = home.run("status").stdout
    assert f"server: running at {home.card['url']}\n" in second
    assert "memory: 1 memories" in second
    assert "spool: nothing waits\n" in second

    home.run("serve", "--stop")
    assert "memory: 1 memories" in home.run("status").stdout
    assert home.json("status")["server"] is None
    assert not home.is_served


def test_the_status_names_the_port_that_a_server_in_the_background_would_take(home: OpenMemory) -> None:
    assert home.json("status", HOLDFAST_PORT="", PORT="3988")["port"] == 3111
    assert home.json("status", HOLDFAST_PORT="3989", PORT="3988")["port"] == 3989


# Finding it again


def test_a_server_that_was_killed_is_started_again(home: OpenMemory) -> None:
    home.remember("The lighthouse.")
    dead = home.signal(signal.SIGKILL)

    assert home.contents() == {"The lighthouse."}
    assert home.card["pid"] != dead


def test_the_card_of_a_dead_server_is_not_believed(home: OpenMemory) -> None:
    home.remember("The lighthouse.")
    home.signal(signal.SIGTERM)
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        url = f"http://127.0.0.1:{stranger.getsockname()[1]}"
        (home.folder / "server.json").write_text(json.dumps({"url": url, "pid": 999_999, "token": "old"}))
        (home.folder / "lock").write_text("999999\n")

        assert home.contents() == {"The lighthouse."}
        assert home.card["url"] != url


# Without it


@pytest.mark.parametrize("way", [("--no-daemon",), ()])
def test_a_command_opens_the_folder_itself_where_that_is_wanted(home: OpenMemory, way: tuple[str, ...]) -> None:
    setting = {} if way else {"HOLDFAST_DAEMON": "off"}

    home.run("remember", "The lighthouse.", *way, **setting)

    assert not home.is_served
    assert not (home.folder / "server.log").exists()


def test_a_process_that_has_the_folder_without_serving_it_is_named(
    home: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "START_SECONDS", 0.2)
    engine = Engine(home.settings)
    try:
        with pytest.raises(DataLocked, match=f"process {os.getpid()}") as refused:
            daemon.ensure_server(home.settings)
    finally:
        engine.close()

    assert "--no-daemon" in refused.value.hint


def test_a_server_that_hangs_is_told_with_the_command_that_ends_it(
    home: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.remember("The lighthouse.")
    pid = int(home.card["pid"])
    monkeypatch.setattr(daemon, "START_SECONDS", 0.2)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(DataLocked, match=f"process {pid}") as refused:
            daemon.ensure_server(home.settings)
    finally:
        os.kill(pid, signal.SIGCONT)

    assert "holdfast serve --stop" in refused.value.hint


def test_a_server_that_does_not_come_up_in_time_is_told_with_its_log(
    home: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "START_SECONDS", 0.0)
    monkeypatch.setattr(daemon, "environment", lambda: home.environ)

    with pytest.raises(ServerUnreachable) as refused:
        daemon.ensure_server(home.settings, clock=_Late())

    assert str(home.folder / "server.log") in refused.value.hint
    until(lambda: home.is_served, "the server, which was only late")


def test_a_server_that_cannot_start_on_a_full_disk_says_that_it_is_full(tmp_path: Path) -> None:
    with disk_of(12_000_000, tmp_path / "disk") as disk:
        home = OpenMemory(disk / "data")
        home.remember("The harbour opens at six.")
        home.signal(signal.SIGTERM)
        with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(4_096)):
                pass
        said = home.run("recall", "harbour", "--json", check=False)
        home.end()
    fault = json.loads(said.stderr)
    assert fault["code"] == "storage_full"
    assert "disk is full" in fault["error"]


def test_doctor_says_that_the_secret_differs_from_the_servers(home: OpenMemory) -> None:
    home.run("serve", "--background", HOLDFAST_SECRET="a-secret-of-the-first-caller")
    said = json.loads(home.run("doctor", "--json", check=False, HOLDFAST_SECRET="quite-another-secret").stdout)
    (check,) = (one for one in said["checks"] if one["name"] == "server")
    assert not check["ok"]
    assert "differs from the secret of the server" in check["found"]
    assert "HOLDFAST_SECRET" in check["hint"]


class _Late:
    """A clock by which time is up once it was looked at three times."""

    def __init__(self) -> None:
        self._looks = 0

    def steady(self) -> float:
        self._looks += 1
        return -1.0 if self._looks == 2 else 0.0

    def now_ms(self) -> int:
        return 0


# The Python client


def test_python_clients_share_a_folder(home: OpenMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)

    with Holdfast(home.folder) as one, Holdfast(home.folder) as two:
        one.remember("The lighthouse.")
        found = [hit["observation"]["content"] for hit in two.search("lighthouse")]

    assert found == ["The lighthouse."]
    assert home.contents() == {"The lighthouse."}


def test_a_python_client_can_have_the_folder_for_itself(home: OpenMemory) -> None:
    with Holdfast(home.folder, daemon=False) as memory:
        memory.remember("The lighthouse.")
        assert not home.is_served
        assert DataFolder(home.folder).is_locked()


def test_what_is_written_belongs_to_the_agent_of_the_caller_not_of_the_server(home: OpenMemory) -> None:
    home.remember("The lighthouse.", AGENT_ID="keeper")
    home.remember("The harbour.", AGENT_ID="pilot")

    agents = {one["content"]: one["agentId"] for one in home.json("memories")["memories"]}
    assert agents == {"The lighthouse.": "keeper", "The harbour.": "pilot"}


def test_a_command_with_another_secret_still_reaches_its_own_folder(home: OpenMemory) -> None:
    home.remember("The lighthouse.", HOLDFAST_SECRET="a-secret-of-the-first-caller")

    assert home.contents() == {"The lighthouse."}
    assert home.contents(HOLDFAST_SECRET="quite-another-secret") == {"The lighthouse."}


def test_transcripts_of_any_folder_are_imported_through_the_server(home: OpenMemory) -> None:
    answer = home.json("import", str(TRANSCRIPTS))

    assert answer["observations"] > 0
    assert home.is_served


# The log


def test_a_log_that_has_grown_is_put_aside_at_the_next_start(tmp_path: Path, home: OpenMemory) -> None:
    home.folder.mkdir(mode=0o700)
    (home.folder / "server.log").write_text("old\n" * (launcher.LOG_BYTES // 4 + 1))

    home.remember("The lighthouse.")

    assert (home.folder / "server.log").stat().st_size < 10_000
    assert (home.folder / "server.log.1").read_text().startswith("old\n")
