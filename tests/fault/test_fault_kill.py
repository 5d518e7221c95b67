"""The server is killed in the middle of its work: what it acknowledged is there when it comes back."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from processes import Server, Writers, assert_promises_kept, serving, verify

ROUNDS = 3
PER_ROUND = 120
TERM_SECONDS = 10


def test_nothing_acknowledged_is_lost_when_the_server_is_killed_again_and_again(tmp_path: Path) -> None:
    home, promises = tmp_path / "memory", []
    for number in range(ROUNDS):
        with serving(home) as server:
            assert_promises_kept(server, promises[-PER_ROUND:])
            with Writers(server.url) as writers:
                writers.until_promised(PER_ROUND + 37 * number)
                server.kill()
            promises += writers.promises
            assert writers.refusals == []
    with serving(home) as server:
        assert len(promises) >= ROUNDS * PER_ROUND
        assert_promises_kept(server, promises)
        verify(home)
        assert server.get("/health").json()["status"] == "healthy"


def test_nothing_acknowledged_is_lost_when_the_server_is_told_to_stop_under_load(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    with serving(home) as server:
        with Writers(server.url) as writers:
            writers.until_promised(PER_ROUND)
            server.process.send_signal(signal.SIGTERM)
            code = server.ended(TERM_SECONDS)
        assert code == 0, server.complaints
    assert not (home / "server.json").exists()
    assert [one.name for one in (home / "gen-000001").iterdir()] == ["memory.db"]
    with serving(home) as server:
        assert_promises_kept(server, writers.promises)
        verify(home)


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_server_that_is_told_to_stop_ends_at_once_and_well(tmp_path: Path, ending: signal.Signals) -> None:
    with serving(tmp_path / "memory") as server:
        assert server.remember("kept before the end").status_code == 201
        server.process.send_signal(ending)
        assert server.ended(TERM_SECONDS) == 0


def test_a_server_that_cannot_stop_at_once_is_killed_without_loss(tmp_path: Path) -> None:
    """Told to stop, then killed: as a supervisor does that has no patience."""
    home = tmp_path / "memory"
    with serving(home) as server, Writers(server.url) as writers:
        writers.until_promised(40)
        server.process.send_signal(signal.SIGTERM)
        server.process.send_signal(signal.SIGKILL)
        server.ended()
    with serving(home) as server:
        assert_promises_kept(server, writers.promises)
        verify(home)


def test_a_server_that_dies_at_its_start_leaves_a_folder_that_opens(tmp_path: Path) -> None:
    """Killed at whatever point its start has reached when the first file of the folder appears."""
    home = tmp_path / "memory"
    for name in ("lock", "CURRENT", "gen-000001/memory.db"):
        with Server(home) as server:
            _until_exists(home / name, server.process)
            server.process.kill()
            server.ended()
    with serving(home) as server:
        assert server.remember("a first memory").status_code == 201
    verify(home)


def _until_exists(path: Path, process: subprocess.Popen[str]) -> None:
    while not path.exists():
        assert process.poll() is None, "the server ended before it made its folder"
