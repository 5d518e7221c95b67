"""Where agents are isolated and the server is one agent's, a name is no credential: every operation, caller, surface.

Callers and what they may do are in isolation.toml; operations and requests come from the tables of the parity tests, so
that a new one is tried as well.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from parity_world import MARK, Prepared, inside, settings_for, still_engine, still_server
from patience import WAIT_SECONDS
from sample_requests import SAMPLES, Sample
from surfaces import OldMcp, Outcome, Rest, http_client, mcp_http
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from holdfast.core.errors import Fault
from holdfast.core.model import Caller, Chat
from holdfast.engine import Engine
from holdfast.ops.framework.operation import Stream
from holdfast.ops.registry import BY_NAME, OPERATIONS

TABLE = tomllib.loads(Path(__file__).with_name("isolation.toml").read_text("utf-8"))
CALLERS: dict[str, dict[str, Any]] = TABLE["callers"]
FOR_AGENT = frozenset(TABLE["operations"]["for_agent"])
OF_THE_MACHINE = tuple(TABLE["operations"]["of_the_machine"])
OTHER = "beta"
NAMING = [one for one in SAMPLES if one.name not in FOR_AGENT]
CONFINED = [name for name, row in CALLERS.items() if row["naming"] == "forbidden"]
SERVED = [name for name, row in CALLERS.items() if row["naming"] == "served"]


def caller_of(name: str) -> Caller:
    row = CALLERS[name]
    given = {key: row[key] for key in ("name", "agent", "owner") if key in row}
    if "scopes" in row:
        given["scopes"] = frozenset(row["scopes"])
    if "chat" in row:
        given["chat"] = Chat(*row["chat"])
    return Caller(**given)


def alphas(home: Path) -> Any:
    return settings_for(home, agent_scope="isolated", agent="alpha")


@pytest.fixture(scope="module")
def engine(prepared: Prepared) -> Iterator[Engine]:
    made = still_engine(alphas(prepared.copy("of-alpha")))
    yield made
    made.close()


def called(engine: Engine, caller: Caller, sample: Sample, prepared: Prepared, **more: Any) -> Any:
    """The answer, or the fault."""
    arguments = inside(prepared.filled({**sample.arguments, **more}), prepared.home.parent / "of-alpha")
    try:
        answer = sample.operation.call(engine.context(caller), arguments)
    except Fault as fault:
        return fault
    return orjson.loads(b"".join(answer.pieces)) if isinstance(answer, Stream) else answer


def everything(engine: Engine) -> Any:
    """All records of all agents, as the server's own background work sees them."""
    ctx = dataclasses.replace(engine.context(Caller()), whole=True)
    answer = BY_NAME["export"].call(ctx, {})
    return orjson.loads(b"".join(answer.pieces)) if isinstance(answer, Stream) else answer


def test_the_table_names_operations_that_exist() -> None:
    assert {one.name for one in OPERATIONS if one.for_agent} == FOR_AGENT
    assert {one.name for one in NAMING} | FOR_AGENT == set(BY_NAME)


@pytest.mark.parametrize("name", CONFINED)
def test_naming_another_agent_without_its_credential_is_refused_by_every_operation(
    name: str, engine: Engine, prepared: Prepared
) -> None:
    before = everything(engine)
    answers = {one.id: called(engine, caller_of(name), one, prepared, agentId=OTHER) for one in NAMING}

    codes = {id: answer.code if isinstance(answer, Fault) else "answered" for id, answer in answers.items()}
    # What a chat cannot ask for at all is refused before it is looked whom it names.
    allowed = {"forbidden", "invalid"} if "chat" in CALLERS[name] else {"forbidden"}
    assert {id: code for id, code in codes.items() if code not in allowed} == {}
    assert [id for id, answer in answers.items() if MARK in str(answer)] == []
    assert everything(engine) == before


@pytest.mark.parametrize("name", SERVED)
def test_a_credential_for_the_agent_is_served_and_shown_nothing_of_the_others(
    name: str, engine: Engine, prepared: Prepared
) -> None:
    caller = caller_of(name)
    reads = [one for one in quiet_reads() if caller.may(one.operation.needs)]
    answers = {one.id: called(engine, caller, one, prepared, agentId=OTHER) for one in reads}

    refused = [id for id, answer in answers.items() if isinstance(answer, Fault) and answer.code == "forbidden"]
    assert refused == []
    assert leaking(answers) == []


@pytest.mark.parametrize("name", CALLERS)
def test_a_request_that_names_no_agent_reads_only_the_callers_own(
    name: str, engine: Engine, prepared: Prepared
) -> None:
    answers = {one.id: called(engine, caller_of(name), one, prepared) for one in quiet_reads()}

    assert leaking(answers) == []


def quiet_reads() -> list[Sample]:
    """Reads of records whose request does not hold the mark itself: an answer that has it shows a record."""
    return [
        one
        for one in NAMING
        if one.operation.effect == "read"
        and not one.name.startswith(OF_THE_MACHINE)
        and MARK not in json.dumps(one.arguments)
        and "agentId" not in one.arguments
    ]


def leaking(answers: dict[str, Any]) -> list[str]:
    return [
        id
        for id, answer in answers.items()
        if MARK in (str(answer) if isinstance(answer, Fault) else json.dumps(answer))
    ]


def test_the_reads_that_are_tried_show_the_records_to_their_own_agent(prepared: Prepared) -> None:
    """The control of the two tests above: with agents that share, many of the same reads show the mark."""
    shared = still_engine(settings_for(prepared.copy("of-all")))
    try:
        answers = {one.id: called(shared, Caller(), one, prepared) for one in quiet_reads()}
    finally:
        shared.close()

    assert len(leaking(answers)) >= 10


# The same through the surfaces


@contextmanager
def served(prepared: Prepared, name: str) -> Iterator[str]:
    with still_server(alphas(prepared.copy(name))) as serving:
        yield serving.url


def refusal(outcome: Outcome) -> tuple[object, object]:
    return outcome.signal, (outcome.fault or {}).get("code")


def test_rest_and_tools_refuse_the_name(prepared: Prepared) -> None:
    tools = [one for one in NAMING if one.operation.tool]
    with served(prepared, "named") as url, http_client(url) as client, mcp_http(url) as mcp:
        rest = {one.id: refusal(Rest(client).call(one.operation, named(one, prepared))) for one in NAMING}
        old = {one.id: refusal(OldMcp(client).call(one.operation, named(one, prepared))) for one in tools}
        new = {one.id: refusal(mcp.call(one.operation, named(one, prepared))) for one in tools}

    guarded = {id: found for id, found in rest.items() if not BY_NAME[id.split("-")[0]].unguarded}
    assert set(guarded.values()) == {(403, "forbidden")}
    assert set(old.values()) == {(403, "forbidden")}
    assert set(new.values()) == {(True, "forbidden")}


def named(sample: Sample, prepared: Prepared) -> Any:
    return inside(prepared.filled({**sample.arguments, "agentId": OTHER}), prepared.home.parent / "named")


def test_the_live_stream_refuses_the_name(prepared: Prepared) -> None:
    with served(prepared, "streamed") as url:
        address = url.replace("http", "ws", 1) + f"/agentmemory/stream?agentId={OTHER}"
        with pytest.raises((InvalidStatus, ConnectionClosed)), connect(address, proxy=None) as socket:
            socket.recv(timeout=WAIT_SECONDS)
