"""The same memory and the same request: every surface gives the answer that the operation itself gives."""

from __future__ import annotations

from collections.abc import Callable

import jsonschema
import orjson
import pytest
from parity_world import Prepared, settings_for, still_server
from pydantic import TypeAdapter
from sample_requests import SAMPLES, Sample
from surfaces import DIRECT, WAYS, OldMcp, Outcome, Rest, http_client, mcp_http

from holdfast.core.model import Json
from holdfast.ops.framework.operation import Operation, Stream
from holdfast.ops.openapi import PREFIX, openapi
from holdfast.ops.registry import OPERATIONS, TOOLS

Outcomes = Callable[[str, tuple[Sample, ...]], dict[str, Outcome]]


def _sent_on(way: str) -> tuple[Sample, ...]:
    return tuple(sample for sample in SAMPLES if WAYS[way].has(sample))


def _first_sample(operation: Operation) -> Sample:
    return next(sample for sample in SAMPLES if sample.name == operation.name)


def test_every_operation_has_a_sample_and_every_sample_an_operation() -> None:
    assert {sample.name for sample in SAMPLES} == {operation.name for operation in OPERATIONS}


def test_no_two_samples_have_the_same_name() -> None:
    ids = [sample.id for sample in SAMPLES]

    assert sorted(set(ids)) == sorted(ids)


def test_every_operation_that_a_surface_has_is_called_through_it() -> None:
    """Counted from the declarations, not from the samples: a filter that drops too much fails here."""
    called = {way: {sample.name for sample in _sent_on(way)} for way in WAYS}
    tools = {operation.name for operation in OPERATIONS if operation.tool}
    commands = {operation.name for operation in OPERATIONS if operation.cli} | {"import_"}
    everything = {operation.name for operation in OPERATIONS}

    few = called.pop("cli-as-processes")
    assert len(few) >= 5
    assert called == {
        "rest": everything,
        "mcp-http": tools,
        "mcp-old-path": tools,
        "mcp-stdio-on-a-folder": tools,
        "mcp-stdio-through-a-server": tools,
        "cli-on-a-folder": commands,
        "cli-through-a-server": commands,
        "client-on-a-folder": everything,
        "client-through-a-server": everything,
    }


@pytest.mark.parametrize("way", WAYS)
def test_a_surface_answers_as_the_operation_itself(way: str, outcomes: Outcomes) -> None:
    samples = _sent_on(way)

    got, expected = outcomes(way, samples), outcomes("direct", samples)

    assert {id: (one.broke, one.fault) for id, one in got.items() if one.broke or one.fault} == {}
    assert {id: (one.answer, expected[id].answer) for id, one in got.items() if one.answer != expected[id].answer} == {}


def test_an_answer_has_exactly_the_declared_shape(outcomes: Outcomes) -> None:
    answers = {id: one.answer for id, one in outcomes("direct", SAMPLES).items()}
    declared = [sample for sample in SAMPLES if sample.operation.response is not Stream]

    assert [id for id, answer in answers.items() if not isinstance(answer, dict)] == []
    assert [one.id for one in declared if _as_declared(one.operation, answers[one.id]) != answers[one.id]] == []


def _as_declared(operation: Operation, answer: Json) -> object:
    """The answer as its type reads it: names that are not declared are dropped."""
    adapter: TypeAdapter[object] = TypeAdapter(operation.response)
    return adapter.validate_json(orjson.dumps(answer), strict=True)


def test_every_answer_fits_the_schema_that_openapi_publishes(outcomes: Outcomes) -> None:
    misfits = {
        sample.id: [f"{problem.json_path}: {problem.message}" for problem in _misfits(sample, answer)]
        for sample in SAMPLES
        if (answer := outcomes("direct", SAMPLES)[sample.id].answer)
    }

    assert {name: problems for name, problems in misfits.items() if problems} == {}


def _misfits(sample: Sample, answer: Json) -> list[jsonschema.ValidationError]:
    operation = sample.operation
    entry = openapi()["paths"][PREFIX + operation.path][operation.method.lower()]
    schema: Json = entry["responses"][str(operation.status_of(answer))]["content"]["application/json"]["schema"]
    validator = jsonschema.Draft202012Validator({**schema, "components": openapi()["components"]})
    return list(validator.iter_errors(answer))


def test_rest_answers_with_the_declared_status(outcomes: Outcomes) -> None:
    given = outcomes("rest", _sent_on("rest"))

    assert [one.id for one in SAMPLES if given[one.id].signal != one.operation.status_of(given[one.id].answer)] == []


@pytest.mark.parametrize("way", [way for way in WAYS if way.startswith("cli-")])
def test_a_command_that_did_its_work_exits_with_0(way: str, outcomes: Outcomes) -> None:
    samples = tuple(sample for sample in _sent_on(way) if sample.name != "import_")

    assert {outcomes(way, _sent_on(way))[sample.id].signal for sample in samples} == {0}


OLD_PATHS = [(operation, method, path) for operation in OPERATIONS for method, path in operation.also]


@pytest.mark.parametrize(
    ("operation", "method", "path"), OLD_PATHS, ids=[f"{method} {path}" for _, method, path in OLD_PATHS]
)
def test_an_older_path_gives_the_same_answer(operation: Operation, method: str, path: str, prepared: Prepared) -> None:
    arguments = prepared.filled(_first_sample(operation).arguments)
    name = f"{method}{path.replace('/', '-')}"
    with DIRECT.open(prepared, prepared.copy(f"{name}-direct")) as direct:
        expected = direct.call(operation, arguments)

    with still_server(settings_for(prepared.copy(name))) as serving, http_client(serving.url) as http:
        got = Rest(http).at(method, path, arguments)

    assert got.answer == expected.answer


OLD_TOOLS = [tool for tool in TOOLS.values() if tool.name != tool.operation.tool]


@pytest.mark.parametrize("name", [tool.name for tool in OLD_TOOLS])
def test_an_older_tool_name_gives_the_same_answer(name: str, prepared: Prepared) -> None:
    tool = TOOLS[name]
    arguments = prepared.filled(_first_sample(tool.operation).arguments)
    with DIRECT.open(prepared, prepared.copy(f"{name}-direct")) as direct:
        expected = direct.call(tool.operation, arguments).answer

    with (
        still_server(settings_for(prepared.copy(name))) as serving,
        mcp_http(serving.url) as mcp,
        http_client(serving.url) as http,
    ):
        answers = [mcp.tool(name, arguments).answer, OldMcp(http).tool(name, arguments).answer]

    assert answers == [expected, expected]


def test_a_tool_fills_in_its_own_defaults(prepared: Prepared) -> None:
    """memory_slot_create makes a global slot where POST /slot makes one of the project."""
    with (
        still_server(settings_for(prepared.copy("defaults"))) as serving,
        mcp_http(serving.url) as mcp,
        http_client(serving.url) as http,
    ):
        made = mcp.tool("memory_slot_create", {"label": "reefs"}).answer["slot"]
        plain = Rest(http).at("POST", "/slot", {"label": "reefs"}).answer["slot"]

    assert (made["scope"], plain["scope"]) == ("global", "project")
