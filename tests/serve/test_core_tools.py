"""The tools that a model is shown: few and short by default, all of them on request; every one can be called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import warm
from patience import WAIT_SECONDS
from processes import environment
from world import running

from holdfast.ops.registry import TOOLS
from holdfast.serve.mcp.core_tools import CORE_TOOLS, CoreTool

SIZE_LIMIT = 8_000  # characters of the whole list that a model is given
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
CORE = {one.name for one in CORE_TOOLS}
each_core_tool = pytest.mark.parametrize("one", CORE_TOOLS, ids=lambda one: one.name)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running(tmp_path_factory.mktemp("tools") / "m") as client:
        yield client


def ask(client: httpx.Client, body: Any, path: str = "/mcp") -> Any:
    headers = {"Accept": "application/json, text/event-stream"}
    return client.post(path, json=body, headers=headers)


def names(listed: Any) -> set[str]:
    return {one["name"] for one in listed["result"]["tools"]}


def test_the_listed_tools_are_few_and_short(server: httpx.Client) -> None:
    answer = ask(server, LIST)

    assert names(answer.json()) == CORE
    assert len(CORE) <= 9
    assert len(json.dumps(answer.json()["result"])) <= SIZE_LIMIT


def test_the_address_can_ask_for_every_tool(server: httpx.Client) -> None:
    assert names(ask(server, LIST, "/mcp?tools=all").json()) == set(TOOLS)
    assert names(ask(server, LIST, "/mcp?tools=core").json()) == CORE


def test_an_unknown_set_of_tools_is_an_error_that_names_the_sets(server: httpx.Client) -> None:
    assert ask(server, LIST, "/mcp?tools=most").json()["error"]["message"] == "tools: must be one of core, all, graph"


def test_the_setting_lists_every_tool(tmp_path: Path) -> None:
    with running(tmp_path / "m", mcp_tools="all") as client:
        assert names(ask(client, LIST).json()) == set(TOOLS)
        assert names(ask(client, LIST, "/mcp?tools=core").json()) == CORE


def test_the_old_path_lists_every_tool(server: httpx.Client) -> None:
    listed = server.get("/agentmemory/mcp/tools").json()["tools"]

    assert {one["name"] for one in listed} == set(TOOLS)


def test_a_tool_that_is_not_listed_can_be_called(server: httpx.Client) -> None:
    call = {"name": "memory_slot_get", "arguments": {"label": "persona"}}

    answer = ask(server, {**LIST, "method": "tools/call", "params": call}).json()["result"]

    assert "memory_slot_get" not in CORE
    assert not answer.get("isError")
    assert json.loads(answer["content"][0]["text"])["slot"]["label"] == "persona"


def test_an_argument_that_is_not_listed_is_taken(server: httpx.Client) -> None:
    saved = {"name": "memory_save", "arguments": {"content": "The kiln is fired on Fridays", "uri": "craft://kiln"}}

    answer = ask(server, {**LIST, "method": "tools/call", "params": saved}).json()["result"]

    assert json.loads(answer["content"][0]["text"])["memory"]["uri"] == "craft://kiln"


@each_core_tool
def test_a_shown_argument_is_one_of_the_tool_and_none_that_is_required_is_hidden(one: CoreTool) -> None:
    full = TOOLS[one.name].schema

    assert set(one.arguments) <= set(full["properties"])
    assert one.schema().get("required", []) == full.get("required", [])


@each_core_tool
def test_a_description_says_what_the_tool_does_and_when_to_use_it(one: CoreTool) -> None:
    does, when = one.description.split("\n\n")

    assert does.endswith(".")
    assert when.startswith(("Call it", "Use"))


@pytest.mark.parametrize(
    ("words", "environ", "count"),
    [
        ([], {}, len(CORE)),
        (["--tools", "all"], {}, len(TOOLS)),
        ([], {"HOLDFAST_MCP_TOOLS": "all"}, len(TOOLS)),
        ([], {"AGENTMEMORY_TOOLS": "all"}, len(TOOLS)),
        (["--tools", "core"], {"HOLDFAST_MCP_TOOLS": "all"}, len(CORE)),
    ],
)
def test_the_command_lists_what_its_option_or_the_environment_says(
    tmp_path: Path, words: list[str], environ: dict[str, str], count: int
) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    said = [
        {**LIST, "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        LIST,
    ]
    lines = "".join(f"{json.dumps(one)}\n" for one in said)

    done = warm.run(["mcp", *words, "--data", str(tmp_path / "m")], environment(**environ), WAIT_SECONDS, input=lines)

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(next(one for one in answers if one["id"] == 1)["result"]["tools"]) == count
