"""Disks that are soon full, for tests."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def disk_of(size: int, place: Path) -> Iterator[Path]:
    """A disk of so many bytes, mounted at a new folder for the length of the block."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"a small disk cannot be mounted here ({done.stderr.strip()}); run as root with CAP_SYS_ADMIN")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
