"""Nothing answers without a credential, and a credential reaches no further than it says: all routes, all tools.

What is tried comes from the tables of operations, tools and routes, so that a new one is tried as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import orjson
import pytest
from parity_world import MARK, PROJECT, Prepared, Serving, environment, settings_for, still_server
from patience import WAIT_SECONDS
from sample_requests import SAMPLES
from starlette.routing import Mount, Route, WebSocketRoute
from surfaces import Cli, OldMcp, Outcome, PythonClient, Rest, cli_inside, http_client, mcp_http
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from holdfast import Holdfast
from holdfast.core.model import Caller, Json, Scope
from holdfast.ops.framework.operation import Operation, Stream
from holdfast.ops.registry import BY_NAME, OPERATIONS, TOOLS

SECRET = "a-secret-of-the-harbor-master"
PREFIX = "/agentmemory"

# The only places that answer strangers: that the server is alive, and nothing else.
# Besides livez, the page that a browser opens first: the same for everybody, it says nothing about this memory.
HOME = {("GET", "/"), ("GET", "/viewer"), ("GET", "/viewer/{path:path}"), ("GET", f"{PREFIX}/viewer")}
OPEN = {("GET", "/livez"), ("GET", f"{PREFIX}/livez"), *HOME}

# Where each other credential would be used; the sample's own names fill the rest.
WRONG = {
    "none": None,
    "another secret": "Bearer another-secret-of-another-master",
    "the secret, shortened": f"Bearer {SECRET[:-1]}",
    "the secret, another scheme": f"Basic {SECRET}",
    "an empty credential": "Bearer",
    "a token nobody made": "Bearer hft_0123456789abcdef_" + "0" * 48,
}


@dataclass(frozen=True)
class Guarded:
    """A server with a secret, and tokens of each kind for it."""

    serving: Serving
    tokens: dict[str, str]

    @property
    def url(self) -> str:
        return self.serving.url

    @contextmanager
    def http(self, token: str) -> Iterator[httpx.Client]:
        with http_client(self.url, self.tokens[token]) as client:
            yield client

    def call(self, name: str, /, **arguments: Any) -> Any:
        """As the owner of everything, past all doors."""
        answer = BY_NAME[name].call(self.serving.engine.context(Caller()), arguments)
        return orjson.loads(b"".join(answer.pieces)) if isinstance(answer, Stream) else answer


TOKENS: dict[str, tuple[str, tuple[Scope, ...]]] = {
    "reader": ("default", ("read",)),
    "writer": ("default", ("read", "write")),
    "admin": ("default", ("admin",)),
    "stranger": ("island", ("admin",)),
}


@contextmanager
def _guarded(prepared: Prepared, name: str) -> Iterator[Guarded]:
    with still_server(settings_for(prepared.copy(name), secret=SECRET)) as serving:
        guarded = Guarded(serving, {"owner": SECRET})
        for name, (tenant, scopes) in TOKENS.items():
            made = guarded.call("token_create", name=name, tenant=tenant, scopes=list(scopes))
            guarded.tokens[name] = made["token"]
        yield guarded


@pytest.fixture(scope="module")
def guarded(prepared: Prepared) -> Iterator[Guarded]:
    with _guarded(prepared, "guarded") as made:
        yield made


@pytest.fixture
def routes(guarded: Guarded) -> list[tuple[str, str]]:
    """Every method and path: of the operations, and of the app's own table."""
    found = [
        (method, PREFIX + path)
        for operation in OPERATIONS
        for method, path in ((operation.method, operation.path), *operation.also)
    ]
    for route in guarded.serving.server.app._others.routes:
        if isinstance(route, Route):
            found += [(method, route.path) for method in sorted(route.methods or ()) if method != "HEAD"]
        elif isinstance(route, Mount):
            found += [(method, route.path + rest) for method in ("GET", "POST", "DELETE") for rest in ("", "/")]
        else:
            assert isinstance(route, WebSocketRoute)
    return found


def test_the_routes_that_are_tried_are_not_a_handful(routes: list[tuple[str, str]]) -> None:
    assert len(routes) > len(OPERATIONS)
    assert {("POST", "/mcp"), ("POST", f"{PREFIX}/mcp/call"), ("GET", "/viewer")} <= set(routes)


