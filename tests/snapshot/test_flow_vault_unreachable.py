"""A vault that is away: nothing that is asked of the memory fails for it, what waits is told, and sent later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flows import NEW, OLD, Cli
from world import World, running

from holdfast.core.errors import Fault
from holdfast.serve.background.schedule import SnapshotSchedule
from holdfast.snapshot.repo.context import snapshot_context
from holdfast.snapshot.repo.send_marks import unsent_mark


class Place:
    """A vault in a folder that can be taken away and brought back."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir()

    def leave(self) -> None:
        self.folder.rename(self.folder.with_name("elsewhere"))
        self.folder.write_bytes(b"")  # something else is there now

    def come_back(self) -> None:
        self.folder.unlink()
        self.folder.with_name("elsewhere").rename(self.folder)

    def ids(self) -> set[str]:
        return {path.name.split(".")[0] for path in self.folder.rglob("*.manifest.json")}


@pytest.fixture
def vault(tmp_path: Path) -> Place:
    return Place(tmp_path / "vault")


@pytest.fixture
def kept(tmp_path: Path, vault: Place) -> Iterator[World]:
    world = World(tmp_path / "memory", vault=str(vault.folder))
    world.call("remember", content=OLD)
    yield world
    world.close()


def health(world: World) -> Any:
    return world.call("health")["snapshots"]


def test_what_is_made_before_a_restore_and_an_undo_reaches_the_vault(kept: World, vault: Place) -> None:
    first = kept.call("snapshot_create")["id"]
    kept.call("remember", content=NEW)
    done = kept.call("snapshot_restore", id=first, yes=True)
    assert "waiting" not in done
    kept.call("remember", content="The third of them")
    undone = kept.call("snapshot_undo", yes=True)

    assert {first, done["before"], undone["before"]} == vault.ids()
    assert health(kept)["waiting"] == 0


def test_a_restore_and_an_undo_do_not_fail_for_a_vault_that_is_away_and_say_what_waits(
    kept: World, vault: Place
) -> None:
    first = kept.call("snapshot_create")["id"]
    kept.call("remember", content=NEW)
    vault.leave()
    done = kept.call("snapshot_restore", id=first, yes=True)
    assert "vault" in done["waiting"]
    assert health(kept)["waiting"] == 1
    kept.call("remember", content="The third of them")
    undone = kept.call("snapshot_undo", yes=True)
    assert "vault" in undone["waiting"]
    assert health(kept)["waiting"] == 2

    vault.come_back()
    SnapshotSchedule(kept.engine).run_once()
    assert {first, done["before"], undone["before"]} <= vault.ids()
    assert health(kept)["waiting"] == 0


def test_after_a_restore_the_newest_in_the_vault_is_soon_what_is_live(kept: World, vault: Place) -> None:
    """And not what it replaced: the next host begins with the newest."""
    first = kept.call("snapshot_create")["id"]
    kept.call("remember", content=NEW)
    schedule = SnapshotSchedule(kept.engine)
    schedule.run_once()
    replaced = kept.call("snapshot_restore", id=first, yes=True)["before"]
    assert max(vault.ids()) == replaced
    schedule.run_once()

    newest = max(vault.ids())
    assert newest > replaced
    found = kept.call("snapshot_search", id=newest, query="amber cabinet ferry island")["results"]
    assert [one["observation"]["content"] for one in found] == [OLD]
    for _ in range(2):
        schedule.run_once()
    assert max(vault.ids()) == newest


def test_an_import_and_a_bulk_forget_do_not_fail_for_it(kept: World, vault: Place) -> None:
    vault.leave()
    kept.call("import_", exportData={"memories": []})
    words = "amber birch cedar delta ember fjord glade heron inlet jetty knoll ledge".split()
    many = [kept.call("remember", content=f"{word * 3} buoy {word}{word}")["memory"]["id"] for word in words]
    kept.call("governance_delete", memoryIds=many, reason="test")

    made = [one["createdBy"] for one in kept.call("snapshot_list")["snapshots"]]
    assert made == ["before-forget", "before-import"]
    assert health(kept)["waiting"] == 2
    vault.come_back()
    SnapshotSchedule(kept.engine).run_once()
    assert len(vault.ids()) == 2


def test_one_made_by_hand_is_made_and_the_fault_says_so(kept: World, vault: Place) -> None:
    vault.leave()
    with pytest.raises(Fault, match="vault") as told:
        kept.call("snapshot_create")
    id = kept.call("snapshot_list")["snapshots"][0]["id"]
    assert told.value.details["id"] == id
    assert "was created" in told.value.hint
    assert {"newest": id, "ageSeconds": 0, "waiting": 1}.items() <= health(kept).items()


def test_what_another_vault_did_not_take_is_not_promised_by_the_server(kept: World, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "no" / "such")
    with pytest.raises(Fault, match="does not exist") as told:
        kept.call("snapshot_create", to=elsewhere)
    assert "The server" not in told.value.hint
    assert f"holdfast vault sync {elsewhere}" in told.value.hint


def test_what_waits_is_still_known_after_a_restart_and_sync_sends_it(tmp_path: Path, vault: Place) -> None:
    cli = Cli(tmp_path / "memory", HOLDFAST_VAULT=str(vault.folder), HOLDFAST_VAULT_ATTEMPTS="1")
    cli.remember(OLD)
    vault.leave()
    assert cli("snapshot", "create").code != 0
    assert cli.good("health")["snapshots"]["waiting"] == 1
    vault.come_back()
    assert len(cli.good("vault", "sync")["sent"]) == 1
    assert cli.good("health")["snapshots"]["waiting"] == 0
    assert len(vault.ids()) == 1


def test_one_that_is_gone_waits_no_more(kept: World, vault: Place) -> None:
    vault.leave()
    for _ in range(2):
        with pytest.raises(Fault):
            kept.call("snapshot_create")
    kept.call("snapshot_delete", id=kept.call("snapshot_list")["snapshots"][0]["id"])
    repo = snapshot_context(kept.context()).repo
    (repo.root / unsent_mark("000099-20260921T131313Z-abcdef")).write_bytes(b"")  # killed before it was put
    assert health(kept)["waiting"] == 1
    assert repo.sweep() == [unsent_mark("000099-20260921T131313Z-abcdef")]


def test_without_a_schedule_of_snapshots_a_server_still_sends_what_waits(tmp_path: Path, vault: Place) -> None:
    world = World(tmp_path / "memory", vault=str(vault.folder), snapshot_every="off")
    world.call("remember", content=OLD)
    vault.leave()
    world.call("import_", exportData={"memories": []})
    vault.come_back()
    SnapshotSchedule(world.engine).run_once()
    assert len(vault.ids()) == 1
    assert len(world.call("snapshot_list")["snapshots"]) == 1
    world.close()


def test_metrics_say_how_old_the_newest_is_and_how_many_wait(tmp_path: Path, vault: Place) -> None:
    with running(tmp_path / "memory", vault=str(vault.folder), vault_attempts=1) as http:
        assert http.post("/agentmemory/remember", json={"content": OLD}).status_code == 201
        assert "holdfast_snapshot_age_seconds" not in http.get("/metrics").text
        vault.leave()
        refused = http.post("/agentmemory/snapshots", json={})
        assert refused.status_code >= 500
        lines = http.get("/metrics").text.splitlines()
    assert "holdfast_snapshots_waiting 1" in lines
    assert any(line.startswith("holdfast_snapshot_age_seconds ") for line in lines)
