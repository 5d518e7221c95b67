"""Commands are killed at single system calls: the folder is as before or as after, never in between.

A few points of each kind; `make faults` goes through all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kill_points import fail_remember, kill_remember, kill_serve


@pytest.mark.parametrize(
    ("syscall", "when"), [("openat", 3), ("pwrite64", 20), ("fdatasync", 1), ("fdatasync", 2), ("ftruncate", 2)]
)
def test_a_command_killed_at_one_call_leaves_the_old_memory_or_the_new(tmp_path: Path, syscall: str, when: int) -> None:
    outcome = kill_remember(tmp_path, syscall, when, fresh=False)
    assert outcome.fired, "the fault did not fire"


@pytest.mark.parametrize(
    ("syscall", "when"), [("mkdir", 2), ("rename", 1), ("fsync", 3), ("pwrite64", 60), ("fdatasync", 3)]
)
def test_a_first_command_killed_at_one_call_leaves_a_folder_that_opens(tmp_path: Path, syscall: str, when: int) -> None:
    outcome = kill_remember(tmp_path, syscall, when, fresh=True)
    assert outcome.fired, "the fault did not fire"


@pytest.mark.parametrize(("syscall", "when"), [("fdatasync", 4), ("rename", 2)])
def test_a_server_killed_at_one_call_of_its_first_start_leaves_a_folder_that_opens(
    tmp_path: Path, syscall: str, when: int
) -> None:
    outcome = kill_serve(tmp_path, syscall, when)
    assert outcome.fired, "the fault did not fire"


@pytest.mark.parametrize(("syscall", "when", "error"), [("pwrite64", 15, "ENOSPC"), ("fdatasync", 1, "EIO")])
def test_a_command_whose_disk_fails_at_one_call_says_so_and_breaks_nothing(
    tmp_path: Path, syscall: str, when: int, error: str
) -> None:
    outcome = fail_remember(tmp_path, syscall, when, fresh=False, error=error, onward=True)
    assert outcome.fired, "the fault did not fire"
    assert not outcome.acknowledged
