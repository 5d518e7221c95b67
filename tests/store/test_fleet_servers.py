"""Several real servers on one PostgreSQL: what one of them did, all of them know."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
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
