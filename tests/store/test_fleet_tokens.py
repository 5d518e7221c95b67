"""Tokens of several servers: kept for a moment, and refused after it even if no notice comes."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from postgres_server import give_back, new_schema
from world import World

from holdfast.core.errors import Unauthorized
from holdfast.serve.http.auth import KEPT_SECONDS, Auth
from holdfast.store.tables import TOKENS


@pytest.fixture
def worlds(quick_folder: Path) -> Iterator[tuple[World, World]]:
    url = new_schema()
    with ExitStack() as stack:

        def make(name: str) -> World:
            world = World(quick_folder / name, sum(name.encode()) * 100_000, store=url)
            stack.callback(world.close)
            return world

        yield make("one"), make("other")
    give_back(url)


def test_a_revoked_token_is_refused_within_a_second_without_a_notice(worlds: tuple[World, World]) -> None:
    one, other = worlds  # neither hears of the other: no thread of the fleet was started
    made = one.call("token_create", name="reader", scopes=["read"])
    auth = Auth(other.engine, "run")
    assert auth.of(made["token"]).name == f"token:{made['record']['id']}"
    one.call("token_revoke", id=made["record"]["id"])
    other.clock.now += 1_000
    with pytest.raises(Unauthorized):
        auth.of(made["token"])
    assert KEPT_SECONDS < 1


def test_a_notice_ends_a_token_at_once(worlds: tuple[World, World]) -> None:
    one, other = worlds
    made = one.call("token_create", name="reader", scopes=["read"])
    auth = Auth(other.engine, "run")
    auth.of(made["token"])
    one.call("token_revoke", id=made["record"]["id"])
    auth.forget(made["record"]["id"])
    with pytest.raises(Unauthorized):
        auth.of(made["token"])


def test_a_token_that_another_server_refreshed_is_let_in_without_a_notice(worlds: tuple[World, World]) -> None:
    one, other = worlds
    made = one.call("token_create", name="reader", scopes=["read"])
    auth = Auth(other.engine, "run")
    auth.of(made["token"])  # kept, with the secret that it has now
    secret = "f" * 48
    (token,) = one.engine.store.read().tokens_by_id(made["record"]["id"])
    again = dataclasses.replace(token, secret_hash=hashlib.sha256(secret.encode()).hexdigest())
    one.engine.store.write(lambda tx: tx.replace(TOKENS, again))
    fresh = made["token"].rpartition("_")[0] + f"_{secret}"
    assert not auth.is_at_hand(fresh)
    assert auth.of(fresh).name == f"token:{token.id}"
    with pytest.raises(Unauthorized):
        auth.of(made["token"])
    assert auth.is_at_hand(made["token"])  # a guess is looked up once


def test_a_token_is_looked_up_once_while_it_is_kept(worlds: tuple[World, World]) -> None:
    one, other = worlds
    made = one.call("token_create", name="reader", scopes=["read"])
    auth = Auth(other.engine, "run")
    assert not auth.is_at_hand(made["token"])
    auth.of(made["token"])
    assert auth.is_at_hand(made["token"])
    other.clock.now += 1_000
    assert not auth.is_at_hand(made["token"])
    assert auth.is_at_hand("the-secret-of-the-server")


def test_an_allowance_fills_again(worlds: tuple[World, World]) -> None:
    fleets = [world.engine.fleet for world in worlds]
    taken = [fleets[number % 2].take_request("token:a", "default", 0.01, 3) for number in range(4)]
    assert taken[:3] == [0, 0, 0]
    assert 0 < taken[3] <= 100
    assert fleets[0].take_request("token:b", "default", 0.01, 3) == 0
    # So fast an allowance is full again before the next statement.
    assert [fleets[0].take_request("token:c", "default", 1_000_000, 1) for _ in range(20)] == [0] * 20
