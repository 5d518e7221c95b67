"""The disk is full, or fails: what was promised stays, what cannot be kept is refused, reading goes on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import Server, Writers, assert_promises_kept, run, serving, verify, word
from small_disks import disk_of
from tracing import failing, fired

DISK_BYTES = 32_000_000
RECORD = 8_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of thirty-two megabytes."""
    with disk_of(DISK_BYTES, tmp_path / "disk") as disk:
        yield disk


def fill(disk: Path, leaving: int = 0) -> Path:
    """A file that takes all the room but so many bytes."""
    filler = disk / "filler"
    room = os.statvfs(disk)
    with filler.open("wb") as file:
        file.write(bytes(max(0, room.f_bavail * room.f_frsize - leaving)))
    return filler


def assert_full(server: Server) -> None:
    """A write is refused as the contract says, and nothing of it is kept."""
    answer = server.remember("turmaline " + "x" * 100_000)
    assert answer.status_code == 507, answer.text
    body = answer.json()
    assert (body["code"], body["retryable"]) == ("storage_full", True)
    assert server.found("turmaline") == []


def test_a_full_disk_refuses_writes_keeps_promises_and_heals_by_itself(small_disk: Path) -> None:
    home = small_disk / "memory"
    with serving(home) as server:
        filler = fill(small_disk, leaving=1_500_000)
        with Writers(server.url, size=RECORD) as writers:
            writers.until(lambda: len(writers.refusals) >= 20, "refusals of a full disk")
        assert len(writers.promises) >= 20
        assert set(writers.refusals) == {(507, "storage_full")}
        assert_full(server)
        assert_promises_kept(server, writers.promises)
        assert server.get("/health").status_code == 200
        filler.unlink()
        with Writers(server.url, size=100) as again:
            again.until_promised(40)
        assert again.refusals == []  # the room is ten times what these take, also while the log cannot be reused
        assert server.get("/health").json()["status"] == "healthy"
        assert_promises_kept(server, [*writers.promises, *again.promises])
        server.kill()
    with serving(home) as server:
        assert_promises_kept(server, [*writers.promises, *again.promises])
        verify(home)


def test_a_server_killed_on_a_full_disk_loses_nothing(small_disk: Path) -> None:
    home = small_disk / "memory"
    with serving(home) as server:
        fill(small_disk, leaving=1_500_000)
        with Writers(server.url, size=RECORD) as writers:
            writers.until(lambda: len(writers.refusals) >= 10, "refusals of a full disk")
            server.kill()
    grow(small_disk)
    with serving(home) as server:
        assert_promises_kept(server, writers.promises)
        verify(home)


def grow(disk: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,size={4 * DISK_BYTES}", str(disk)], check=True)


def test_a_command_on_a_disk_without_room_says_so(small_disk: Path) -> None:
    home = small_disk / "memory"
    assert run(home, "remember", "a first memory").returncode == 0
    fill(small_disk, leaving=70_000)
    done = run(home, "remember", "turmaline " + "x" * 100_000)
    assert done.returncode == 21, done.stdout + done.stderr
    assert "storage_full" in done.stderr + done.stdout
    (small_disk / "filler").unlink()
    assert run(home, "remember", "a second memory").returncode == 0
    verify(home)


def test_a_memory_that_a_full_disk_keeps_closed_does_not_promise_reading(small_disk: Path) -> None:
    home = small_disk / "memory"
    assert run(home, "remember", "a first memory").returncode == 0
    fill(small_disk)
    done = run(home, "recall", "first memory", "--no-daemon")
    assert done.returncode == 21, done.stdout + done.stderr
    assert "the disk is full" in done.stderr
    assert "Reads still work" not in done.stderr


def test_a_folder_that_cannot_be_made_for_want_of_room_says_so(small_disk: Path) -> None:
    fill(small_disk)
    done = run(small_disk / "memory", "remember", "a first memory")
    assert done.returncode == 21, done.stdout + done.stderr
    (small_disk / "filler").unlink()
    assert run(small_disk / "memory", "remember", "a first memory").returncode == 0
    verify(small_disk / "memory")


def test_a_failing_disk_stops_all_writing_and_nothing_is_promised(tmp_path: Path) -> None:
    """After a failed sync the kernel may forget what it held: a second try could promise what the disk has not."""
    home, log = tmp_path / "memory", tmp_path / "strace.log"
    with serving(home) as server:
        with Writers(server.url) as writers:
            writers.until_promised(40)
        with failing(server.pid, ("fdatasync", "fsync"), "EIO", log):
            answer = server.remember("turmaline under a failing disk")
            assert answer.status_code == 500, answer.text
            assert answer.json()["code"] == "storage_failed"
            assert server.found("turmaline") == []
        assert fired(log) > 0, "the fault did not fire"

        answer = server.remember("zirconia after the disk has recovered")
        assert (answer.status_code, answer.json()["code"]) == (500, "storage_failed")
        batch = server.post("/remember/batch", memories=[{"content": "zirconia in a batch"}])
        assert batch.status_code == 500
        observed = server.post("/observe", sessionId="s", hookType="x", timestamp="2026-11-15T20:41:34Z", data={})
        assert observed.json()["code"] == "storage_failed"
        keyed = server.http.post(
            "/agentmemory/remember", json={"content": "zirconia with a key"}, headers={"Idempotency-Key": "k"}
        )
        assert keyed.json()["code"] == "storage_failed"
        health = server.get("/health").json()
        assert health["status"] == "degraded"
        assert health["databaseStatus"] != "ok"
        assert_promises_kept(server, writers.promises)
        server.process.terminate()
        server.ended()
    with serving(home) as server:
        assert server.found("zirconia") == []
        assert_promises_kept(server, writers.promises)
        assert server.remember("chalcedony after a restart").status_code == 201
        assert server.get("/health").json()["status"] == "healthy"
        verify(home)


def test_a_failing_disk_stops_writers_that_are_under_way(tmp_path: Path) -> None:
    home, log = tmp_path / "memory", tmp_path / "strace.log"
    with serving(home) as server:
        with Writers(server.url) as writers:
            writers.until_promised(20)
            with failing(server.pid, ("fdatasync",), "EIO", log):
                writers.until(lambda: len(writers.refusals) >= 30, "refusals of a failing disk")
            promised = len(writers.promises)
            seen = len(writers.refusals)
            writers.until(lambda: len(writers.refusals) >= seen + 30, "refusals after the disk recovered")
        assert fired(log) > 0, "the fault did not fire"
        assert set(writers.refusals) == {(500, "storage_failed")}
        assert len(writers.promises) == promised
        server.kill()
    with serving(home) as server:
        assert_promises_kept(server, writers.promises)
        verify(home)


def test_the_log_gives_its_room_back_when_the_disk_is_full(small_disk: Path) -> None:
    """A hundred small records are far less than the disk, but their log, were it never reused, is more."""
    home = small_disk / "memory"
    with serving(home) as server:
        fill(small_disk, leaving=4_000_000)
        stored = 0
        for number in range(400):
            stored += server.remember(f"{word()} was seen {number} times near the {word()}").status_code == 201
        assert stored >= 200
    verify(home)
