"""What stands in the tables stands on every surface, under names that mean one thing each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import jsonschema
import pytest
from engines import store_of
from parity_world import Prepared, inside, settings_for, still_server
from sample_requests import SAMPLES
from surfaces import COMMAND, DIRECT, Mcp, http_client, mcp_http, mcp_stdio

from holdfast.cli.commands.parsers import COMMANDS
from holdfast.cli.main import _parser
from holdfast.core.model import Json
from holdfast.ops.framework.operation import Operation
from holdfast.ops.openapi import PREFIX, openapi
from holdfast.ops.registry import BY_NAME, OPERATIONS, TOOLS
from holdfast.serve.mcp.tools import tool_list


def _twice(names: Iterator[Any]) -> list[Any]:
    return [name for name, count in Counter(names).items() if count > 1]


def _routes(operation: Operation) -> list[tuple[str, str]]:
    return [(operation.method, operation.path), *operation.also]


def test_no_two_operations_share_a_name() -> None:
    assert _twice(operation.name for operation in OPERATIONS) == []


def test_no_two_operations_share_a_method_and_path() -> None:
    assert _twice(route for operation in OPERATIONS for route in _routes(operation)) == []


def test_no_two_operations_share_a_tool_name() -> None:
    names = ((operation.tool, *operation.tool_also) for operation in OPERATIONS if operation.tool)

    assert _twice(name for some in names for name in some) == []


def test_no_two_commands_share_their_words() -> None:
    words = [operation.cli for operation in OPERATIONS if operation.cli] + [command.words for command in COMMANDS]

    assert _twice(iter(words)) == []


def test_no_command_is_also_the_first_word_of_others() -> None:
    words = {operation.cli for operation in OPERATIONS if operation.cli} | {command.words for command in COMMANDS}
    groups = {word.split()[0] for word in words if " " in word}

    assert words & groups == {"drill"}  # what may follow it is the number of a snapshot, never a word


def test_a_tool_alias_belongs_to_an_operation_with_a_tool() -> None:
    assert [operation.name for operation in OPERATIONS if operation.tool_also and not operation.tool] == []


def test_an_operation_has_a_path_under_the_prefix_and_a_sentence_that_says_what_it_does() -> None:
    assert [one.name for one in OPERATIONS if not one.path.startswith("/")] == []
    assert [one.name for one in OPERATIONS if not one.summary or not one.description.endswith(".")] == []


def test_the_arguments_that_an_operation_names_are_its_own() -> None:
    foreign = {one.name: _named(one) - _properties(one) for one in OPERATIONS}

    assert {name: arguments for name, arguments in foreign.items() if arguments} == {}


def _named(operation: Operation) -> set[str]:
    return {*operation.positional, *operation.tool_required, *operation.tool_defaults}


def _properties(operation: Operation) -> set[str]:
    return set(operation.request.model_json_schema(by_alias=True).get("properties", {}))


def test_a_write_needs_more_than_the_scope_read() -> None:
    assert [one.name for one in OPERATIONS if one.effect != "read" and one.needs == "read"] == []


def test_only_a_read_answers_without_a_credential() -> None:
    assert [one.name for one in OPERATIONS if one.unguarded and one.effect != "read"] == []


def test_the_openapi_document_names_every_method_and_path_and_nothing_else() -> None:
    paths = openapi()["paths"]
    listed = {(method.upper(), path) for path, methods in paths.items() for method in methods}

    assert listed == {(method, PREFIX + path) for operation in OPERATIONS for method, path in _routes(operation)}


def test_every_entry_of_the_openapi_document_has_an_id_of_its_own() -> None:
    entries = [entry for methods in openapi()["paths"].values() for entry in methods.values()]

    assert _twice(entry["operationId"] for entry in entries) == []


def test_every_reference_in_the_openapi_document_leads_somewhere() -> None:
    document = openapi()
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}

    assert {value for key, value in _pairs(document) if key == "$ref"} <= known


def test_the_openapi_document_says_which_operations_need_no_credential() -> None:
    entries = {entry["operationId"]: entry for methods in openapi()["paths"].values() for entry in methods.values()}

    free = {name for name, entry in entries.items() if entry.get("security") == []}
    assert free == {operation.name for operation in OPERATIONS if operation.unguarded}


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Every name in a JSON value, at any depth, with what it holds."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from _pairs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _pairs(inner)


def test_a_tool_schema_has_no_references_unions_or_null() -> None:
    pairs = [(name, key, value) for name, tool in TOOLS.items() for key, value in _pairs(tool.schema)]

    assert [(name, key) for name, key, _ in pairs if key in ("$ref", "$defs", "anyOf", "allOf")] == []
    assert [(name, key) for name, key, value in pairs if value is None or value == "null"] == []


def test_a_tool_schema_gives_every_argument_a_type() -> None:
    schemas = {name: tool.schema for name, tool in TOOLS.items()}
    properties = [(name, key, prop) for name, one in schemas.items() for key, prop in one["properties"].items()]

    assert [name for name, schema in schemas.items() if schema["type"] != "object"] == []
    assert [name for name, one in schemas.items() if not set(one.get("required", [])) <= set(one["properties"])] == []
    assert [(name, key) for name, key, prop in properties if not prop.keys() & {"type", "oneOf", "enum"}] == []


def test_a_tool_schema_admits_the_samples_of_its_operation(prepared: Prepared) -> None:
    for tool in TOOLS.values():
        for sample in SAMPLES:
            if sample.operation is tool.operation:
                jsonschema.validate(tool.arguments(prepared.filled(sample.arguments)), tool.schema)


class Listing:
    """The tools that one surface lists, by name."""

    def __init__(self, tools: list[Json]):
        self.tools = {tool["name"]: tool for tool in tools}
        assert len(self.tools) == len(tools)


def _asked(mcp: Mcp) -> Listing:
    listed = mcp.ask(mcp.client.list_tools).tools
    return Listing([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed])


def _every_tool(url: str) -> AbstractContextManager[Mcp]:
    return mcp_http(url, path="/mcp?tools=all")


def _over_http(prepared: Prepared) -> Listing:
    with still_server(settings_for(prepared.copy("list-http"))) as serving, _every_tool(serving.url) as mcp:
        return _asked(mcp)


def _over_stdio(prepared: Prepared) -> Listing:
    home = prepared.copy("list-stdio")
    environ = {"HOLDFAST_STORE": store_of(home)}
    with mcp_stdio([str(COMMAND), "mcp", "--tools", "all", "--data", str(home)], environ) as mcp:
        return _asked(mcp)


def _at_the_old_path(prepared: Prepared) -> Listing:
    with still_server(settings_for(prepared.copy("list-old"))) as serving, http_client(serving.url) as http:
        return Listing(http.get(f"{PREFIX}/mcp/tools").json()["tools"])


def _in_this_process(prepared: Prepared) -> Listing:
    return Listing(tool_list())


@pytest.mark.parametrize("listing", [_in_this_process, _over_http, _over_stdio, _at_the_old_path])
def test_a_surface_lists_every_tool_as_it_is_declared(
    listing: Callable[[Prepared], Listing], prepared: Prepared
) -> None:
    listed = listing(prepared).tools

    assert {name: tool["inputSchema"] for name, tool in listed.items()} == {
        name: tool.schema for name, tool in TOOLS.items()
    }
    assert {name: tool["description"] for name, tool in listed.items()} == {
        name: tool.operation.description for name, tool in TOOLS.items()
    }
    assert {name for name, tool in listed.items() if tool["annotations"]["readOnlyHint"]} == {
        name for name, tool in TOOLS.items() if tool.operation.effect == "read"
    }
    assert {name for name, tool in listed.items() if tool["annotations"]["destructiveHint"]} == {
        name for name, tool in TOOLS.items() if tool.operation.effect == "destroy"
    }


def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for words in [operation.cli for operation in OPERATIONS if operation.cli] + [one.words for one in COMMANDS]:
        with pytest.raises(SystemExit) as done:
            _parser(words.split()).parse_args([*words.split(), "--help"])
        assert done.value.code == 0, words
        assert "--json" in capsys.readouterr().out, words


def test_an_operation_that_only_reads_changes_nothing(prepared: Prepared) -> None:
    home = prepared.copy("only-read")
    with DIRECT.open(prepared, home) as direct:
        before = direct.call(BY_NAME["export"], {}).answer
        for sample in SAMPLES:
            if sample.operation.effect == "read":
                outcome = direct.call(sample.operation, inside(prepared.filled(sample.arguments), home))

                assert outcome.fault is None, sample.id
                assert direct.call(BY_NAME["export"], {}).answer == before, sample.id