@pytest.mark.parametrize("kind", WRONG)
def test_no_route_answers_without_a_valid_credential(
    kind: str, guarded: Guarded, routes: list[tuple[str, str]]
) -> None:
    header = WRONG[kind]
    with httpx.Client(
        base_url=guarded.url, trust_env=False, headers={"Authorization": header} if header is not None else {}
    ) as client:
        answers = {(method, path): client.request(method, path) for method, path in routes}

    assert {route for route, answer in answers.items() if answer.status_code != 401} == OPEN
    assert {answers[route].json()["code"] for route in routes if route not in OPEN} == {"unauthorized"}


def test_two_credentials_at_once_are_none(guarded: Guarded, routes: list[tuple[str, str]]) -> None:
    both = [("Authorization", f"Bearer {SECRET}"), ("Authorization", "Bearer another")]
    with httpx.Client(base_url=guarded.url, trust_env=False, headers=both) as client:
        statuses = {(method, path): client.request(method, path).status_code for method, path in routes}

    assert {route for route, status in statuses.items() if status != 401} == OPEN


def test_a_revoked_token_opens_nothing(guarded: Guarded) -> None:
    made = guarded.call("token_create", name="lost", scopes=["admin"])
    guarded.call("token_revoke", id=made["record"]["id"])

    with http_client(guarded.url, made["token"]) as client:
        assert client.get(f"{PREFIX}/health").status_code == 401


def test_a_token_past_its_time_opens_nothing(guarded: Guarded) -> None:
    """Time stands still here, so the token is made to have ended in the past."""
    clock: Any = guarded.serving.engine.clock
    made = guarded.call("token_create", name="brief", scopes=["admin"], days=0.5)

    clock.now += 43_200_000
    try:
        with http_client(guarded.url, made["token"]) as client:
            assert client.get(f"{PREFIX}/health").status_code == 401
    finally:
        clock.now -= 43_200_000


def test_no_tool_is_called_without_a_credential(guarded: Guarded) -> None:
    with http_client(guarded.url) as client:
        statuses = {name: [answer.status_code for answer in _tool_calls(client, name)] for name in TOOLS}

    assert {name: three for name, three in statuses.items() if three != [401, 401, 401]} == {}


def _tool_calls(client: httpx.Client, name: str) -> list[httpx.Response]:
    message: Json = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": {}}}
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    return [
        client.post("/mcp", json=message, headers=headers),
        client.post(f"{PREFIX}/mcp/call", json={"name": name, "arguments": {}}),
        client.post(f"{PREFIX}/mcp/tools", json={"name": name, "arguments": {}}),
    ]


def test_no_page_shows_a_secret(guarded: Guarded, routes: list[tuple[str, str]]) -> None:
    run_token = guarded.serving.server._run_token
    with guarded.http("owner") as client:
        # A GET of /mcp is a stream without an end.
        pages = [client.get(path).text for method, path in routes if method == "GET" and not path.startswith("/mcp")]

    assert [page for page in pages if SECRET in page or run_token in page] == []


# Beyond the scope


def _reach(token: str) -> set[str]:
    """The operations that a token of those scopes may call."""
    caller = Caller(scopes=frozenset(TOKENS[token][1]))
    return {operation.name for operation in OPERATIONS if operation.unguarded or caller.may(operation.needs)}


def test_the_tokens_reach_as_far_as_their_scopes_say() -> None:
    reader, writer, admin = _reach("reader"), _reach("writer"), _reach("admin")

    assert {BY_NAME[name].effect for name in reader} == {"read"}
    assert reader < writer < admin < set(BY_NAME)
    assert set(BY_NAME) - admin == {"verify", "examine", *_OF_THE_MACHINE}


@pytest.mark.parametrize("token", ["reader", "writer", "admin"])
def test_an_operation_beyond_the_scope_is_forbidden_over_http_and_changes_nothing(
    token: str, guarded: Guarded, prepared: Prepared
) -> None:
    beyond = [sample for sample in SAMPLES if sample.name not in _reach(token)]
    before = guarded.call("export")

    with guarded.http(token) as client:
        outcomes = {one.id: Rest(client).call(one.operation, prepared.filled(one.arguments)) for one in beyond}

    assert {name: _refusal(outcome) for name, outcome in outcomes.items()} == {
        sample.id: (403, "forbidden") for sample in beyond
    }
    assert guarded.call("export") == before


