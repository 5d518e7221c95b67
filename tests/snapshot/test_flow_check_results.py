"""What a list says of bundles it does not read: verified, damaged or not checked, and true as long as files stay."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from flows import NEW, OLD, Cli, identity_file, recipient
from harm import flip_bit
from world import DAY, World

from holdfast.core.errors import Conflict
from holdfast.core.times import iso
from holdfast.serve.background.schedule import SnapshotSchedule
from holdfast.snapshot import verify as verifying
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.repo.check_results import RECORD
from holdfast.snapshot.repo.context import snapshot_context


def statuses(world: World, **ask: Any) -> list[str]:
    return [one["status"] for one in world.call("snapshot_list", **ask)["snapshots"]]


def bundle_of(world: World, id: str) -> Path:
    return next(snapshot_context(world.context()).repo.root.glob(f"{id}.tar.zst"))


def spoil(path: Path) -> None:
    flip_bit(path, path.stat().st_size // 2)


@pytest.fixture
def two(world: World) -> tuple[World, str, str]:
    world.call("remember", content=OLD)
    first = world.call("snapshot_create")["id"]
    world.call("remember", content=NEW)
    return world, first, world.call("snapshot_create")["id"]


def test_a_list_says_what_a_verification_found(two: tuple[World, str, str]) -> None:
    world, first, second = two
    assert statuses(world) == ["not checked", "not checked"]
    spoil(bundle_of(world, first))
    assert statuses(world) == ["not checked", "not checked"]  # a list reads no bundles
    assert not world.call("snapshot_verify", id=first)["sound"]
    assert world.call("snapshot_verify", id=second)["sound"]

    newest, oldest = world.call("snapshot_list")["snapshots"]
    assert (newest["status"], newest["damaged"]) == ("verified", False)
    assert newest["checkedAt"] == iso(world.clock.now)
    assert oldest["damaged"]
    assert "SHA-256" in oldest["status"]


def test_a_plain_list_reads_no_bundle_and_with_check_those_that_were_not_checked(
    two: tuple[World, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, first, second = two
    read: list[str] = []
    really = verifying._check_bytes
    monkeypatch.setattr(
        verifying, "_check_bytes", lambda path, manifest: (read.append(path.name), really(path, manifest))
    )
    world.call("snapshot_list")
    assert read == []
    assert statuses(world, check=True) == ["verified", "verified"]
    assert sorted(read) == [f"{first}.tar.zst", f"{second}.tar.zst"]
    assert statuses(world, check=True) == ["verified", "verified"]
    assert len(read) == 2
    spoil(bundle_of(world, second))
    assert statuses(world) == ["not checked", "verified"]  # its time tells that somebody wrote to it
    world.call("snapshot_list", check=True)
    assert len(read) == 3
    assert world.call("snapshot_list")["snapshots"][0]["damaged"]


def test_another_file_in_the_place_of_a_checked_one_is_not_checked(two: tuple[World, str, str]) -> None:
    world, first, _ = two
    world.call("snapshot_list", check=True)
    path = bundle_of(world, first)
    about = path.stat()
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    os.utime(copy, ns=(about.st_atime_ns, about.st_mtime_ns))
    copy.rename(path)
    assert statuses(world) == ["verified", "not checked"]


def test_what_was_found_damaged_is_no_last_good_one(two: tuple[World, str, str]) -> None:
    world, first, second = two
    spoil(bundle_of(world, second))
    world.call("snapshot_verify", id=second)

    with pytest.raises(Conflict, match="last intact"):
        world.call("snapshot_delete", id=first)
    assert world.call("health")["snapshots"]["newest"] == first
    world.call("remember", content="The third of them")
    assert world.call("snapshot_create")["snapshot"]["parent"] == first


def test_a_damaged_one_that_was_put_back_is_good_again_after_a_check(two: tuple[World, str, str]) -> None:
    world, _, second = two
    path = bundle_of(world, second)
    sound = path.read_bytes()
    spoil(path)
    world.call("snapshot_list", check=True)
    path.write_bytes(sound)
    assert statuses(world, check=True) == ["verified", "verified"]


@pytest.mark.parametrize(
    "nonsense", [b"", b"[]", b"{", b'{"x": 1}', b"null", b'{"a": [1, 2, 3, 4, "m", 5, 6]}', b"\xff"]
)
def test_a_record_that_cannot_be_read_counts_as_none(two: tuple[World, str, str], nonsense: bytes) -> None:
    world, _, _ = two
    world.call("snapshot_list", check=True)
    (snapshot_context(world.context()).repo.root / RECORD).write_bytes(nonsense)
    assert statuses(world) == ["not checked", "not checked"]
    assert statuses(world, check=True) == ["verified", "verified"]


def test_the_schedule_checks_one_at_a_look_and_again_after_a_month(two: tuple[World, str, str]) -> None:
    world, first, _ = two
    schedule = SnapshotSchedule(world.engine)
    schedule.run_once()
    assert statuses(world) == ["verified", "not checked"]
    schedule.run_once()
    assert statuses(world) == ["verified", "verified"]
    path = bundle_of(world, first)
    before = snapshot_context(world.context()).repo.find(first).checked_at
    schedule.run_once()
    assert snapshot_context(world.context()).repo.find(first).checked_at == before
    world.clock.now += 31 * DAY
    for _ in range(3):
        schedule.run_once()
    assert path.exists()
    assert snapshot_context(world.context()).repo.find(first).checked_at == world.clock.now


def test_a_folder_that_takes_no_note_still_says_what_is_found(two: tuple[World, str, str]) -> None:
    world, first, _ = two
    (snapshot_context(world.context()).repo.root / RECORD).mkdir()  # nothing can be written there
    assert world.call("snapshot_verify", id=first)["sound"]
    assert statuses(world) == ["not checked", "not checked"]


def test_an_encrypted_one_is_checked_without_its_identity(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "memory")
    cli.remember(OLD)
    cli.create("--encrypt", recipient())
    assert cli.good("snapshot", "list", "--check")["snapshots"][0]["status"] == "verified"
    assert cli.found("recall", "amber cabinet", "--at", "latest", "--identity", identity_file(tmp_path)) == [OLD]


def test_the_schedule_does_not_read_the_same_one_for_ever_where_no_note_can_be_taken(
    two: tuple[World, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, first, second = two
    (snapshot_context(world.context()).repo.root / RECORD).mkdir()
    read: list[str] = []
    really = verifying._check_bytes

    def check(path: Path, manifest: Manifest) -> None:
        read.append(path.name.split(".")[0])
        really(path, manifest)

    monkeypatch.setattr(verifying, "_check_bytes", check)
    schedule = SnapshotSchedule(world.engine)
    for _ in range(5):
        schedule.run_once()
    assert read == [second, first]
