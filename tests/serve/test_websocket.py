"""The live socket: nothing is lost over a break, nothing comes back that was forgotten, and how a page signs in."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from patience import WAIT_SECONDS
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol
from world import running, running_server

from holdfast.core.model import Event
from holdfast.serve.events.replay_buffer import EVENTS, ReplayBuffer

SECRET = "a-secret-of-the-harbor-master"
A = "/agentmemory"


def address(client: httpx.Client, **query: str) -> str:
    return f"{str(client.base_url).rstrip('/').replace('http', 'ws')}/stream/mem-live/viewer?{httpx.QueryParams(query)}"


@contextmanager
def reading(client: httpx.Client, since: str, **query: str) -> Iterator[ClientConnection]:
    with connect(address(client, since=since, **query)) as socket:
        yield socket


def until_greeted(socket: ClientConnection) -> tuple[list[Any], Any]:
    """What was missed, and the greeting after it."""
    missed: list[Any] = []
    while True:
        one = json.loads(socket.recv(timeout=WAIT_SECONDS))
        if one["type"] in ("hello", "gap"):
            return missed, one
        missed.append(one)


def remember(client: httpx.Client, text: str, **more: Any) -> str:
    return str(client.post(f"{A}/remember", json={"content": text, **more}).json()["memory"]["id"])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with running(tmp_path_factory.mktemp("live") / "memory") as client:
        yield client


def contents(frames: list[Any]) -> list[str]:
    return [one["data"]["memory"]["content"] for one in frames if one["type"] == "memory"]


def test_a_reader_that_comes_back_gets_what_it_missed_in_order(client: httpx.Client) -> None:
    with reading(client, "") as socket:
        assert until_greeted(socket)[1]["type"] == "hello"
        remember(client, "The first lamp is lit at dusk")
        seen = json.loads(socket.recv(timeout=WAIT_SECONDS))
    texts = [f"Keeper number {number} has the watch of week {number}" for number in range(20)]
    for text in texts:
        remember(client, text)

    with reading(client, seen["place"]) as socket:
        missed, greeting = until_greeted(socket)
        assert contents(missed) == texts
        assert greeting == {"type": "hello", "place": missed[-1]["place"]}
        remember(client, "The watch goes on afterwards")
        assert contents([json.loads(socket.recv(timeout=WAIT_SECONDS))]) == ["The watch goes on afterwards"]


def test_a_reader_that_missed_nothing_is_told_so(client: httpx.Client) -> None:
    with reading(client, "") as socket:
        place = until_greeted(socket)[1]["place"]
    with reading(client, place) as socket:
        assert until_greeted(socket) == ([], {"type": "hello", "place": place})


@pytest.mark.parametrize(
    "since", ["another-run-3", "-", "x", "0-0", "９-９", "a" * 400, "ffffffffffff-99999999999999999999"]
)
def test_a_place_that_means_nothing_is_a_gap(client: httpx.Client, since: str) -> None:
    with reading(client, since) as socket:
        missed, greeting = until_greeted(socket)
    assert (missed, greeting["type"]) == ([], "gap")


def test_what_was_forgotten_is_not_told_again(client: httpx.Client) -> None:
    with reading(client, "") as socket:
        place = until_greeted(socket)[1]["place"]
    id = remember(client, "The safe opens with the year of the flood")
    client.post(f"{A}/forget", json={"memoryId": id})
    later = remember(client, "The safe was replaced by a vault door")
    with reading(client, place) as socket:
        missed, greeting = until_greeted(socket)
        assert (missed, greeting["type"]) == ([], "gap")
    assert later


def test_a_slot_that_was_emptied_is_told_as_it_is_now(client: httpx.Client) -> None:
    with reading(client, "") as socket:
        place = until_greeted(socket)[1]["place"]
    client.post(f"{A}/slot", json={"label": "harbour_rules", "content": "No fires on the quay"})
    client.post(f"{A}/slot/replace", json={"label": "harbour_rules", "content": "Fires in the pit only"})
    with reading(client, place) as socket:
        missed, _ = until_greeted(socket)
    assert [one["data"]["slot"]["content"] for one in missed if one["type"] == "slot"] == ["Fires in the pit only"]


def test_a_reader_hears_only_what_it_may_see_of_what_it_missed(client: httpx.Client) -> None:
    chat = {"umo": "tg:FriendMessage:A", "senderId": "A"}
    with reading(client, "") as socket:
        place = until_greeted(socket)[1]["place"]
    remember(client, "A word between Anna and her agent alone", **chat)
    remember(client, "A word that everybody may hear")
    with reading(client, place) as socket:
        assert contents(until_greeted(socket)[0]) == ["A word that everybody may hear"]
    with reading(client, place, **chat) as socket:
        assert len(contents(until_greeted(socket)[0])) == 2


def test_readers_of_the_old_kind_are_not_greeted(client: httpx.Client) -> None:
    with connect(address(client)) as socket:
        remember(client, "The old viewer reads plain frames")
        assert json.loads(socket.recv(timeout=WAIT_SECONDS))["type"] == "memory"


def bearer(token: str) -> list[Subprotocol]:
    packed = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    return [Subprotocol("holdfast.live"), Subprotocol(f"bearer.{packed}")]


def test_a_page_signs_in_by_a_sub_protocol_which_is_not_sent_back(tmp_path: Path) -> None:
    with running(tmp_path / "memory", secret=SECRET) as client:
        with connect(address(client, since=""), subprotocols=bearer(SECRET)) as socket:
            assert socket.subprotocol == "holdfast.live"
            assert until_greeted(socket)[1]["type"] == "hello"
        wrong = [
            bearer("another-secret"),
            bearer(""),
            [Subprotocol("holdfast.live")],
            [Subprotocol("bearer.!!")],
            [Subprotocol("bearer._w")],
        ]
        for offered in wrong:
            with (
                pytest.raises((InvalidStatus, ConnectionClosed)),
                connect(address(client, since=""), subprotocols=offered) as socket,
            ):
                socket.recv(timeout=WAIT_SECONDS)


def test_tenants_have_places_of_their_own(tmp_path: Path) -> None:
    with running(tmp_path / "memory", secret=SECRET) as client:
        owner = {"Authorization": f"Bearer {SECRET}"}
        made = client.post(
            f"{A}/tokens", json={"name": "island", "tenant": "island", "scopes": ["read"]}, headers=owner
        ).json()
        with connect(address(client, since=""), subprotocols=bearer(SECRET)) as socket:
            place = until_greeted(socket)[1]["place"]
        client.post(f"{A}/remember", json={"content": "Nobody on the island hears of this"}, headers=owner)
        with connect(address(client, since=place), subprotocols=bearer(made["token"])) as socket:
            missed, greeting = until_greeted(socket)
        assert (missed, greeting["type"]) == ([], "gap")


def event(number: int, kind: str = "memory") -> Event:
    return Event("default", kind, {"id": str(number)})


def kept(recent: ReplayBuffer, place: str) -> list[bytes] | None:
    return recent.after(place, lambda _: True)


def test_only_so_many_events_are_kept_and_older_places_are_a_gap() -> None:
    recent = ReplayBuffer("run")
    places = [recent.place]
    for number in range(EVENTS + 10):
        recent.add(event(number), lambda place: place.encode())
        places.append(recent.place)
    assert kept(recent, places[9]) is None
    assert kept(recent, places[10]) == [place.encode() for place in places[11:]]
    assert kept(recent, places[-1]) == []


def test_large_events_are_kept_by_their_bytes() -> None:
    recent = ReplayBuffer("run")
    start = recent.place
    for number in range(4):
        recent.add(event(number), lambda _: b"x" * 3_000_000)
    assert kept(recent, start) is None
    assert len(kept(recent, "run-2") or []) == 2


def test_a_reader_is_told_to_reload_if_events_of_other_servers_were_lost(tmp_path: Path) -> None:
    with running_server(tmp_path / "memory") as (server, url), httpx.Client(base_url=url) as client:
        with reading(client, "") as socket:
            before = until_greeted(socket)[1]["place"]
            server.app.live.missed("another tenant")
            server.app.live.missed("default")
            assert until_greeted(socket)[1]["type"] == "gap"
        with reading(client, before) as socket:
            assert until_greeted(socket)[1]["type"] == "gap"


def test_a_reader_whose_token_is_revoked_is_cut_off_though_nothing_happens(tmp_path: Path) -> None:
    with running(tmp_path / "memory") as client:
        made = client.post(f"{A}/tokens", json={"name": "reader", "scopes": ["read"]}).json()
        with reading(client, "", token=made["token"]) as socket:
            assert until_greeted(socket)[1]["type"] == "hello"
            assert client.delete(f"{A}/tokens/{made['record']['id']}").is_success
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=WAIT_SECONDS)
