"""Work in the repository of snapshots is killed or failed at single system calls: old or new, never in between.

A few points of each kind; `make faults` goes through all of them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from repo_points import fail_repo, kill_repo
from repo_samples import BOOKKEEPING, files_of, names_on, put_sample, sample_bundle, sample_id, sample_manifest, stage

from holdfast.core.errors import StorageFull
from holdfast.snapshot.bundle.manifest import manifest_bytes
from holdfast.snapshot.repo.repository import SnapshotRepository


@pytest.mark.parametrize(
    ("action", "syscall", "when"),
    [
        ("put", "rename", 2),
        ("put", "rename", 3),
        ("put", "fsync", 9),
        ("put", "unlink", 1),
        ("delete", "unlink", 2),
        ("delete", "unlink", 4),
        ("delete", "rename", 1),
        ("sweep", "unlink", 3),
        ("sweep", "rmdir", 1),
        ("number", "rename", 1),
        ("send", "link", 3),
        ("send", "unlink", 1),
    ],
)
def test_work_killed_at_one_call_leaves_the_old_repository_or_the_new(
    tmp_path: Path, action: str, syscall: str, when: int
) -> None:
    assert kill_repo(tmp_path, syscall, when, action=action).fired, "the fault did not fire"


@pytest.mark.parametrize(
    ("action", "syscall", "when", "error", "onward"),
    [
        ("put", "fsync", 1, "EIO", True),
        ("put", "fsync", 10, "EIO", False),
        ("put", "fsync", 10, "EIO", True),
        ("put", "write", 3, "ENOSPC", True),
        ("put", "rename", 3, "EIO", True),
        ("number", "fsync", 1, "EIO", True),
        ("send", "fsync", 4, "EIO", True),
        ("send", "write", 2, "ENOSPC", True),
    ],
)
def test_work_whose_disk_fails_at_one_call_says_so_and_breaks_nothing(
    tmp_path: Path, action: str, syscall: str, when: int, error: str, onward: bool
) -> None:
    outcome = fail_repo(tmp_path, syscall, when, action=action, error=error, onward=onward)
    assert outcome.fired, "the fault did not fire"
    assert not outcome.acknowledged


def test_a_vault_without_hard_links_takes_snapshots_too(tmp_path: Path) -> None:
    outcome = fail_repo(tmp_path, "link", 1, action="send", error="EPERM", onward=True)
    assert outcome.fired, "the fault did not fire"
    assert outcome.acknowledged


def fill(filler: Path) -> None:
    """Take all the room there is."""
    room = os.statvfs(filler.parent)
    filler.write_bytes(bytes(room.f_bavail * room.f_frsize))


def test_a_full_disk_refuses_a_snapshot_keeps_the_others_and_heals_by_itself(small_disk: Path) -> None:
    repo = SnapshotRepository(small_disk / "shelf")
    put_sample(repo, 1)
    body = sample_bundle(2)
    manifest = sample_manifest(2, body)
    filler = small_disk / "filler"
    with repo.staging() as staging:
        path = stage(staging, manifest, body)
        fill(filler)
        with pytest.raises(StorageFull):
            repo.next_sequence()
        with pytest.raises(StorageFull):
            repo.put(path, manifest, manifest_bytes(manifest))
    assert [one.id for one in repo.list()] == [sample_id(1)]
    assert [one.damaged for one in repo.list()] == [None]
    os.unlink(filler)
    put_sample(repo, 2)
    repo.sweep()
    assert names_on(repo) == files_of(1) | files_of(2) | BOOKKEEPING
