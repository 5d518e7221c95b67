"""Every test that asks for `store` or `place` runs once for each engine of `ENGINES`, unless it is marked."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from postgres_server import give_back, new_schema
from store_places import ENGINES, SHARED_MEMORY, Place

from holdfast.store.port import Store
from holdfast.store.postgres.store import PostgresStore


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: these tests are about answers, not about the disk."""
    where = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=where, prefix="holdfast-test-") as folder:
        yield Path(folder)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that reaches into the database file is marked `embedded`: it runs on SQLite alone."""
    if "place" in metafunc.fixturenames:
        alone = metafunc.definition.get_closest_marker("embedded") is not None
        named = metafunc.config.getoption("--engine")
        engines = ["sqlite"] if alone else [named] if named else sorted(ENGINES)
        metafunc.parametrize("place", engines, indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest, quick_folder: Path) -> Iterator[Place]:
    made = Place(request.param, quick_folder)
    yield made
    made.remove()


@pytest.fixture
def store(place: Place) -> Store:
    return place.open()


@pytest.fixture
def url() -> Iterator[str]:
    """A schema of PostgreSQL without rows."""
    made = new_schema()
    yield made
    give_back(made)


@pytest.fixture
def other_url() -> Iterator[str]:
    made = new_schema()
    yield made
    give_back(made)


@pytest.fixture
def opened(url: str) -> Iterator[Callable[[], PostgresStore]]:
    """Opens the schema, as often as servers would."""
    with ExitStack() as stack:

        def open_store() -> PostgresStore:
            store = PostgresStore(url, lambda event: None)
            stack.callback(store.close)
            return store

        yield open_store
