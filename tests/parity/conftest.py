from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from nexo_bundles import bundle
from parity_world import Prepared, inside, prepare
from sample_requests import Sample
from surfaces import DIRECT, WAYS, Outcome, Surface


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    place = tmp_path_factory.mktemp("parity")
    return prepare(place / "prepared", bundle(place / "nexo"))


@pytest.fixture(scope="session")
def outcomes(prepared: Prepared) -> Callable[[str, tuple[Sample, ...]], dict[str, Outcome]]:
    """What a surface gave for each sample that it can be asked, sent in order on a copy of the memory."""
    known: dict[tuple[str, tuple[str, ...]], dict[str, Outcome]] = {}
    numbers = count()

    def run(way: str, samples: tuple[Sample, ...]) -> dict[str, Outcome]:
        key = (way, tuple(sample.id for sample in samples))
        if key not in known:
            home = prepared.copy(f"copy-{next(numbers)}")
            with (WAYS.get(way) or DIRECT).open(prepared, home) as surface:
                known[key] = {one.id: _called(surface, one, prepared, home) for one in samples}
        return known[key]

    return run


def _called(surface: Surface, sample: Sample, prepared: Prepared, home: Path) -> Outcome:
    arguments = inside(prepared.filled(sample.arguments), home)
    try:
        return surface.call(sample.operation, arguments)
    except Exception as error:  # noqa: BLE001 - told by the test of this sample; the others are sent all the same
        return Outcome(broke=repr(error))