@pytest.mark.parametrize("token", ["reader"])
def test_a_tool_beyond_the_scope_is_forbidden_and_changes_nothing(
    token: str, guarded: Guarded, prepared: Prepared
) -> None:
    beyond = [sample for sample in SAMPLES if sample.operation.tool and sample.name not in _reach(token)]
    before = guarded.call("export")

    with mcp_http(guarded.url, guarded.tokens[token]) as mcp, guarded.http(token) as client:
        for sample in beyond:
            arguments = prepared.filled(sample.arguments)
            assert _refusal(mcp.call(sample.operation, arguments)) == (True, "forbidden"), sample.id
            assert _refusal(OldMcp(client).call(sample.operation, arguments)) == (403, "forbidden"), sample.id

    assert beyond
    assert guarded.call("export") == before


def _refusal(outcome: Outcome) -> tuple[object, object]:
    return outcome.signal, (outcome.fault or {}).get("code")


def test_a_command_and_the_client_tell_that_the_token_does_not_reach(
    guarded: Guarded, prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = prepared.home.parent / "guarded"
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOLDFAST_SECRET", guarded.tokens["reader"])
    remember = BY_NAME["remember"]

    by_command = Cli(cli_inside, home).call(remember, {"content": "x"})
    with Holdfast(guarded.url, secret=guarded.tokens["reader"]) as memory:
        by_client = PythonClient(memory).call(remember, {"content": "x"})

    assert _refusal(by_command) == (11, "forbidden")
    assert by_client.fault == by_command.fault


def test_a_read_only_token_reads_what_the_owner_reads(guarded: Guarded, prepared: Prepared) -> None:
    reads = [sample for sample in SAMPLES if sample.name in _reach("reader")]

    with guarded.http("reader") as client, guarded.http("owner") as owner:
        for sample in reads:
            arguments = prepared.filled(sample.arguments)
            outcome = Rest(client).call(sample.operation, arguments)
            assert outcome.fault is None, sample.id
            owners = Rest(owner).call(sample.operation, arguments).answer
            assert outcome.answer == _for_readers(sample.name, owners), sample.id


def _for_readers(name: str, owners: Any) -> Any:
    """The owner's answer without what tells of the machine."""
    if name == "overview":
        kept = {key: value for key, value in owners.items() if key != "disk"}
        warnings = [one for one in owners["warnings"] if one["code"] != "damaged_kept"]
        return {**kept, "warnings": warnings, "snapshots": {**owners["snapshots"], "path": None, "guard": None}}
    return _without_paths(owners) if "snapshot" in name else owners


def _without_paths(value: Any) -> Any:
    """Where snapshots lie on the disk is for root alone to know."""
    if isinstance(value, dict):
        here = value.get("path", "").startswith("{home}/")
        return {key: _without_paths(inner) for key, inner in value.items() if not (here and key == "path")}
    return [_without_paths(inner) for inner in value] if isinstance(value, list) else value


def test_a_credential_is_refused_before_the_body_is_read(guarded: Guarded) -> None:
    with guarded.http("reader") as client:
        answer = client.post(f"{PREFIX}/remember", content=b"{not json", headers={"Content-Type": "application/json"})

    assert answer.status_code == 403


# Another tenant

# They take in files of the machine, which is no tenant's memory; a test of their own says who may.
_KEYS = {"key_follow", "key_new", "key_rotate", "key_show", "key_trust", "key_untrust"}
_VAULTS = {"vault_status", "vault_init", "vault_list", "vault_verify", "vault_prune", "vault_copy", "vault_sync"}
_GUARD = {
    "guard_add", "guard_list", "guard_report", "guard_scan", "guard_history", "guard_restore", "guard_undo",
    "guard_remove",
}  # fmt: skip
_OF_THE_MACHINE = {
    *_GUARD,
    "compress_file",
    "obsidian_export",
    "mesh_sync",
    "import_jsonl",
    "antigravity_sync",
    "antigravity_sync_all",
    "snapshot_export",
    "snapshot_import",
    "snapshot_mend",
    "snapshot_damaged",
    "promote",
    "snapshot_salvage",
    "recover",
    "snapshot_discard",
    *_KEYS,
    *_VAULTS,
}
FOREIGN = [sample for sample in SAMPLES if sample.name not in _OF_THE_MACHINE]
_TOOL_CALLS = [sample for sample in FOREIGN if sample.operation.tool]

# They say nothing of records, or their samples find none in the prepared memory.
_SAYING_NOTHING = {"livez", "flags", "examine", "diagnostics", "diagnostics_followup", "semantic", "procedural"}

Answers = dict[str, Outcome]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, prepared: Prepared) -> Prepared:
    """A memory that holds nothing, for requests with the ids of the one that does."""
    home = tmp_path_factory.mktemp("empty") / "prepared"
    home.mkdir()
    return Prepared(home, prepared.ids)


