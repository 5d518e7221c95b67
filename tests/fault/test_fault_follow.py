"""A copy is killed or failed at single system calls while it follows or takes over: it has neither half a piece nor one
too few, and is either a copy or a memory of its own.

A few points of each kind; `make faults` goes through all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from follow_points import break_copy


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("follow")


@pytest.mark.parametrize(
    ("action", "syscall", "when"),
    [
        ("follow", "pwrite64", 3),
        ("follow", "pwrite64", 12),
        ("follow", "fdatasync", 1),
        ("promote", "rename", 1),
        ("promote", "rename", 2),
        ("promote", "rename", 3),
        ("promote", "rename", 4),
        ("promote", "fsync", 5),
        ("promote", "pwrite64", 20),
    ],
)
def test_a_copy_killed_at_one_call_lacks_nothing(place: Path, action: str, syscall: str, when: int) -> None:
    assert break_copy(place, syscall, when, action=action).fired, "the fault did not fire"


@pytest.mark.parametrize(
    ("action", "syscall", "when", "error"),
    [("follow", "pwrite64", 6, "EIO"), ("follow", "pwrite64", 6, "ENOSPC"), ("promote", "rename", 3, "EIO")],
)
def test_a_copy_whose_disk_fails_lacks_nothing(place: Path, action: str, syscall: str, when: int, error: str) -> None:
    assert break_copy(place, syscall, when, action=action, how=f"error={error}").fired
