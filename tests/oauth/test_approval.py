"""Consent by a command on the server's machine, for those who do not want to enter a secret into a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from oauth_steps import BACK, OAUTH, SECRET, Form, MovedClock, RemoteClient, challenge_of
from world import World

from holdfast.core.errors import Fault, Forbidden, LimitReached, NotFound
from holdfast.core.model import Caller
from holdfast.ops.oauth import clients, consents
from holdfast.ops.oauth.clients import HURRY_MS, register
from holdfast.ops.oauth.consents import (
    access_request,
    choice,
    code_if_approved,
    suggested_agent,
    wait_for_consent,
)
from holdfast.ops.oauth.oauth_records import AccessRequest, OAuthRefused

OWNER = {"Authorization": f"Bearer {SECRET}"}


def waiting(claude: RemoteClient, **choices: Any) -> Form:
    """The page that waits for a command."""
    page = claude.decide(claude.form(), **choices)
    assert page.status_code == 200
    form = Form(page.text)
    assert f"holdfast oauth approve {form.fields['code']}" in form.text
    return form


def approve(http: httpx.Client, form: Form, **arguments: Any) -> dict[str, Any]:
    body = {"code": form.fields["code"], **arguments}
    answer = http.post("/agentmemory/oauth/approve", json=body, headers=OWNER)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_request_is_shown_then_approved_and_the_page_goes_on(claude: RemoteClient) -> None:
    form = waiting(claude, agent="desk", grant=["read"])
    shown = approve(claude.http, form)
    assert (shown["approved"], shown["client"], shown["returnsTo"]) == (False, "Claude", "https://claude.example")
    assert (shown["tenant"], shown["agentId"], shown["scopes"]) == ("default", "desk", ["read"])
    early = claude.decide(form, step="continue")
    assert early.status_code == 200
    assert "not approved yet" in early.text
    assert approve(claude.http, form, yes=True)["approved"]
    given = claude.sent_back(claude.decide(form, step="continue"))
    assert given["state"] == "st&te=1"
    tokens = claude.exchange(given["code"]).json()
    assert tokens["scope"] == "read"
    (listed,) = [
        one
        for one in claude.http.get("/agentmemory/tokens", headers=OWNER).json()["tokens"]
        if one["id"] == tokens["access_token"].split("_")[1]
    ]
    assert listed["agentId"] == "desk"
    again = claude.decide(form, step="continue")
    assert again.status_code == 404


def test_a_code_read_over_a_shoulder_is_of_no_use(claude: RemoteClient) -> None:
    form = waiting(claude)
    approve(claude.http, form, yes=True)
    for secret in ("", "0" * 48):
        answer = claude.decide(form, step="continue", page=secret)
        assert answer.status_code == 404
        assert "location" not in answer.headers
    assert claude.sent_back(claude.decide(form, step="continue"))["code"]


def test_a_code_to_approve_ends_after_ten_minutes(claude: RemoteClient, clock: MovedClock) -> None:
    form = waiting(claude)
    clock.moved_ms += 600_000
    answer = claude.http.post("/agentmemory/oauth/approve", json={"code": form.fields["code"]}, headers=OWNER)
    assert answer.status_code == 404
    assert "ten minutes" in answer.json()["hint"] or "10 minutes" in answer.json()["hint"]


# Without HTTP


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "m", **OAUTH)
    yield made
    made.close()


def request_in(world: World, name: str = "Claude") -> AccessRequest:
    ctx = world.context()
    body = {"client_name": name, "redirect_uris": [BACK], "token_endpoint_auth_method": "none"}
    query = {
        "response_type": "code",
        "client_id": register(ctx, body)["client_id"],
        "redirect_uri": BACK,
        "state": "s",
        "code_challenge": challenge_of("v" * 50),
        "code_challenge_method": "S256",
    }
    return access_request(ctx, query, "https://memory.example/mcp")


def wait_in(world: World, asked: AccessRequest, tenant: str = "", agent: str = "claude") -> tuple[str, str]:
    return wait_for_consent(world.context(), asked, choice(asked, tenant, agent, ("read",)))


@pytest.mark.parametrize(
    ("caller", "fault"),
    [
        (Caller(scopes=frozenset({"read", "write"})), Forbidden),
        (Caller(scopes=frozenset({"admin"}), agent="other"), Forbidden),
        (Caller("other", scopes=frozenset({"admin"})), NotFound),  # he could turn the client to his own memory
    ],
)
def test_who_may_not_approve(world: World, caller: Caller, fault: type[Fault]) -> None:
    code, secret = wait_in(world, request_in(world))
    with pytest.raises(fault):
        world.call("oauth_approve", caller, code=code, yes=True)
    assert code_if_approved(world.context(), code, secret)[1] is None


def test_an_admin_approves_for_his_own_tenant(world: World) -> None:
    code, _ = wait_in(world, request_in(world), "island")
    with pytest.raises(NotFound):
        world.call("oauth_approve", Caller(scopes=frozenset({"admin"})), code=code, yes=True)
    assert world.call("oauth_approve", Caller("island", scopes=frozenset({"admin"})), code=code, yes=True)["approved"]


@pytest.mark.parametrize("code", ["BBBB-BBBB", "x" * 500, "\u0131"])
def test_what_is_no_code_approves_nothing(world: World, code: str) -> None:
    with pytest.raises(NotFound):
        world.call("oauth_approve", code=code, yes=True)


def test_a_code_is_found_however_it_is_typed(world: World) -> None:
    code, secret = wait_in(world, request_in(world))
    assert world.call("oauth_approve", code=f" {code.lower().replace('-', ' ')} ", yes=True)["approved"]
    assert code_if_approved(world.context(), code, secret)[1]


def test_so_many_requests_may_wait_and_no_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consents, "MAX_WAITING", 3)
    asked = request_in(world)
    for _ in range(3):
        wait_in(world, asked)
    with pytest.raises(LimitReached):
        wait_in(world, asked)
    world.clock.now += 600_000
    wait_in(world, asked)


def test_so_many_clients_may_register_and_the_oldest_without_a_consent_gives_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "MAX_CLIENTS", 4)
    approved = request_in(world, "approved")
    code, secret = wait_in(world, approved)
    world.call("oauth_approve", code=code, yes=True)
    assert code_if_approved(world.context(), code, secret)[1]
    body = {"redirect_uris": [BACK]}
    first = register(world.context(), body)["client_id"]
    for _ in range(2):
        register(world.context(), body)
    with pytest.raises(OAuthRefused) as refused:
        register(world.context(), body)
    assert refused.value.error == "temporarily_unavailable"
    world.clock.now += HURRY_MS + 1
    register(world.context(), body)
    with pytest.raises(OAuthRefused):
        access_request(world.context(), {"client_id": first}, "https://memory.example/mcp")
    world.clock.now += 25 * 3_600_000  # those that nobody consented to are gone, and the other is not
    with pytest.raises(OAuthRefused) as refused:
        access_request(
            world.context(), {"client_id": approved.client, "redirect_uri": BACK}, "https://memory.example/mcp"
        )
    assert refused.value.error == "unsupported_response_type"


def test_the_agent_that_the_page_suggests_is_the_servers_own_where_it_has_one(world: World, tmp_path: Path) -> None:
    assert suggested_agent(world.context(), "Claude (web) / Ünïcode") == "claude-web-n-code"
    other = World(tmp_path / "other", agent="keeper", **OAUTH)
    assert suggested_agent(other.context(), "Claude") == "keeper"
    other.close()
