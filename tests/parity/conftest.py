from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from parity_world import Prepared, prepare
from sample_requests import Sample
from surfaces import DIRECT, WAYS, Outcome, Surface


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
            home = prepared.copy(f"copy-{next(numbers)}")
            with (WAYS.get(way) or DIRECT).open(prepared, home) as surface:
                known[key] = {one.id: _called(surface, one, prepared, home) for one in samples}
        return known[key]

    return run


def _called(surface: Surface, sample: Sample, prepared: Prepared, home: Path) -> Outcome:
    arguments = {name: _inside(value, home) for name, value in prepared.filled(sample.arguments).items()}
    try:
        outcome = surface.call(sample.operation, arguments)
        return replace(outcome, answer=_anywhere(outcome.answer, home), fault=_anywhere(outcome.fault, home))
    except Exception as error:  # noqa: BLE001 - told by the test of this sample; the others are sent all the same
        return Outcome(broke=repr(error))


# What a file weighs depends on when its pages were written, which the surfaces decide for themselves.
WEIGHTS = {"sha256", "size", "bytes"}


def _inside(value: Any, home: Path) -> Any:
    return value.replace("{home}", str(home)) if isinstance(value, str) else value


def _anywhere(value: Any, home: Path) -> Any:
    """The answer without the place of the copy, and without the weights of its files."""
    if isinstance(value, dict):
        return {key: type(inner).__name__ if key in WEIGHTS else _anywhere(inner, home) for key, inner in value.items()}
    if isinstance(value, list):
        return [_anywhere(inner, home) for inner in value]
    return value.replace(str(home), "{home}") if isinstance(value, str) else value
