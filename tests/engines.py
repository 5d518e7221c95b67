"""Which engine keeps the memories of a test: SQLite in their data folders, or a PostgreSQL of the tests' own.

A test is given nothing: `store_of` names the store of a data folder for whatever opens it, and the same folder has the
same store until the test ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SQLITE, POSTGRES = "sqlite", "postgres"
ENGINES = (SQLITE, POSTGRES)


class _Chosen:
    def __init__(self) -> None:
        self.engine = SQLITE
        self.urls: dict[Path, str] = {}


_chosen = _Chosen()


def choose(engine: str) -> None:
    """From now on, until another is chosen."""
    _chosen.engine = engine


def chosen() -> str:
    return _chosen.engine


@contextmanager
def on_engine(engine: str) -> Iterator[None]:
    """Choose an engine until the block ends, and then empty the stores that were named inside."""
    before, outside = _chosen.engine, dict(_chosen.urls)
    _chosen.engine = engine
    try:
        yield
    finally:
        _chosen.engine = before
        inside = [url for home, url in _chosen.urls.items() if home not in outside]
        _chosen.urls = outside
        for url in inside:
            _give_back(url)


def store_of(home: Path) -> str:
    """The setting `store` for a data folder."""
    if _chosen.engine == SQLITE:
        return SQLITE
    from postgres_server import new_schema  # loaded where it is needed alone: `make quick` does without

    home = home.absolute()
    if home not in _chosen.urls:
        if any(home.glob("gen-00000[1-9]/memory.db")):  # a folder that a restore made holds its memory itself
            return SQLITE
        _chosen.urls[home] = new_schema()
    return _chosen.urls[home]


def copy_store(home: Path, other: Path) -> None:
    """Give a copied data folder the rows of the first one, where they are not in the folder itself."""
    if _chosen.engine != SQLITE:
        from postgres_server import copy_rows

        copy_rows(store_of(home), store_of(other))


def _give_back(url: str) -> None:
    from postgres_server import give_back

    give_back(url)
