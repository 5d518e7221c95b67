"""The commands that make, restore, prune and drill snapshots are killed or failed at single system calls.

A few points of each kind; `make faults` goes through all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from snapshot_points import fail_snapshot, kill_snapshot


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared, as the memory that is broken in it is copied anew each time."""
    return tmp_path_factory.mktemp("snapshots")


@pytest.mark.parametrize(
    ("action", "syscall", "when"),
    [
        ("create", "pwrite64", 40),
        ("create", "rename", 5),
        ("create", "fsync", 8),
        ("restore", "rename", 8),
        ("restore", "rename", 11),
        ("restore", "renameat2", 1),
        ("restore", "fsync", 40),
        ("restore", "unlinkat", 5),
        ("prune", "unlink", 4),
        ("drill", "pwrite64", 8),
        ("drill", "fsync", 10),
        ("drill", "rename", 3),
        ("drill", "unlinkat", 2),
    ],
)
def test_a_command_killed_at_one_call_leaves_old_or_new(place: Path, action: str, syscall: str, when: int) -> None:
    assert kill_snapshot(place, syscall, when, action=action).fired, "the fault did not fire"


@pytest.mark.parametrize(
    ("action", "syscall", "when", "error"),
    [
        ("create", "fsync", 6, "EIO"),
        ("create", "pwrite64", 50, "ENOSPC"),
        ("restore", "fsync", 30, "EIO"),
        ("restore", "fsync", 45, "EIO"),
        ("restore", "renameat2", 1, "EIO"),
        ("restore", "pwrite64", 80, "ENOSPC"),
        ("drill", "fsync", 6, "EIO"),
        ("drill", "pwrite64", 6, "ENOSPC"),
    ],
)
def test_a_command_whose_disk_fails_never_says_that_it_succeeded(
    place: Path, action: str, syscall: str, when: int, error: str
) -> None:
    outcome = fail_snapshot(place, syscall, when, action=action, error=error, onward=True)
    assert outcome.fired, "the fault did not fire"
    assert not outcome.acknowledged


@pytest.mark.parametrize(
    ("action", "syscall", "when"),
    [
        ("create", "link", 1),
        ("create", "rename", 6),
        ("create", "rename", 8),
        ("create", "rename", 9),
        ("create", "fsync", 12),
        ("create", "unlink", 2),
        ("prune", "unlink", 2),
        ("prune", "unlink", 5),
        ("prune", "unlink", 8),
    ],
)
def test_a_command_killed_on_a_repository_of_chunks_leaves_old_or_new(
    place: Path, action: str, syscall: str, when: int
) -> None:
    assert kill_snapshot(place, syscall, when, action=action, layout="chunks").fired, "the fault did not fire"


@pytest.mark.parametrize(
    ("syscall", "when", "error"), [("fsync", 6, "EIO"), ("fsync", 12, "EIO"), ("write", 15, "ENOSPC")]
)
def test_a_repository_of_chunks_whose_disk_fails_gets_no_half(place: Path, syscall: str, when: int, error: str) -> None:
    outcome = fail_snapshot(place, syscall, when, action="create", error=error, onward=True, layout="chunks")
    assert outcome.fired, "the fault did not fire"
    assert not outcome.acknowledged
