"""Several real servers on one PostgreSQL: what one of them did, all of them know."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from broker import NatsServer, Reader
from patience import WAIT_SECONDS, until
from postgres_server import as_admin, empty_schema
from processes import Server, serving, word
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect


@pytest.fixture(scope="module")
def url() -> str:
    return empty_schema()


@pytest.fixture(scope="module")
def pair(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    home = tmp_path_factory.mktemp("fleet")
    with (
        serving(home / "one", HOLDFAST_STORE=url) as one,
        serving(home / "other", HOLDFAST_STORE=url) as other,
    ):
        yield one, other


@contextmanager
def reading(server: Server, credential: str = "") -> Iterator[ClientConnection]:
    """A live reader that has been greeted."""
    headers = {"Authorization": f"Bearer {credential}"} if credential else {}
    address = f"{server.url.replace('http', 'ws')}/stream/mem-live/viewer?since="
    with connect(address, additional_headers=headers) as socket:
        assert json.loads(socket.recv(timeout=WAIT_SECONDS))["type"] == "hello"
        yield socket


def frames(socket: ClientConnection, kind: str, number: int) -> list[Any]:
    """The next frames of a kind."""
    found: list[Any] = []
    while len(found) < number:
        frame = json.loads(socket.recv(timeout=WAIT_SECONDS))
        if frame["type"] == kind:
            found.append(frame["data"][kind])
    return found


def remember(server: Server, text: str, **more: Any) -> str:
    answer = server.remember(text, **more)
    assert answer.is_success, answer.text
    return str(answer.json()["memory"]["id"])


def end_listeners(url: str) -> int:
    """Cut the connections on which servers listen; how many there were."""
    sql = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %' AND application_name = 'holdfast'"
    with psycopg.connect(as_admin(url), autocommit=True) as db:
        found = [pid for (pid,) in db.execute(sql)]
        for pid in found:
            db.execute("SELECT pg_terminate_backend(%s, 60000)", (pid,))  # waits until it is gone
    return len(found)


# Live events


def test_a_reader_sees_what_was_written_at_another_server(pair: tuple[Server, Server]) -> None:
    one, other = pair
    texts = [f"the {word()} stands beside the {word()}" for _ in range(5)]
    with reading(one) as socket:
        ids = [remember((other, one)[number % 2], text) for number, text in enumerate(texts)]
        seen = frames(socket, "memory", 5)
        assert {(memory["id"], memory["content"]) for memory in seen} == set(zip(ids, texts, strict=True))
        assert other.post("/forget", memoryId=ids[0]).is_success
        assert frames(socket, "forgotten", 1)[0]["ids"] == [ids[0]]


def test_an_observation_at_another_server_is_seen_as_both_of_its_frames(pair: tuple[Server, Server]) -> None:
    one, other = pair
    body = {
        "sessionId": word(), "hookType": "post_tool_use", "timestamp": "2026-11-15T20:41:34Z", "project": "quarry",
        "data": {"tool_name": "Bash", "tool_input": {"command": f"find {word()}"}, "tool_output": word()},
    }  # fmt: skip
    with reading(one) as socket:
        id = other.post("/observe", **body).json()["observationId"]
        found = {}
        while len(found) < 2:
            frame = json.loads(socket.recv(timeout=WAIT_SECONDS))
            if frame["type"] in ("raw_observation", "compressed_observation"):
                found[frame["type"]] = frame["data"]["observation"]["id"]
        assert found == {"raw_observation": id, "compressed_observation": id}


def test_a_slot_that_another_server_removed_is_shown_empty(pair: tuple[Server, Server]) -> None:
    one, other = pair
    label = f"slot_{word()}"
    with reading(one) as socket:
        assert other.post("/slot", label=label, content="first things first").is_success
        assert frames(socket, "slot", 1)[0]["content"] == "first things first"
        assert other.http.request("DELETE", "/agentmemory/slot", params={"label": label}).is_success
        assert [(slot["label"], slot["content"]) for slot in frames(socket, "slot", 1)] == [(label, "")]


def test_a_lost_connection_is_made_anew_and_misses_nothing(url: str, pair: tuple[Server, Server]) -> None:
    one, other = pair
    with reading(one) as socket:
        ids = []
        for _ in range(3):
            until(lambda: end_listeners(url), "there is a connection to cut")
            ids += [remember(other, f"the {word()} stands beside the {word()}") for _ in range(5)]
        assert [memory["id"] for memory in frames(socket, "memory", 15)] == ids


# Tokens


def token(server: Server) -> tuple[str, str]:
    made = server.post("/tokens", name="reader", scopes=["read"]).json()
    return made["record"]["id"], made["token"]


def reads(server: Server, credential: str) -> int:
    headers = {"Authorization": f"Bearer {credential}"}
    return server.http.get("/agentmemory/memories", headers=headers).status_code


def test_a_token_of_one_server_is_taken_by_all_and_refused_by_all_once_it_is_revoked(
    pair: tuple[Server, Server],
) -> None:
    one, other = pair
    id, credential = token(one)
    assert (reads(one, credential), reads(other, credential)) == (200, 200)
    assert one.http.delete(f"/agentmemory/tokens/{id}").is_success
    until(lambda: reads(other, credential) == 401, "the other server refuses it")
    until(lambda: reads(one, credential) == 401, "this one does too")


def test_a_reader_whose_token_another_server_revokes_is_cut_off(pair: tuple[Server, Server]) -> None:
    one, other = pair
    id, credential = token(one)
    with reading(other, credential) as socket:
        assert one.http.delete(f"/agentmemory/tokens/{id}").is_success
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=WAIT_SECONDS)


# What is the same, and what was done already


def test_a_request_that_is_sent_again_to_another_server_is_carried_out_once(pair: tuple[Server, Server]) -> None:
    headers, text = {"Idempotency-Key": word()}, f"the {word()} stands beside the {word()}"
    answers = [
        server.http.post("/agentmemory/remember", json={"content": text}, headers=headers) for server in (*pair, *pair)
    ]
    assert len({answer.text for answer in answers}) == 1
    body = {"content": "something else"}
    assert pair[1].http.post("/agentmemory/remember", json=body, headers=headers).status_code == 409


def test_a_near_duplicate_is_recognised_at_another_server(pair: tuple[Server, Server]) -> None:
    one, other = pair
    text = " ".join(word() for _ in range(20))
    first = one.remember(text).json()["memory"]
    second = other.remember(f"{text} again").json()["memory"]
    assert (second["parentId"], second["version"]) == (first["id"], 2)


# One live memory


def contents(server: Server) -> set[str]:
    return {one["content"] for one in server.get("/memories", limit=500).json()["memories"]}


def context(server: Server) -> str:
    return str(server.post("/context", sessionId=word(), project="quarry").json()["context"])


@pytest.fixture
def fresh_pair(tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    url = empty_schema()
    with (
        serving(tmp_path / "one", HOLDFAST_STORE=url) as one,
        serving(tmp_path / "other", HOLDFAST_STORE=url) as other,
    ):
        yield one, other


def test_a_restore_is_seen_by_all_at_once_and_undone_from_any(fresh_pair: tuple[Server, Server]) -> None:
    one, other = fresh_pair
    old, new = "deploys happen on Tuesday", "the amber cabinet holds the spare keys"
    remember(one, old, project="quarry")
    id = one.post("/snapshots").json()["id"]
    remember(other, new, project="quarry")
    for server in fresh_pair:  # what a server may keep in memory is there before the switch
        assert server.found("amber cabinet")
        assert server.found("deploys")
        assert new in context(server)
    with reading(other) as socket:
        assert one.post("/snapshots/restore", id=id, yes=True).is_success
        assert [contents(server) for server in fresh_pair] == [{old}, {old}]
        assert [server.found("amber cabinet") for server in fresh_pair] == [[], []]
        assert not any(new in context(server) for server in fresh_pair)
        assert frames(socket, "snapshot_restored", 1)[0]["id"] == id

    assert other.post("/snapshots/undo", yes=True).is_success
    assert [contents(server) for server in fresh_pair] == [{old, new}, {old, new}]
    assert all(server.found("amber cabinet") and new in context(server) for server in fresh_pair)

    assert one.post("/snapshots/undo", yes=True).is_success  # what the other one undid
    assert [contents(server) for server in fresh_pair] == [{old}, {old}]
    remember(other, "lunch is at noon")
    assert [contents(server) for server in fresh_pair] == [{old, "lunch is at noon"}] * 2
    assert [server.post("/verify").json()["sound"] for server in fresh_pair] == [True, True]


def test_the_newest_snapshot_has_the_highest_number_whichever_server_made_it(
    fresh_pair: tuple[Server, Server],
) -> None:
    one, other = fresh_pair
    remember(one, "deploys happen on Tuesday")
    made = [server.post("/snapshots").json()["id"] for server in (one, one, other, one, other, other)]
    numbers = [int(id.split("-")[0]) for id in made]
    assert numbers == sorted(set(numbers))


# A server that is killed


def test_what_a_killed_server_did_is_taken_over(tmp_path: Path) -> None:
    url = empty_schema()
    with NatsServer(tmp_path / "nats") as nats, Reader(nats.url) as reader:
        telling = {"HOLDFAST_STORE": url, "HOLDFAST_NATS_URL": nats.url}
        reader.listen()
        with serving(tmp_path / "one", **telling) as one, serving(tmp_path / "other", **telling) as other:
            first = remember(one, f"the {word()} stands beside the {word()}")
            until(lambda: times_told(reader, first), "it is published")
            until(lambda: not waiting(url), "that is known")
            (holder,) = rows(url, "SELECT holder FROM leases WHERE job = 'broker'")
            killed, left = (one, other) if f"/{one.pid}/" in holder[0] else (other, one)
            killed.kill()
            second = remember(left, f"the {word()} stands beside the {word()}")
            until(lambda: times_told(reader, second), "it is published by the one that is left")
            until(lambda: not waiting(url), "that is known")
            assert rows(url, "SELECT holder FROM leases WHERE job = 'broker'") != [holder]
            assert (times_told(reader, first), times_told(reader, second)) == (1, 1)


def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(as_admin(url)) as db:
        return db.execute(sql.encode()).fetchall()


def waiting(url: str) -> bool:
    return rows(url, "SELECT count(*) FROM events") != [(0,)]


def times_told(reader: Reader, id: str) -> int:
    """How often a write of the memory was published."""
    told = [json.loads(one.data) for one in reader.messages]
    return sum(one.get("key") == id for one in told)


# Limits


def test_a_token_has_one_allowance_at_all_servers(
    url: str, pair: tuple[Server, Server], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("limited")
    _, first = token(pair[0])
    _, second = token(pair[0])
    slow = {"HOLDFAST_STORE": url, "HOLDFAST_RATE": "0.001"}  # one request, and then none for long
    with serving(home / "one", **slow) as one, serving(home / "other", **slow) as other:
        assert [reads(server, first) for server in (one, other, one)] == [200, 429, 429]
        assert [reads(server, second) for server in (other, one)] == [200, 429]
