"""Fixtures that every test may use."""

from __future__ import annotations

import compileall
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from engines import ENGINES, POSTGRES, SQLITE, choose, chosen, on_engine
from hub_server import HubServer
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.internal.constants_ast import Constants
from object_server import ObjectServer
from small_disks import disk_of
from world import World

# The same examples each time, so that a change is what makes a test fail. HYPOTHESIS_PROFILE=search looks for new ones.
# How long one takes tells nothing on a busy machine, and a fixture may be shared by the examples of a test.
ANY_PACE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
settings.register_profile("steady", ANY_PACE, derandomize=True)
settings.register_profile("search", ANY_PACE, max_examples=1_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
# It would also draw from the constants of all modules that happen to be loaded: the examples of a test would depend on
# the tests before it, and to read 700 modules takes a process two seconds in a fresh tree.
HypothesisProvider._local_constants = Constants()  # type: ignore[method-assign, assignment]

# Hundreds of tests start a process of their own, and compiling what it imports would take a second each time. So the
# source is compiled first; the processes themselves write no modules, as some tests count their system calls.
SOURCE = Path(__file__).parents[1] / "src" / "holdfast"
sys.dont_write_bytecode = False
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--engine", choices=ENGINES, help="run every test on this engine alone, as far as it can")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # what is read while tests are collected stays
    choose(config.getoption("--engine") or SQLITE)
    if not hasattr(config, "workerinput"):  # once, before the workers of a parallel run start
        compileall.compile_dir(SOURCE, quiet=2)


# Few tests are about the disk, and all of them write: in memory a sync costs a hundredth. Those that are marked with
# `real_disk` get their folder on the disk all the same.
DISK = Path("/var/tmp")
MEMORY = Path("/dev/shm")
ROOM_BYTES = 2_000_000_000


def _has_room(folder: Path) -> bool:
    return os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > ROOM_BYTES


if "TMPDIR" not in os.environ and _has_room(MEMORY):
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)  # of pytest, of tests and of the processes that they start

# Tests open their folders themselves; those of the background server turn it on.
os.environ["HOLDFAST_DAEMON"] = "off"


# Each file of these folders, and each of these files, takes long: begun last, one worker would still be at it when the
# others have nothing to do.
SLOW = ("fault", "browser", "cli", "clients", "snapshot")
SLOW_FILES = (
    "test_own_text.py",
    "test_tutorial.py",
    "test_fleet_servers.py",
    "test_job_leases.py",
    "test_postgres_failures.py",
    "test_postgres_idempotency.py",
    "test_postgres_refusals.py",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that is marked `engines` runs on each of them; without the mark it runs on SQLite."""
    if metafunc.config.getoption("--engine") is None and metafunc.definition.get_closest_marker("engines"):
        metafunc.parametrize("engine_kind", ENGINES, indirect=True)


@pytest.fixture(autouse=True)
def engine_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """The engine of this test."""
    with on_engine(getattr(request, "param", chosen())):
        yield chosen()


def pytest_collection_finish() -> None:
    gc.freeze()  # nor is it looked through again while tests run
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--engine") == POSTGRES:  # those that are about files of SQLite
        items[:] = [item for item in items if item.get_closest_marker("embedded") is None]
    items.sort(key=lambda item: item.path.name not in SLOW_FILES and item.path.parent.name not in SLOW)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder of the test's own; on the disk if it is marked so."""
    if request.node.get_closest_marker("real_disk") is None:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=DISK, prefix="holdfast-test-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


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


@pytest.fixture(scope="session")
def locked_objects(objects: ObjectServer) -> ObjectServer:
    """The same server, with the bucket that keeps what is put into it."""
    objects.make_locked_bucket()
    return objects


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
