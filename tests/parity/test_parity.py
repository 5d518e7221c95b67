"""The same memory and the same request: every surface gives the answer that the operation itself gives."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sample_requests import SAMPLES, Sample
from surfaces import WAYS, Outcome

from holdfast.ops.registry import OPERATIONS

Outcomes = Callable[[str, tuple[Sample, ...]], dict[str, Outcome]]


def _sent_on(way: str) -> tuple[Sample, ...]:
    return tuple(sample for sample in SAMPLES if WAYS[way].has(sample))


def test_every_operation_has_a_sample_and_every_sample_an_operation() -> None:
    assert {sample.name for sample in SAMPLES} == {operation.name for operation in OPERATIONS}


def test_no_two_samples_have_the_same_name() -> None:
    ids = [sample.id for sample in SAMPLES]

    assert sorted(set(ids)) == sorted(ids)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.id)
def test_the_operation_answers_its_sample(sample: Sample, outcomes: Outcomes) -> None:
    assert outcomes("direct", SAMPLES)[sample.id].fault is None


@pytest.mark.parametrize(
    ("way", "sample"),
    [pytest.param(way, sample, id=f"{way}-{sample.id}") for way in WAYS for sample in _sent_on(way)],
)
def test_a_surface_answers_as_the_operation_itself(way: str, sample: Sample, outcomes: Outcomes) -> None:
    samples = _sent_on(way)

    got, expected = outcomes(way, samples)[sample.id], outcomes("direct", samples)[sample.id]

    assert (got.broke, got.fault, got.answer) == (None, None, expected.answer)
