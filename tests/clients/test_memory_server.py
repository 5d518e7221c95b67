"""The MCP memory server itself, from npm, beside ours: the same calls to both, the same answers; and its file."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from patience import WAIT_SECONDS
from real_clients import NODE, PACKAGES
from world import running_server

from holdfast import Holdfast
from holdfast.cli.commands.graph_import import import_graph, is_graph
from holdfast.connection import RemoteConnection
from holdfast.core.model import Json

SERVER = PACKAGES / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"


class Tools:
    """A server as the official MCP client sees it."""

    def __init__(self, portal: Any, client: Client):
        self._portal, self._client = portal, client

    def call(self, name: str, **arguments: Any) -> Json:
        result = self._portal.call(self._client.call_tool, name, arguments)
        text = [block.text for block in result.content]
        return {"text": text, "structured": result.structured_content, "isError": bool(result.is_error)}

    def listed(self) -> dict[str, Json]:
        tools = self._portal.call(self._client.list_tools).tools
        return {one.name: one.model_dump(mode="json", by_alias=True) for one in tools}


@contextmanager
def _connected(client: AbstractAsyncContextManager[Client]) -> Iterator[Tools]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client) as opened:
        yield Tools(portal, opened)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "memory.jsonl"


@pytest.fixture
def theirs(file: Path) -> Iterator[Tools]:
    words = StdioServerParameters(command=NODE, args=[str(SERVER)], env={"MEMORY_FILE_PATH": str(file)})
    with _connected(Client(words)) as tools:
        yield tools


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with running_server(tmp_path / "memory") as (_, address):
        yield address


@pytest.fixture
def ours(url: str) -> Iterator[Tools]:
    @asynccontextmanager
    async def client() -> AsyncIterator[Client]:
        async with (
            httpx2.AsyncClient(timeout=WAIT_SECONDS, trust_env=False) as http,
            Client(streamable_http_client(f"{url}/mcp?tools=graph", http_client=http)) as opened,
        ):
            yield opened

    with _connected(client()) as tools:
        yield tools


ADA: Json = {"name": "Ada", "entityType": "person", "observations": ["Likes tea", "keeps bees\u2028at home"]}
ODD: Json = {"name": " ~ odd/name\n", "entityType": "", "observations": []}
KNOWS: Json = {"from": "Ada", "to": "Ben", "relationType": "knows"}
NOWHERE: Json = {"from": "Nobody", "to": "Nowhere", "relationType": "supersedes"}
CALLS: tuple[tuple[str, Json], ...] = (
    ("read_graph", {}),
    ("create_entities", {"entities": [ADA, ODD]}),
    ("create_entities", {"entities": [ADA, {"name": "Ben", "entityType": "Person", "observations": ["has a dog"]}]}),
    ("create_relations", {"relations": [KNOWS, NOWHERE]}),
    ("create_relations", {"relations": [KNOWS, {**KNOWS, "relationType": "likes"}]}),
    ("add_observations", {"observations": [{"entityName": "Ada", "contents": ["Likes tea", "is tall"]}]}),
    (
        "add_observations",
        {"observations": [{"entityName": "Ada", "contents": ["x"]}, {"entityName": "No", "contents": []}]},
    ),
    ("read_graph", {}),
    ("search_nodes", {"query": "PERSON"}),
    ("search_nodes", {"query": "tea"}),
    ("search_nodes", {"query": "xylophone"}),
    ("open_nodes", {"names": ["Ben", "No"]}),
    ("open_nodes", {"names": []}),
    ("delete_observations", {"deletions": [{"entityName": "Ada", "observations": ["is tall", "never"]}]}),
    ("delete_observations", {"deletions": [{"entityName": "No", "observations": ["x"]}]}),
    ("delete_relations", {"relations": [{**KNOWS, "relationType": "likes"}, {**KNOWS, "to": "No"}]}),
    ("read_graph", {}),
    ("delete_entities", {"entityNames": ["Ben", "No"]}),
    ("read_graph", {}),
    ("create_entities", {"entities": [{"name": "Ben", "entityType": "dog", "observations": []}]}),
    ("add_observations", {"observations": [{"entityName": "Ben", "contents": ["has a dog"]}]}),
    ("read_graph", {}),
)


def test_every_call_is_answered_alike(theirs: Tools, ours: Tools) -> None:
    for name, arguments in CALLS:
        assert (name, ours.call(name, **arguments)) == (name, theirs.call(name, **arguments))


def test_the_tools_have_the_same_names_arguments_and_answers(theirs: Tools, ours: Tools) -> None:
    def shape(schema: Any) -> Any:
        """A schema without its words, and without what one library writes and the other leaves out."""
        if isinstance(schema, list):
            return [shape(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        left = ("description", "$schema", "additionalProperties")
        return {
            name: shape(one) for name, one in schema.items() if name not in left and (name, one) != ("required", [])
        }

    def told(tools: Tools) -> dict[str, Any]:
        listed = tools.listed()
        kept = ("title", "annotations", "inputSchema", "outputSchema")
        return {name: shape({one: tool[one] for one in kept}) for name, tool in listed.items()}

    assert told(ours) == told(theirs)


def test_a_query_in_other_words_finds_what_theirs_does_not(theirs: Tools, ours: Tools) -> None:
    for tools in (theirs, ours):
        tools.call("create_entities", entities=[ADA, {"name": "Zed", "entityType": "cat", "observations": ["sleeps"]}])

    asked = {"query": "who keeps a bee"}
    assert theirs.call("search_nodes", **asked)["structured"] == {"entities": [], "relations": []}
    assert ours.call("search_nodes", **asked)["structured"] == {"entities": [ADA], "relations": []}


def test_the_file_of_theirs_is_imported_and_ours_is_read_by_theirs(
    theirs: Tools, ours: Tools, file: Path, url: str
) -> None:
    for name, arguments in CALLS[1:4]:
        theirs.call(name, **arguments)
    connection = RemoteConnection(url, None)

    assert is_graph(file)
    assert import_graph(connection, file)["imported"] == {"entities": 3, "observations": 3, "relations": 2}
    again = import_graph(connection, file)
    assert (set(again["imported"].values()), again["success"]) == ({0}, True)
    assert ours.call("read_graph") == theirs.call("read_graph")
    connection.close()

    ours.call("add_observations", observations=[{"entityName": "Ben", "contents": ["back"]}])
    with Holdfast(url) as memory:
        file.write_text(memory.call("read_graph", format="jsonl")["text"], encoding="utf-8")
    assert theirs.call("read_graph") == ours.call("read_graph")
    assert json.loads(theirs.call("open_nodes", names=["Ben"])["text"][0])["entities"][0]["observations"][-1] == "back"