def _over_rest(made: Prepared, token: str) -> Answers:
    """What a token is answered, sent all samples in order on a server of its own."""
    with _guarded(made, f"{token}-rest") as guarded, guarded.http(token) as client:
        return {one.id: Rest(client).call(one.operation, made.filled(one.arguments)) for one in FOREIGN}


def _by_tools(made: Prepared, token: str) -> Answers:
    """The same with the tools of MCP."""
    with _guarded(made, f"{token}-tools") as guarded, mcp_http(guarded.url, guarded.tokens[token]) as mcp:
        return {one.id: mcp.call(one.operation, made.filled(one.arguments)) for one in _TOOL_CALLS}


@pytest.fixture(scope="module")
def beside_a_memory(prepared: Prepared) -> tuple[Answers, Answers]:
    return _over_rest(prepared, "stranger"), _by_tools(prepared, "stranger")


@pytest.fixture(scope="module")
def beside_nothing(empty: Prepared) -> tuple[Answers, Answers]:
    return _over_rest(empty, "stranger"), _by_tools(empty, "stranger")


@pytest.mark.parametrize("surface", [0, 1], ids=["rest", "tools"])
def test_another_tenant_is_answered_as_if_nobody_else_had_records(
    surface: int, beside_a_memory: tuple[Answers, Answers], beside_nothing: tuple[Answers, Answers]
) -> None:
    beside, alone = beside_a_memory[surface], beside_nothing[surface]

    answers = {id: (_unscored(one), _unscored(alone[id])) for id, one in beside.items()}

    assert {id: both for id, both in answers.items() if both[0] != both[1]} == {}


def _unscored(value: Any) -> Any:
    """The value without scores and the index backlog, which have tests of their own below."""
    if isinstance(value, Outcome):
        return _unscored(value.answer), value.fault, value.signal, value.broke
    if isinstance(value, dict):
        return {name: _unscored(inner) for name, inner in value.items() if not _is_score(name)}
    if isinstance(value, list):
        return [_unscored(inner) for inner in value]
    return re.sub(r"^\d+ pending$", "pending", value) if isinstance(value, str) else value


def _is_score(name: str) -> bool:
    return name in ("score", "pending") or name.endswith("Score")


def test_scores_do_not_tell_another_tenant_how_often_others_use_a_word(prepared: Prepared, empty: Prepared) -> None:
    """With its own record of a word, a tenant could ask whether others have it, and watch the score move."""
    scores = [_scores(made) for made in (prepared, empty)]

    assert scores[0] == scores[1]


def _scores(made: Prepared) -> list[float]:
    with _guarded(made, "scored") as guarded, guarded.http("stranger") as client:
        seen = (MARK, "whale", "tanker", "dolphin", "storm", "wreck", "rainbow", "balloon")
        facts = [{"content": f"On day {day} the ferry met a {one}."} for day, one in enumerate(seen)]
        client.post(f"{PREFIX}/remember/batch", json={"memories": facts}).raise_for_status()
        found = client.post(f"{PREFIX}/search", json={"query": MARK}).json()["results"]
    return [one["score"] for one in found]


def test_the_index_backlog_does_not_count_the_records_of_others(
    beside_a_memory: tuple[Answers, Answers], beside_nothing: tuple[Answers, Answers]
) -> None:
    assert beside_a_memory[0]["health"] == beside_nothing[0]["health"]


def test_whoever_has_the_records_is_answered_otherwise(prepared: Prepared, empty: Prepared) -> None:
    """The control of the two tests above: these samples do tell an empty memory from a full one."""
    full, bare = _over_rest(prepared, "admin"), _over_rest(empty, "admin")
    reads = {sample.id for sample in FOREIGN if sample.operation.effect == "read"}

    assert {name for name in reads if full[name] == bare[name]} <= _SAYING_NOTHING


