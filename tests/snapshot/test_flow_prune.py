"""List, show, export, delete and prune through the operations; automatic snapshots and when they are made."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from flows import NEW, OLD, Cli
from patience import WAIT_SECONDS
from world import DAY, World

from holdfast.core.errors import Conflict, DataDamaged, Fault, InvalidRequest, NotFound, SnapshotsBusy
from holdfast.core.model import Caller
from holdfast.serve.background.schedule import SnapshotSchedule
from holdfast.snapshot.repo.context import snapshot_context

HOUR = 3_600_000


@pytest.fixture
def kept(world: World) -> World:
    world.call("remember", content=OLD)
    return world


def makers(world: World) -> list[str]:
    """Who made the snapshots, newest first."""
    return [one["createdBy"] for one in world.call("snapshot_list", limit=1000)["snapshots"]]


def ids(world: World) -> list[str]:
    return [one["id"] for one in world.call("snapshot_list", limit=1000)["snapshots"]]


def test_an_export_is_checked_by_sha256sum_and_never_overwrites(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    cli.remember(OLD)
    id = cli.create()
    files = cli.good("snapshot", "export", id, "--to", str(tmp_path / "out"))["files"]
    assert {Path(one).name for one in files} == {
        f"{id}{end}" for end in (".tar.zst", ".tar.zst.sha256", ".manifest.json", ".manifest.json.sha256")
    }
    for one in files:
        if one.endswith(".sha256"):
            subprocess.run(["sha256sum", "-c", one], cwd=tmp_path / "out", check=True, capture_output=True)
    assert cli("snapshot", "export", id, "--to", str(tmp_path / "out")).code == 5
    assert cli.good("snapshot", "verify", str(tmp_path / "out"))["sound"]


def test_verify_without_an_id_checks_the_newest(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    cli.remember(OLD)
    cli.create()
    cli.remember(NEW)
    newest = cli.create()
    checked = cli.good("snapshot", "verify")
    assert (checked["sound"], checked["snapshot"]) == (True, newest)


def test_the_last_good_one_is_not_deleted(kept: World) -> None:
    first = kept.call("snapshot_create")["id"]
    with pytest.raises(Conflict):
        kept.call("snapshot_delete", id=first)
    second = kept.call("snapshot_create")["id"]
    next(kept.engine.path.glob(f"snapshots/*/*/{second}.manifest.json.sha256")).unlink()
    with pytest.raises(Conflict):  # the other one is damaged
        kept.call("snapshot_delete", id=first)
    kept.call("snapshot_delete", id=second)
    assert ids(kept) == [first]
    kept.call("snapshot_create")
    kept.call("snapshot_delete", id=first)
    assert len(ids(kept)) == 1
    with pytest.raises(NotFound):
        kept.call("snapshot_delete", id=first)


def test_one_in_use_is_neither_deleted_nor_pruned(kept: World) -> None:
    used = kept.call("snapshot_create")["id"]
    other = kept.call("snapshot_create")["id"]
    newest = kept.call("snapshot_create")["id"]
    with snapshot_context(kept.context()).repo.hold(used):
        with pytest.raises(SnapshotsBusy):
            kept.call("snapshot_delete", id=used)
        done = kept.call("snapshot_prune", keep=1)
        assert done["remove"] == [other]
        assert used in ids(kept)
    kept.call("snapshot_prune", keep=1)
    assert ids(kept) == [newest]


def test_a_prune_does_what_its_dry_run_said(kept: World) -> None:
    for _ in range(6):
        kept.call("snapshot_create")
        kept.clock.now += DAY
    before = ids(kept)
    said = kept.call("snapshot_prune", keep=1, keepDaily=3, dryRun=True)
    assert ids(kept) == before
    done = kept.call("snapshot_prune", keep=1, keepDaily=3)
    assert said["remove"] == done["remove"]
    assert said["keep"] == done["keep"]
    assert ids(kept) == before[:3]
    with pytest.raises(InvalidRequest):
        kept.call("snapshot_prune")


def test_deleting_the_newest_on_purpose_is_not_a_rollback(kept: World) -> None:
    first, second = (kept.call("snapshot_create")["id"] for _ in range(2))
    kept.call("snapshot_delete", id=second)
    assert kept.call("snapshot_verify", id="latest")["sound"]
    third = kept.call("snapshot_create")["id"]
    assert third.startswith("000003-")
    assert ids(kept) == [third, first]


# Automatic


TWO = {"snapshot_keep_last": "2"} | {f"snapshot_keep_{name}": "0" for name in ("days", "daily", "weekly", "monthly")}


@pytest.fixture
def few(tmp_path: Path) -> Iterator[World]:
    """A memory that keeps two automatic snapshots."""
    made = World(tmp_path / "memory", snapshot_every="1h", **TWO)
    made.call("remember", content=OLD)
    yield made
    made.close()


def change(world: World, number: int) -> None:
    world.call("remember", content=f"{NEW}, pier {number}")


@pytest.mark.embedded  # on PostgreSQL the turns of a schedule go by the clock of the database
def test_the_schedule_makes_one_when_it_is_time_and_something_changed(few: World) -> None:
    schedule = SnapshotSchedule(few.engine)
    schedule.run_once()
    assert makers(few) == ["schedule"]
    change(few, 1)
    schedule.run_once()
    assert len(ids(few)) == 1  # not yet time
    few.clock.now += HOUR
    schedule.run_once()
    assert len(ids(few)) == 2
    few.clock.now += 9 * HOUR
    schedule.run_once()
    assert len(ids(few)) == 2  # nothing changed
    SnapshotSchedule(few.engine).run_once()  # after a restart
    assert len(ids(few)) == 2


@pytest.mark.embedded  # on PostgreSQL the turns of a schedule go by the clock of the database
def test_automatic_ones_are_pruned_and_those_made_by_hand_never(few: World) -> None:
    by_hand = [few.call("snapshot_create", label="keep")["id"] for _ in range(3)]
    schedule = SnapshotSchedule(few.engine)
    for number in range(5):
        change(few, number)
        few.clock.now += HOUR
        schedule.run_once()
    assert makers(few) == ["schedule", "schedule", "hand", "hand", "hand"]
    assert set(by_hand) <= set(ids(few))


@pytest.mark.embedded  # on PostgreSQL the turns of a schedule go by the clock of the database
@pytest.mark.parametrize("jump", [-5_000 * DAY, 5_000 * DAY])
def test_a_clock_that_jumps_loses_no_snapshot_that_the_settings_keep(few: World, jump: int) -> None:
    schedule = SnapshotSchedule(few.engine)
    for number in range(2):
        change(few, number)
        few.clock.now += HOUR
        schedule.run_once()
    before = ids(few)
    few.clock.now += jump
    change(few, 9)
    SnapshotSchedule(few.engine).run_once()
    assert ids(few)[-1] == before[0] or ids(few) == before
    assert len(ids(few)) == 2


def test_what_the_vault_did_not_take_is_sent_when_it_is_there_again(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    world = World(tmp_path / "memory", snapshot_every="1h", vault=str(vault))
    try:
        world.call("remember", content=OLD)
        vault.rmdir()
        vault.write_bytes(b"")  # something else is there now
        schedule = SnapshotSchedule(world.engine)
        for _ in range(2):
            with pytest.raises(Fault):
                schedule.run_once()
            world.clock.now += HOUR
        assert len(ids(world)) == 1
        vault.unlink()
        schedule.run_once()
        assert [path.name for path in vault.rglob("*.manifest.json")] == [f"{ids(world)[0]}.manifest.json"]
    finally:
        world.close()


def test_while_the_vault_is_away_no_more_snapshots_are_made_or_kept_than_else(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    (disk / "vault").mkdir(parents=True)
    world = World(tmp_path / "memory", snapshot_every="1h", vault=str(disk / "vault"), **TWO)
    try:
        (disk / "vault").rmdir()
        disk.rmdir()
        schedule = SnapshotSchedule(world.engine)
        for number in range(4):
            change(world, number)
            for _ in range(3):  # three looks within the hour, and something new before each
                change(world, 10 + number)
                with pytest.raises(Fault):
                    schedule.run_once()
            assert len(ids(world)) == min(number + 1, 2)
            world.clock.now += HOUR
        disk.mkdir()
        schedule.run_once()
        assert {path.name.split(".")[0] for path in disk.rglob("*.manifest.json")} == set(ids(world))
    finally:
        world.close()


def test_a_fault_of_one_tenant_keeps_no_other_from_its_snapshots(few: World) -> None:
    acme, zeta = (Caller(tenant=name, name=name) for name in ("acme", "zeta"))
    for caller in (acme, zeta):
        few.call("remember", caller, content=OLD)
    repo = snapshot_context(few.engine.context(acme)).repo
    repo.root.mkdir(parents=True)
    (repo.root / "newest").write_text("no number\n")
    with pytest.raises(DataDamaged):
        SnapshotSchedule(few.engine).run_once()
    assert snapshot_context(few.engine.context(zeta)).repo.count() == 1


def test_an_unexpected_failure_does_not_end_the_schedule(few: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, second = [], threading.Event()
    monkeypatch.setattr("holdfast.serve.background.schedule.LOOK_SECONDS", 0.01)

    class Failing(SnapshotSchedule):
        def run_once(self) -> None:
            looks.append(1)
            if len(looks) > 1:
                second.set()
            raise RuntimeError

    schedule = Failing(few.engine)
    schedule.start()
    assert second.wait(WAIT_SECONDS)
    schedule.stop()


def bulk(world: World) -> list[str]:
    """Twelve memories that have nothing in common but one word."""
    words = "amber birch cedar delta ember fjord glade heron inlet jetty knoll ledge".split()
    return [world.call("remember", content=f"{word * 3} buoy {word}{word}")["memory"]["id"] for word in words]


def test_before_work_that_changes_much_there_is_a_snapshot_of_what_was(kept: World) -> None:
    many = bulk(kept)
    kept.call("governance_delete", memoryIds=many, reason="test")
    assert makers(kept) == ["before-forget"]
    assert kept.call("search", query="buoy", at="latest")["results"]
    assert not kept.call("search", query="buoy")["results"]
    kept.call("import_", exportData={"memories": []})
    assert makers(kept)[0] == "before-import"
    kept.call("import_", exportData={"memories": []})
    assert makers(kept) == ["before-import", "before-forget"], "nothing had changed"


def test_consolidation_is_preceded_by_one_if_something_is_new(kept: World) -> None:
    kept.call("consolidate", force=True)
    first = makers(kept)
    assert first == ["before-consolidate"]


def test_with_none_there_is_no_snapshot_before_anything(tmp_path: Path) -> None:
    world = World(tmp_path / "memory", snapshot_before="none")
    try:
        world.call("governance_delete", memoryIds=bulk(world), reason="test")
        assert ids(world) == []
        first = world.call("snapshot_create")["id"]
        assert world.call("snapshot_restore", id=first, yes=True)["before"] is None
        assert ids(world) == [first]
    finally:
        world.close()


def test_work_does_not_begin_when_its_snapshot_cannot_be_made(tmp_path: Path) -> None:
    world = World(tmp_path / "memory", snapshot_lock_seconds="0")
    try:
        many = bulk(world)
        with snapshot_context(world.context()).locked("create"), pytest.raises(SnapshotsBusy):
            world.call("governance_delete", memoryIds=many, reason="test")
        assert len(world.call("memories")["memories"]) == len(many)
        with snapshot_context(world.context()).locked("create"), pytest.raises(SnapshotsBusy):
            world.call("snapshot_create")
        world.call("governance_delete", memoryIds=many, reason="test")
        assert world.call("memories")["memories"] == []
    finally:
        world.close()
