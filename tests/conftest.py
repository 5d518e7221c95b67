"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_server import HubServer
from hypothesis import settings
from object_server import ObjectServer
from small_disks import disk_of
from world import World

# The same examples each time, so that a change is what makes a test fail. HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# Tests open their folders themselves; those of the background server turn it on.
os.environ["HOLDFAST_DAEMON"] = "off"


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
    with disk_of(2_000_000, tmp_path / "disk") as disk:
        yield disk
