"""The commands that take, restore and put back guarded files are killed or failed at single system calls.

A few points of each kind; `make faults` goes through all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from guard_points import break_guard

KILLS = [
    ("scan", "pwrite64", 3),
    ("scan", "pwrite64", 9),
    ("scan", "fdatasync", 2),
    ("scan", "unlink", 1),
    ("restore", "mkdir", 1),
    ("restore", "write", 2),
    ("restore", "fsync", 3),
    ("restore", "fsync", 9),
    ("restore", "rename", 1),
    ("restore", "rename", 2),
    ("restore", "renameat", 1),
    ("restore", "renameat", 2),
    ("restore", "renameat", 3),
    ("restore", "fchmod", 2),
    ("undo", "renameat", 1),
    ("undo", "renameat", 2),
    ("undo", "rename", 1),
    ("undo", "unlink", 1),
]


@pytest.mark.parametrize(("action", "syscall", "when"), KILLS)
def test_a_command_killed_at_one_call_leaves_old_or_new(tmp_path: Path, action: str, syscall: str, when: int) -> None:
    assert break_guard(tmp_path, syscall, when, action=action).fired, "the fault did not fire"


@pytest.mark.parametrize(
    ("action", "syscall", "when", "error"),
    [
        ("scan", "pwrite64", 4, "EIO"),
        ("scan", "pwrite64", 6, "ENOSPC"),
        ("restore", "fsync", 4, "EIO"),
        ("restore", "write", 3, "ENOSPC"),
        ("undo", "fsync", 2, "EIO"),
    ],
)
def test_a_command_whose_disk_fails_never_says_that_it_succeeded(
    tmp_path: Path, action: str, syscall: str, when: int, error: str
) -> None:
    outcome = break_guard(tmp_path, syscall, when, action=action, error=error, onward=True)
    assert outcome.fired, "the fault did not fire"
    assert not outcome.acknowledged
