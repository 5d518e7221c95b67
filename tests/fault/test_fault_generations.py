"""A restore is killed, or its disk fails, at single system calls: the memory is the old one or the new one, whole.

A few points of each kind; `make faults` goes through all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from generation_points import fail_restore, kill_restore


@pytest.mark.parametrize(
    ("syscall", "when"),
    [("write", 3), ("pwrite64", 25), ("fsync", 5), ("rename", 2), ("rename", 3), ("unlinkat", 1)],
)
def test_a_restore_killed_at_one_call_leaves_one_whole_generation(tmp_path: Path, syscall: str, when: int) -> None:
    assert kill_restore(tmp_path, syscall, when).fired, "the fault did not fire"


@pytest.mark.parametrize(
    ("syscall", "when", "error", "onward"),
    [
        ("pwrite64", 20, "ENOSPC", True),
        ("fsync", 7, "EIO", True),
        ("rename", 2, "EIO", False),
    ],
)
def test_a_restore_whose_disk_fails_at_one_call_says_so_and_breaks_nothing(
    tmp_path: Path, syscall: str, when: int, error: str, onward: bool
) -> None:
    outcome = fail_restore(tmp_path, syscall, when, error=error, onward=onward)
    assert outcome.fired, "the fault did not fire"
    assert not outcome.acknowledged
