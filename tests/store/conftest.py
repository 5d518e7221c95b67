"""The stores under test. Another engine joins by one more entry in `ENGINES`; every test then runs on both."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.model import Event
from holdfast.store.port import Store
from holdfast.store.sqlite.store import SqliteStore

Publish = Callable[[Event], None]
SHARED_MEMORY = Path("/dev/shm")


class Place:
    """Somewhere a store can be opened, closed and opened again."""

    def __init__(self, engine: str, folder: Path):
        self.engine = engine
        self.folder = folder
        self.events: list[Event] = []
        self._open: list[Store] = []

    @property
    def path(self) -> Path:
        return self.folder / "memory.db"

    def open(self) -> Store:
        store = ENGINES[self.engine](self)
        self._open.append(store)
        return store

    def reopen(self) -> Store:
        self.close()
        return self.open()

    def close(self) -> None:
        while self._open:
            self._open.pop().close()


ENGINES: dict[str, Callable[[Place], Store]] = {
    "sqlite": lambda place: SqliteStore(place.path, place.events.append),
}


@pytest.fixture
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: these tests are about answers, not about the disk."""
    where = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=where, prefix="holdfast-test-") as folder:
        yield Path(folder)


@pytest.fixture(params=sorted(ENGINES))
def place(request: pytest.FixtureRequest, quick_folder: Path) -> Iterator[Place]:
    made = Place(request.param, quick_folder)
    yield made
    made.close()


@pytest.fixture
def store(place: Place) -> Store:
    return place.open()
