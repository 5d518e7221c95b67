"""The server is killed in the middle of its work: what it acknowledged is there when it comes back."""

from __future__ import annotations

import signal
from pathlib import Path

from processes import Writers, assert_promises_kept, serving, verify

ROUNDS = 3
PER_ROUND = 70


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
            code = server.ended()
        assert code == 0, server.complaints
    assert not (home / "server.json").exists()
    assert {one.name for one in (home / "gen-000001").iterdir()} == {"memory.db", "made"}
    with serving(home) as server:
        assert_promises_kept(server, writers.promises)
        verify(home)


def test_an_idle_server_that_is_interrupted_ends_at_once_and_well(tmp_path: Path) -> None:
    with serving(tmp_path / "memory") as server:
        assert server.remember("kept before the end").status_code == 201
        server.process.send_signal(signal.SIGINT)
        assert server.ended() == 0
