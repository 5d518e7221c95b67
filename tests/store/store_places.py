"""Where the stores under test live. Another engine joins by one more entry in `ENGINES`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from postgres_server import give_back, new_schema

from holdfast.core.model import Event
from holdfast.core.ports import Clock
from holdfast.store.port import Store
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.sqlite.store import SqliteStore

SHARED_MEMORY = Path("/dev/shm")


class Place:
    """Somewhere a store can be opened, closed and opened again."""

    def __init__(self, engine: str, folder: Path):
        self.engine = engine
        self.folder = folder
        self.events: list[Event] = []
        self.telling: Clock | None = None  # with a clock, stores opened from now on keep events for a broker
        self._open: list[Store] = []
        self._url: str | None = None

    @property
    def path(self) -> Path:
        return self.folder / "memory.db"

    @property
    def url(self) -> str:
        if self._url is None:
            self._url = new_schema()
        return self._url

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

    def remove(self) -> None:
        self.close()
        if self._url is not None:
            give_back(self._url)


ENGINES: dict[str, Callable[[Place], Store]] = {
    "sqlite": lambda place: SqliteStore(place.path, place.events.append, place.telling),
    "postgres": lambda place: PostgresStore(place.url, place.events.append, place.telling),
}
