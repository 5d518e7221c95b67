"""Work that lasts longer than anybody waits: the client has patience, and can ask what became of it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from flows import OLD
from patience import WAIT_SECONDS
from world import World, running

from holdfast import transport as connections
from holdfast.connection import RemoteConnection
from holdfast.core.errors import AnswerLate, NotFound, ServerUnreachable, VaultRefused
from holdfast.core.model import Caller, Json
from holdfast.ops.registry import BY_NAME, OPERATIONS
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.repo.jobs import MOST_WORKS, WORK


def statuses(world: World, caller: Caller | None = None) -> list[tuple[str, str]]:
    return [(one["operation"], one["status"]) for one in world.call("snapshot_status", caller)["works"]]


def test_what_was_done_is_told_with_its_end(world: World) -> None:
    world.call("remember", content=OLD)
    assert world.call("snapshot_status") == {"running": False, "works": []}
    id = world.call("snapshot_create")["id"]
    done = world.call("snapshot_restore", id=id, yes=True)
    with pytest.raises(NotFound):
        world.call("snapshot_delete", id="000099")

    works = world.call("snapshot_status")["works"]
    assert [(one["operation"], one["status"], one["about"]) for one in works] == [
        ("delete", "failed", None),
        ("restore", "done", done["generation"]),
        ("create", "done", id),
    ]
    assert works[0]["code"] == "not_found"
    assert statuses(world, Caller(tenant="acme", name="acme")) == []  # what others do is theirs


def test_what_goes_on_is_running_and_what_broke_off_is_interrupted(world: World) -> None:
    context = snapshot_context(world.context())
    with context.locked("restore"):
        assert world.call("snapshot_status")["running"]
        assert statuses(world) == [("restore", "running")]
        other = Caller(tenant="acme", name="acme", scopes=frozenset({"read"}))
        assert world.call("snapshot_status", other) == {"running": False, "works": []}
    note = (context.home / "snapshots" / WORK).read_bytes()
    with context.locked("prune"):
        begun = (context.home / "snapshots" / WORK).read_bytes()
    (context.home / "snapshots" / WORK).write_bytes(begun)  # as if it had been killed in between
    assert statuses(world) == [("prune", "interrupted"), ("restore", "done")]
    assert note != begun


def test_a_process_that_is_killed_at_work_is_told_as_interrupted(tmp_path: Path) -> None:
    work = (
        "import os, sys; from world import World; from pathlib import Path\n"
        "from holdfast.snapshot.repo.context import snapshot_context\n"
        "with snapshot_context(World(Path(sys.argv[1])).context()).locked('create'):\n"
        f"    os.kill(os.getpid(), {int(signal.SIGKILL)})"
    )
    path = os.pathsep.join(sys.path)
    subprocess.run(
        [sys.executable, "-c", work, str(tmp_path)], env={**os.environ, "PYTHONPATH": path}, timeout=WAIT_SECONDS
    )
    world = World(tmp_path)
    assert statuses(world) == [("create", "interrupted")]
    world.close()


def test_a_sync_that_is_killed_is_told_as_interrupted_and_one_that_goes_on_as_running(tmp_path: Path) -> None:
    """While something else is done, since it does not hold the lock of snapshots."""
    work = (
        "import os, sys; from world import World; from pathlib import Path\n"
        "from holdfast.snapshot.repo.context import snapshot_context\n"
        "world = World(Path(sys.argv[1])); context = snapshot_context(world.context())\n"
        "world.call('snapshot_create')\n"
        "with context.unlocked('sync'):\n"
        "    world.call('snapshot_create')\n"
        "    assert [one['status'] for one in world.call('snapshot_status')['works']] == ['done', 'running', 'done']\n"
        "    assert world.call('snapshot_status')['running']\n"
        f"    os.kill(os.getpid(), {int(signal.SIGKILL)})"
    )
    path = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", work, str(tmp_path)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, timeout=WAIT_SECONDS)
    world = World(tmp_path)

    assert done.returncode == -signal.SIGKILL
    assert statuses(world) == [("create", "done"), ("sync", "interrupted"), ("create", "done")]
    assert not world.call("snapshot_status")["running"]
    world.close()


def test_what_is_sent_to_a_vault_is_told_as_one_work_with_what_is_left(world: World, tmp_path: Path) -> None:
    world.call("remember", content=OLD)
    ids = [world.call("snapshot_create")["id"] for _ in range(3)]
    for _ in range(2):
        world.clock.now += 1_000
        world.call("vault_sync", vault=str(tmp_path / "vault"), limit=1)

    works = world.call("snapshot_status")["works"]
    assert [(one["operation"], one["status"], one["about"], one["message"]) for one in works[:1]] == [
        ("sync", "done", ids[1], "1 more to upload")
    ]
    assert [one["operation"] for one in works] == ["sync", "create", "create", "create"]
    with pytest.raises(VaultRefused):
        world.call("snapshot_create", to=str(tmp_path / "not" / "there"))
    assert statuses(world)[:3] == [("send", "failed"), ("create", "done"), ("sync", "done")]


@pytest.mark.parametrize("nonsense", [b"", b"{}", b"[1, {}]", b'[{"operation": 1}]', b"\xff", b'[{"operation":"a"}]'])
def test_a_note_that_cannot_be_read_is_no_obstacle(world: World, nonsense: bytes) -> None:
    world.call("snapshot_create")
    (world.engine.path / "snapshots" / WORK).write_bytes(nonsense)
    assert statuses(world) == []
    world.call("snapshot_create")
    assert statuses(world) == [("create", "done")]


def test_notes_do_not_grow_for_ever(world: World) -> None:
    context = snapshot_context(world.context())
    for _ in range(MOST_WORKS + 5):
        world.clock.now += 1
        with context.locked("prune"):
            pass
    assert len(statuses(world)) == MOST_WORKS


def test_a_client_waits_long_for_what_takes_long_and_a_late_answer_is_no_unreachable_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ANSWER_SECONDS", 0.2)
    with running(tmp_path / "memory") as http, closing(RemoteConnection(str(http.base_url), None)) as connection:
        http.post("/agentmemory/remember", json={"content": OLD})
        lock = tmp_path / "memory" / "snapshots" / ".lock"
        lock.parent.mkdir(exist_ok=True)
        with open(lock, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # the server waits for it for a minute
            monkeypatch.setattr(connections, "LONG_SECONDS", 0.5)
            with pytest.raises(AnswerLate) as told:
                connection.call(BY_NAME["snapshot_create"], {})
            monkeypatch.setattr(connections, "LONG_SECONDS", 60)
            timer = threading.Timer(0.6, fcntl.flock, (file, fcntl.LOCK_UN))
            timer.start()
            made = connection.call(BY_NAME["snapshot_create"], {})  # longer than others wait
            timer.join()
        monkeypatch.setattr(connections, "ANSWER_SECONDS", 60)
        works = _ended(connection, 2)  # what nobody waited for is made as well

    assert "snapshot status" in told.value.hint
    assert not isinstance(told.value, ServerUnreachable)
    assert made["id"] in [one["about"] for one in works]
    assert {one["status"] for one in works} == {"done"}


def _ended(connection: RemoteConnection, number: int) -> list[Json]:
    """The works, once so many have ended."""
    for _ in range(10_000):
        works: list[Json] = connection.call(BY_NAME["snapshot_status"], {})["works"]
        if len([one for one in works if one["endedAt"]]) == number:
            return works
    raise AssertionError("they never ended")


def test_everything_that_reads_or_writes_a_whole_memory_has_that_patience() -> None:
    short = {"snapshot_show", "snapshot_status", "snapshot_delete", "snapshot_set_aside", "snapshot_damaged"}
    whole = {one.name for one in OPERATIONS if one.name.startswith(("snapshot_", "vault_"))} - short
    assert {one.name for one in OPERATIONS if one.long} >= whole
