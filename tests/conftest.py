"""Fixtures that every test may use."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_server import HubServer
from hypothesis import settings
from object_server import ObjectServer
from world import World

# The same examples each time, so that a change is what makes a test fail. HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "memory")
    yield made
    made.close()


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    """One S3 server for all tests of a process."""
    server = ObjectServer(tmp_path_factory.mktemp("objects"))
    try:
        yield server.start()
    finally:
        server.stop()


@pytest.fixture
def hub() -> Iterator[HubServer]:
    server = HubServer()
    yield server
    server.stop()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2000000", "tmpfs", str(disk)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"a small disk cannot be mounted here ({done.stderr.strip()}); run as root with CAP_SYS_ADMIN")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)
