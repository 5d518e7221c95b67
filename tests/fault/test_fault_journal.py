"""The journal is killed or failed at single system calls: nothing acknowledged is missing from the disk, and what was
sent is not missing from the vault.

A few points of each kind; `make faults` goes through all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from journal_points import fail_journal, kill_journal


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journal")


@pytest.mark.parametrize(
    ("action", "syscall", "when"),
    [
        ("write", "rename", 1),
        ("write", "rename", 2),
        ("write", "link", 1),
        ("write", "unlink", 2),
        ("write", "fsync", 2),
        ("write", "fdatasync", 3),
        ("write", "pwrite64", 30),
        ("keep", "link", 1),
        ("keep", "unlink", 3),
        ("keep", "unlink", 4),
    ],
)
def test_a_journal_killed_at_one_call_lacks_nothing(place: Path, action: str, syscall: str, when: int) -> None:
    assert kill_journal(place, syscall, when, action=action).fired, "the fault did not fire"


@pytest.mark.parametrize(
    ("action", "syscall", "when", "error"),
    [
        ("write", "fsync", 2, "EIO"),
        ("write", "rename", 1, "EIO"),
        ("write", "link", 1, "EIO"),
        ("write", "pwrite64", 30, "ENOSPC"),
        ("keep", "link", 1, "EIO"),
        ("keep", "unlink", 3, "EIO"),
    ],
)
def test_a_journal_whose_disk_fails_lacks_nothing(
    place: Path, action: str, syscall: str, when: int, error: str
) -> None:
    assert fail_journal(place, syscall, when, action=action, error=error, onward=False).fired
