"""A request that cannot be carried out is refused in the same way, whatever surface it came through."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sample_requests import BAD, MISSING, OTHERWISE, SAMPLES, Sample, out_of_bounds
from surfaces import AS_PROCESSES, BY_CODE, WAYS, Outcome

from holdfast.core.model import Json
from holdfast.ops.registry import OPERATIONS

Outcomes = Callable[[str, tuple[Sample, ...]], dict[str, Outcome]]

OUT_OF_BOUNDS = tuple(sample for operation in OPERATIONS if (sample := out_of_bounds(operation)) is not None)
REFUSED = (*MISSING, *BAD, *OTHERWISE, *OUT_OF_BOUNDS)
FAULT_NAMES = {"error", "code", "hint", "retryable"}


def _sent_on(way: str) -> tuple[Sample, ...]:
    return tuple(sample for sample in REFUSED if WAYS[way].has(sample))


def _expected_code(sample: Sample) -> str:
    if sample in MISSING:
        return "not_found"
    return sample.also if sample in OTHERWISE else "invalid"


def test_every_operation_that_takes_arguments_is_sent_one_it_cannot_take() -> None:
    without = {operation.name for operation in OPERATIONS} - {sample.name for sample in (*OUT_OF_BOUNDS, *BAD)}

    assert {name for name in without if _properties(name)} == set()


def test_the_samples_that_run_as_processes_exist() -> None:
    assert AS_PROCESSES - {sample.id for sample in (*SAMPLES, *REFUSED)} == set()


def _properties(name: str) -> Json:
    operation = next(one for one in OPERATIONS if one.name == name)
    properties: Json = operation.request.model_json_schema().get("properties", {})
    return properties


def test_the_operation_refuses_with_the_fault_that_fits(outcomes: Outcomes) -> None:
    faults = {id: one.fault for id, one in outcomes("direct", REFUSED).items()}

    assert [id for id, fault in faults.items() if fault is None] == []
    assert {id: (fault or {})["code"] for id, fault in faults.items()} == {
        sample.id: _expected_code(sample) for sample in REFUSED
    }


@pytest.mark.parametrize("way", WAYS)
def test_a_surface_refuses_as_the_operation_itself(way: str, outcomes: Outcomes) -> None:
    """What is refused changes nothing: the operation itself is called once with all samples, for all surfaces."""
    samples = _sent_on(way)

    got, expected = outcomes(way, samples), outcomes("direct", REFUSED)

    assert {id: (one.broke, one.answer, one.signal) for id, one in got.items()} == {
        sample.id: (None, None, WAYS[way].signal(BY_CODE[_expected_code(sample)])) for sample in samples
    }
    compared = {id: (_compared(way, one), _compared(way, expected[id])) for id, one in got.items()}
    assert {id: faults for id, faults in compared.items() if faults[0] != faults[1]} == {}


def _compared(way: str, outcome: Outcome) -> object:
    """The whole fault; of a command line only its kind, as its own parser words what it finds first."""
    assert outcome.fault is not None
    assert set(outcome.fault) >= FAULT_NAMES
    return outcome.fault["code"] if way.startswith("cli-") else outcome.fault


def test_the_three_faults_that_callers_meet_most_have_the_documented_signals() -> None:
    signals = {code: (BY_CODE[code].http_status, BY_CODE[code].exit_code) for code in ("invalid", "not_found")}

    assert signals == {"invalid": (400, 2), "not_found": (404, 4)}
    assert BY_CODE["forbidden"].http_status == 403
