"""What was granted belongs to the place, as tokens do: no snapshot has it, and a restore brings nothing of it back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from oauth_steps import BACK, OAUTH, challenge_of
from postgres_server import give_back, new_schema
from world import World

from holdfast.context import CallContext
from holdfast.core.errors import Unauthorized
from holdfast.core.model import Json
from holdfast.ops.oauth.clients import authenticated, known_client, register
from holdfast.ops.oauth.consents import access_request, agreed, choice, issue_code
from holdfast.ops.oauth.grants import exchange
from holdfast.ops.oauth.oauth_records import Client, OAuthRefused
from holdfast.serve.http.auth import Auth

MCP = "https://memory.example/mcp"
VERIFIER = "v" * 50


def registered(ctx: CallContext) -> Client:
    body = {"client_name": "Claude", "redirect_uris": [BACK], "token_endpoint_auth_method": "none"}
    return authenticated(ctx, register(ctx, body)["client_id"], None, "none")


def granted_code(ctx: CallContext, client: Client) -> str:
    query = {
        "response_type": "code",
        "client_id": client.id,
        "state": "s",
        "code_challenge": challenge_of(VERIFIER),
        "code_challenge_method": "S256",
    }
    asked = access_request(ctx, query, MCP)
    consent = agreed(ctx, choice(asked, "", "claude", ("read", "write")))
    return ctx.store.write(lambda tx: issue_code(ctx, tx, asked, consent))


def tokens(ctx: CallContext, client: Client, code: str) -> Json:
    return exchange(ctx, client, {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER}, MCP)


def refreshed(ctx: CallContext, client: Client, token: Json) -> Json:
    return exchange(ctx, client, {"grant_type": "refresh_token", "refresh_token": token["refresh_token"]}, MCP)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "m", **OAUTH)
    yield made
    made.close()


@pytest.mark.engines
def test_a_restore_brings_no_revoked_client_back_and_loses_no_new_one(world: World) -> None:
    ctx, auth = world.context(), Auth(world.engine, "run")
    world.call("remember", content="the lamp is lit at dusk")
    early = registered(ctx)
    spent = tokens(ctx, early, granted_code(ctx, early))
    taken = world.call("snapshot_create", label="then")["id"]
    late = registered(ctx)
    fresh = refreshed(ctx, early, spent)
    new = tokens(ctx, late, granted_code(ctx, late))
    revoked = tokens(ctx, late, granted_code(ctx, late))
    world.call("token_revoke", id=revoked["access_token"].split("_")[1])

    world.call("snapshot_restore", id=taken, yes=True)
    ctx = world.context()
    assert known_client(ctx, late.id)
    for one in (fresh, new):
        assert auth.of(one["access_token"]).agent == "claude"
    for one in (spent, revoked):
        with pytest.raises(Unauthorized):
            auth.of(one["access_token"])
    assert refreshed(ctx, late, new)
    with pytest.raises(OAuthRefused, match="expired or was revoked"):
        refreshed(ctx, late, revoked)
    with pytest.raises(OAuthRefused, match="used before"):
        refreshed(ctx, early, spent)
    assert world.engine.store.verify() == []


def test_no_snapshot_has_a_client_or_a_grant(world: World, tmp_path: Path) -> None:
    ctx = world.context()
    world.call("remember", content="the lamp is lit at dusk")
    client = registered(ctx)
    tokens(ctx, client, granted_code(ctx, client))
    file = tmp_path / "captured.db"
    world.engine.capture(file, "default")
    assert b"claude.example" not in file.read_bytes()


def test_clients_alone_make_no_memory(world: World) -> None:
    before = world.engine.content_tag("default")
    registered(world.context())
    assert world.engine.content_tag("default") == before


def test_nothing_that_is_stored_lets_anybody_in(world: World) -> None:
    ctx = world.context()
    body = {"redirect_uris": [BACK], "token_endpoint_auth_method": "client_secret_post"}
    secret = register(ctx, body)["client_secret"]
    client = registered(ctx)
    code = granted_code(ctx, client)
    given = tokens(ctx, client, code)
    world.engine.close()
    stored = b"".join(one.read_bytes() for one in Path(world.engine.settings.home).rglob("*") if one.is_file())
    for text in (secret, code, given["access_token"], given["refresh_token"]):
        for part in text.split("_")[2:]:
            assert part.encode() not in stored


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[tuple[World, World]]:
    url = new_schema()
    one = World(tmp_path / "one", 1_000_000, store=url, **OAUTH)
    other = World(tmp_path / "other", 2_000_000, store=url, **OAUTH)
    yield one, other
    other.close()
    one.close()
    give_back(url)


def test_every_server_of_a_fleet_can_do_the_next_step(fleet: tuple[World, World]) -> None:
    one, other = (world.context() for world in fleet)
    client = registered(one)
    code = granted_code(other, client)
    first = tokens(one, client, code)
    auths = [Auth(world.engine, "run") for world in fleet]
    assert [auth.of(first["access_token"]).name for auth in auths]
    second = refreshed(other, client, first)
    with pytest.raises(OAuthRefused, match="used before"):
        refreshed(one, client, first)
    for world in fleet:
        world.clock.now += 1_000  # no server hears of the others here: it asks again after less than a second
    for auth in auths:
        with pytest.raises(Unauthorized):
            auth.of(second["access_token"])


def test_two_exchanges_of_one_code_at_once_give_one_token(fleet: tuple[World, World]) -> None:
    one, other = (world.context() for world in fleet)
    client = registered(one)
    code = granted_code(one, client)

    def attempt(ctx: CallContext) -> str:
        try:
            return str(tokens(ctx, client, code)["access_token"])
        except OAuthRefused as refused:
            return refused.error

    with ThreadPoolExecutor(2) as pool:
        given = sorted(pool.map(attempt, (one, other)))
    assert given[1] == "invalid_grant"
