"""Holdfast and its broker are killed in the middle of their work: every acknowledged write is told, whoever fell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from broker import NatsServer, Reader, bodies, ids
from nats.aio.msg import Msg
from patience import until
from processes import Promise, Server, Writers, run, serving, verify

PER_ROUND = 60


def _pending(server: Server) -> int:
    return int(server.get("/health").json()["events"]["pending"])


def _untold(messages: list[Msg], promises: Sequence[Promise]) -> list[Promise]:
    inserted = {one["key"] for one in bodies(messages) if one["op"] == "insert"}
    return [one for one in promises if one.id not in inserted]


def test_no_event_is_lost_when_holdfast_is_killed_again_and_again(tmp_path: Path) -> None:
    """A plain subscription, so that what is sent twice is seen twice: only what was not confirmed before the kill."""
    home, promises = tmp_path / "memory", []
    with NatsServer(tmp_path / "nats") as nats_server, Reader(nats_server.url) as reader:
        reader.listen()
        for number in range(3):
            with serving(home, HOLDFAST_NATS_URL=nats_server.url) as server, Writers(server.url) as writers:
                writers.until_promised(PER_ROUND + 37 * number)
                server.kill()
            promises += writers.promises
        with serving(home, HOLDFAST_NATS_URL=nats_server.url) as server:
            until(lambda: _pending(server) == 0, "every event is sent")
            until(lambda: not _untold(reader.messages, promises), "every promise is told")

    verify(home)
    first_seen = list(dict.fromkeys(one["seq"] for one in reader.bodies))
    assert first_seen == sorted(first_seen)


def test_nothing_is_sent_again_after_it_was_confirmed(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    with NatsServer(tmp_path / "nats") as nats_server, Reader(nats_server.url) as reader:
        reader.listen()
        with serving(home, HOLDFAST_NATS_URL=nats_server.url) as server:
            server.remember("told before the end").raise_for_status()
            until(lambda: _pending(server) == 0, "the event is sent")
            server.kill()
        with serving(home, HOLDFAST_NATS_URL=nats_server.url) as server:
            server.remember("another thing altogether, afterwards").raise_for_status()
            until(lambda: _pending(server) == 0, "the event is sent")
            until(lambda: len(reader.messages) >= 2, "both events have arrived")

    assert len(reader.messages) == len(set(ids(reader.messages))) == 2


def test_no_event_is_lost_when_both_are_killed(tmp_path: Path) -> None:
    """What a stream has confirmed it keeps; what it has not is sent again under its number, and kept once."""
    home = tmp_path / "memory"
    with NatsServer(tmp_path / "nats") as nats_server:
        with Reader(nats_server.url) as reader:
            reader.make_stream()
        settings = {"HOLDFAST_NATS_URL": nats_server.url, "HOLDFAST_NATS_CONFIRM": "stream"}
        with serving(home, **settings) as server, Writers(server.url) as writers:
            writers.until_promised(PER_ROUND)
            nats_server.kill()
            writers.until_promised(2 * PER_ROUND)
            server.kill()
        nats_server.start()
        with serving(home, **settings) as server:
            until(lambda: _pending(server) == 0, "every event is sent")
        with Reader(nats_server.url) as reader:
            stored = reader.stored()

    verify(home)
    assert _untold(stored, writers.promises) == []
    assert len(ids(stored)) == len(set(ids(stored)))
    seqs = [one["seq"] for one in bodies(stored)]
    assert seqs == sorted(seqs)


def test_what_a_command_writes_is_told_when_the_server_next_runs(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    with NatsServer(tmp_path / "nats") as nats_server, Reader(nats_server.url) as reader:
        reader.listen()
        done = run(home, "remember", "written without a server", HOLDFAST_NATS_URL=nats_server.url)
        assert done.returncode == 0, done.stderr
        with serving(home, HOLDFAST_NATS_URL=nats_server.url):
            until(lambda: reader.messages, "the event has arrived")

    assert [one["op"] for one in reader.bodies] == ["insert"]
