"""Which engine keeps the memories of a test: SQLite in their data folders, or a PostgreSQL of the tests' own.

A test is given nothing: `store_of` names the store of a data folder for whatever opens it, and the same folder has the
same store until the test ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
        _empty(home for home in _chosen.urls if home not in outside)


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


def forget_stores(folder: Path) -> None:
    """Empty the stores of data folders that were removed, for an example that begins anew in the same folder."""
    _empty(home for home in _chosen.urls if home.is_relative_to(folder.absolute()))


def _empty(homes: Iterable[Path]) -> None:
    for home in list(homes):
        from postgres_server import give_back

        give_back(_chosen.urls.pop(home))