@pytest.fixture(scope="module")
def stranger(prepared: Prepared) -> Iterator[tuple[Guarded, httpx.Client]]:
    """A server, and a client with all the rights of another tenant."""
    with _guarded(prepared, "stranger") as made, made.http("stranger") as client:
        yield made, client


@pytest.mark.parametrize("name", sorted(_OF_THE_MACHINE))
def test_another_tenant_does_not_take_in_the_transcripts_of_this_machine(
    name: str, stranger: tuple[Guarded, httpx.Client], prepared: Prepared
) -> None:
    """They belong to whoever runs the server, not to every tenant that it serves."""
    sample = next(one for one in SAMPLES if one.name == name)

    outcome = Rest(stranger[1]).call(sample.operation, prepared.filled(sample.arguments))

    assert _refusal(outcome) == (403, "forbidden")


def test_no_request_of_another_tenant_changes_anything(prepared: Prepared) -> None:
    """Every operation is called with the first tenant's ids."""
    with _guarded(prepared, "foreign") as guarded, guarded.http("stranger") as client:
        before = _state(guarded)

        for sample in FOREIGN:
            Rest(client).call(sample.operation, prepared.filled(sample.arguments))

        assert _state(guarded) == before


def _state(guarded: Guarded) -> tuple[Any, Any]:
    return guarded.call("export"), guarded.call("token_list")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("token_create", {"tenant": "default", "scopes": ["read"]}), ("token_list", {"tenant": "default"})],
)
def test_a_token_does_not_name_another_tenant(
    name: str, arguments: Json, stranger: tuple[Guarded, httpx.Client]
) -> None:
    operation: Operation = BY_NAME[name]

    assert _refusal(Rest(stranger[1]).call(operation, arguments)) == (403, "forbidden")


# The WebSocket


def _socket(url: str, token: str | None, in_query: bool = False) -> ClientConnection:
    address = url.replace("http://", "ws://") + "/stream/mem-live/viewer"
    if token is not None and in_query:
        return connect(f"{address}?token={token}", proxy=None)
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    return connect(address, additional_headers=headers, proxy=None)


def test_there_is_one_socket(guarded: Guarded) -> None:
    sockets = [one.path for one in guarded.serving.server.app._others.routes if isinstance(one, WebSocketRoute)]

    assert sockets == ["/stream/mem-live/viewer"]


@pytest.mark.parametrize("in_query", [False, True])
@pytest.mark.parametrize("token", [None, "another-secret", "hft_0123456789abcdef_" + "0" * 48])
def test_the_socket_opens_to_no_stranger(token: str | None, in_query: bool, guarded: Guarded) -> None:
    with pytest.raises(InvalidStatus) as refused:
        _socket(guarded.url, token, in_query)

    assert refused.value.response.status_code in (401, 403)


@pytest.mark.parametrize("in_query", [False, True])
def test_the_socket_tells_a_read_only_token_what_is_written(in_query: bool, guarded: Guarded) -> None:
    with _socket(guarded.url, guarded.tokens["reader"], in_query) as socket:
        made = guarded.call("action_create", title=f"Ring the bell {in_query}")
        frame = orjson.loads(socket.recv(timeout=WAIT_SECONDS))

    assert frame["data"]["action"]["id"] == made["action"]["id"]


def test_the_socket_tells_another_tenant_only_its_own(guarded: Guarded) -> None:
    """Frames come in order: the first that arrives is the stranger's own, so the earlier one was not for it."""
    with _socket(guarded.url, guarded.tokens["stranger"]) as socket, guarded.http("stranger") as client:
        guarded.call(
            "observe",
            sessionId="s-live",
            hookType="agent_note",
            timestamp="2026-09-21T13:33:20Z",
            data={"content": f"Seen from the {MARK}"},
            project=PROJECT,
        )
        guarded.call("action_create", title=f"Sweep the {MARK}")
        own = client.post(f"{PREFIX}/actions", json={"title": "Row to the island"}).json()["action"]
        frame = orjson.loads(socket.recv(timeout=WAIT_SECONDS))

    assert frame["data"]["action"]["id"] == own["id"]
