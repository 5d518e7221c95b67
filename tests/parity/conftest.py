from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from parity_world import Prepared, prepare
from sample_requests import Sample
from surfaces import WAYS, Outcome

Answers = Callable[[str, str, tuple[Sample, ...]], dict[str, Outcome]]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(tmp_path_factory.mktemp("parity") / "prepared")


@pytest.fixture(scope="session")
def outcomes(prepared: Prepared) -> Callable[[str, tuple[Sample, ...]], dict[str, Outcome]]:
    """What a surface gave for each sample that it can be asked, sent in order on a copy of the memory."""
    known: dict[tuple[str, tuple[str, ...]], dict[str, Outcome]] = {}
    numbers = count()

    def run(way: str, samples: tuple[Sample, ...]) -> dict[str, Outcome]:
        key = (way, tuple(sample.id for sample in samples))
        if key not in known:
            with WAYS[way].open(prepared, prepared.copy(f"copy-{next(numbers)}")) as surface:
                known[key] = {one.id: surface.call(one.operation, prepared.filled(one.arguments)) for one in samples}
        return known[key]

    return run
