"""Every test that asks for `store` or `place` runs once for each engine of `ENGINES`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_places import ENGINES, SHARED_MEMORY, Place

from holdfast.store.port import Store


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
    made.remove()


@pytest.fixture
def store(place: Place) -> Store:
    return place.open()
