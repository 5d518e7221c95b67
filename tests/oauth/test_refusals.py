"""What an attacker tries at the endpoints of OAuth, and that each is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from oauth_steps import BACK, SECRET, VERIFIER, Form, MovedClock, RemoteClient

MINUTE = 60_000


def refused(answer: httpx.Response, error: str, status: int = 400) -> None:
    assert (answer.status_code, answer.json()["error"]) == (status, error), answer.text


# Registration

NO_ADDRESSES = (
    "javascript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://a.example/1",
    "about:blank",
    "ftp://a.example/x",
    "http://a.example/back",
    "http://127.0.0.1.a.example/back",
    "http://localhost@a.example/back",
    "https://user:word@a.example/back",
    "https://a.example/back#part",
    "https://a.example/back#",
    "https:///back",
    "https://a_b.example/back",
    "https://a.example:port/back",
    "https://a.example/\r\nSet-Cookie: x=1",
    "https://a.example/ b",
    'https://a.example/"><script>',
    "https://a.example;script-src/back",
    "//a.example/back",
    "/back",
    "back",
    "",
    "unknownapp://back",
    "https://a.example/" + "x" * 2_000,
)


@pytest.mark.parametrize("uri", NO_ADDRESSES)
def test_no_user_is_sent_to_such_an_address(claude: RemoteClient, uri: str) -> None:
    body = {"client_name": "x", "redirect_uris": [BACK, uri], "token_endpoint_auth_method": "none"}
    refused(claude.http.post("/oauth/register", json=body), "invalid_redirect_uri")


@pytest.mark.parametrize(
    "uri",
    [
        "https://claude.ai/api/mcp/auth_callback",
        "http://127.0.0.1:6274/oauth/callback",
        "http://[::1]/back",
        "http://localhost:33418",
        "cursor://anysphere.cursor-retrieval/oauth/user-x/callback",
        "com.example.app:/oauth2redirect",
        "https://a.example/back?with=query",
    ],
)
def test_addresses_of_real_clients_are_taken(claude: RemoteClient, uri: str) -> None:
    body = {"redirect_uris": [uri], "token_endpoint_auth_method": "none"}
    assert claude.http.post("/oauth/register", json=body).json()["redirect_uris"] == [uri]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": BACK}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": [7]}, "invalid_redirect_uri"),
        ({"redirect_uris": [BACK] * 11}, "invalid_redirect_uri"),
        ({"redirect_uris": [BACK], "client_name": 7}, "invalid_client_metadata"),
        ({"redirect_uris": [BACK], "client_name": "x" * 2_000}, "invalid_client_metadata"),
        ({"redirect_uris": [BACK], "grant_types": ["password"]}, "invalid_client_metadata"),
        ({"redirect_uris": [BACK], "grant_types": 7}, "invalid_client_metadata"),
        ({"redirect_uris": [BACK], "response_types": ["token"]}, "invalid_client_metadata"),
        ({"redirect_uris": [BACK], "token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
    ],
)
def test_a_registration_that_cannot_be_taken_is_refused(http: httpx.Client, body: Any, error: str) -> None:
    refused(http.post("/oauth/register", json=body), error)


def test_what_is_no_registration_is_refused_in_a_sentence(http: httpx.Client) -> None:
    assert http.post("/oauth/register", json=[1]).status_code == 400
    assert http.post("/oauth/register", content=b"{").status_code == 415
    assert http.post("/oauth/register", json={"client_name": "x" * 20_000}).status_code == 413
    assert http.post("/oauth/token", data={"code": "x" * 20_000}).status_code == 413
    assert http.post("/oauth/token", json={"grant_type": "authorization_code"}).status_code == 415


def test_a_stranger_registers_a_score_of_clients_at_once_and_no_more(http: httpx.Client) -> None:
    body = {"redirect_uris": [BACK]}
    statuses = [http.post("/oauth/register", json=body).status_code for _ in range(22)]
    assert statuses[:20] == [201] * 20
    assert statuses[-1] == 429


# The request and its page


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"client_id": "0" * 16}, "client_id"),
        ({"client_id": None}, "client_id"),
        ({"redirect_uri": "https://evil.example/back"}, "redirect_uri"),
        ({"redirect_uri": BACK + "/"}, "redirect_uri"),
        ({"redirect_uri": BACK + "?more=1"}, "redirect_uri"),
        ({"redirect_uri": BACK.upper()}, "redirect_uri"),
        ({"response_type": "token"}, "response_type"),
        ({"state": None}, "state"),
        ({"state": "x" * 3_000}, "state"),
        ({"code_challenge": None}, "PKCE"),
        ({"code_challenge": VERIFIER, "code_challenge_method": "plain"}, "PKCE"),
        ({"code_challenge_method": None}, "PKCE"),
        ({"code_challenge": "short"}, "PKCE"),
        ({"resource": "https://elsewhere.example/mcp"}, "resource"),
        ({"scope": "read admin"}, "scope"),
        ({"scope": "root"}, "scope"),
    ],
)
def test_a_wrong_request_is_shown_to_the_user_and_sends_him_nowhere(
    claude: RemoteClient, changes: dict[str, str | None], sentence: str
) -> None:
    query = claude.request(**changes)
    form = claude.form().fields
    for answer in (
        claude.http.get("/oauth/authorize", params=query),
        claude.http.post("/oauth/authorize", data={**form, **query, "step": "allow", "credential": SECRET})
        if None not in changes.values()
        else claude.http.get("/oauth/authorize", params=query),
    ):
        assert answer.status_code == 400
        assert "location" not in answer.headers
        assert sentence in answer.text
        assert "evil.example" not in answer.text
        assert "form-action 'none'" in answer.headers["content-security-policy"]


def test_a_parameter_that_stands_there_twice_is_refused(claude: RemoteClient) -> None:
    query = [*claude.request().items(), ("redirect_uri", "https://evil.example/back")]
    assert claude.http.get("/oauth/authorize", params=query).status_code == 400


def test_a_native_app_takes_any_free_port_and_nothing_else(http: httpx.Client) -> None:
    app = RemoteClient(http, redirect_uris=["http://127.0.0.1:1000/back"])
    right = "http://127.0.0.1:4321/back"
    assert app.sent_back(app.decide(app.form(redirect_uri=right), credential=SECRET))["code"]
    for wrong in ("http://127.0.0.1:4321/", "http://localhost:1000/back", "https://127.0.0.1:1000/back"):
        assert http.get("/oauth/authorize", params=app.request(redirect_uri=wrong)).status_code == 400


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def test_a_hostile_name_is_text_on_the_page(http: httpx.Client) -> None:
    client = RemoteClient(http, client_name=HOSTILE)
    page = http.get("/oauth/authorize", params=client.request(state=HOSTILE))
    assert "<script" not in page.text
    assert "<img" not in page.text
    assert HOSTILE in Form(page.text).text
    assert Form(page.text).fields["state"] == HOSTILE
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://claude.example;" in policy
    assert page.headers["x-frame-options"] == "DENY"
    assert page.headers["cache-control"] == "no-store"


def test_a_name_is_one_short_line_without_secrets_or_hidden_characters(http: httpx.Client) -> None:
    key = "sk-ant-api03-" + "a1B2" * 24
    name = f"Claude\r\nX-Header: 1\u202e\u200b {key}"
    given = RemoteClient(http, client_name=name).registered["client_name"]
    assert given.startswith("Claude X-Header: 1")
    assert len(given) <= 80
    assert given.isprintable()
    assert key[:40] not in given


def test_the_page_says_who_what_where_and_for_whom(claude: RemoteClient) -> None:
    form = claude.form()
    for words in ("Claude", "not verified", "https://claude.example", "search and read", "save, change and forget"):
        assert words in form.text
    assert form.fields["grant"] == ["read", "write"]
    assert (form.fields["agent"], form.fields["tenant"]) == ("claude", "default")


@pytest.mark.parametrize(
    "credential", ["a guess", "hft_0123456789abcdef_" + "0" * 48, "Bearer " + SECRET, SECRET + "x"]
)
def test_nobody_consents_without_the_secret_or_an_admins_token(claude: RemoteClient, credential: str) -> None:
    answer = claude.decide(claude.form(), credential=credential)
    assert answer.status_code == 401
    assert "location" not in answer.headers
    assert credential.strip() not in answer.text


def test_a_token_that_is_no_admins_cannot_consent(claude: RemoteClient) -> None:
    answer = claude.decide(claude.form(), credential=claude.tokens()["access_token"])
    assert answer.status_code == 403
    assert "admin" in answer.text


def test_an_admin_consents_for_his_own_tenant_alone(claude: RemoteClient) -> None:
    owner = {"Authorization": f"Bearer {SECRET}"}
    body = {"name": "island admin", "scopes": ["admin"], "tenant": "island"}
    admin = claude.http.post("/agentmemory/tokens", json=body, headers=owner).json()["token"]
    assert claude.decide(claude.form(), credential=admin).status_code == 403  # the page says "default"
    code = claude.sent_back(claude.decide(claude.form(), credential=admin, tenant="island"))["code"]
    token = claude.exchange(code).json()["access_token"]
    kept = {"content": "the island's own"}
    claude.http.post(
        "/agentmemory/remember", json=kept, headers={"Authorization": f"Bearer {token}"}
    ).raise_for_status()
    assert claude.http.get("/agentmemory/memories", headers=owner).json()["memories"] == []
    (listed,) = [
        one
        for one in claude.http.get("/agentmemory/tokens", headers={"Authorization": f"Bearer {admin}"}).json()["tokens"]
        if "client" in one
    ]
    assert (listed["tenant"], listed["client"]) == ("island", "Claude")


@pytest.mark.parametrize(
    "fields", [{"tenant": "no/tenant"}, {"agent": "<b>"}, {"grant": []}, {"grant": ["admin"]}, {"agent": "a\r\nb"}]
)
def test_what_cannot_be_granted_is_refused_on_the_page(claude: RemoteClient, fields: dict[str, Any]) -> None:
    answer = claude.decide(claude.form(), credential=SECRET, **fields)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


def test_a_denied_client_is_told_so_and_gets_no_code(claude: RemoteClient) -> None:
    given = claude.sent_back(claude.decide(claude.form(), step="deny"))
    assert (given["error"], given["state"], "code" in given) == ("access_denied", "st&te=1", False)


def test_a_page_of_another_site_cannot_send_the_form(claude: RemoteClient) -> None:
    fields = {**claude.form().fields, "step": "allow", "credential": SECRET}
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = claude.http.post("/oauth/authorize", data=fields, headers=headers)
        assert answer.status_code == 403
        assert "location" not in answer.headers


def test_a_link_of_another_site_leads_to_the_page_and_to_nothing_else(claude: RemoteClient) -> None:
    site = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert claude.http.get("/oauth/authorize", params=claude.request(), headers=site).status_code == 200
    assert claude.http.get("/viewer", headers=site).status_code == 403


# Codes


@pytest.mark.parametrize(
    "changes",
    [
        {"code_verifier": "w" * 50},
        {"code_verifier": None},
        {"code_verifier": "v"},
        {"redirect_uri": "https://evil.example/back"},
    ],
)
def test_a_code_has_one_try(claude: RemoteClient, changes: dict[str, str | None]) -> None:
    code = claude.code()
    refused(claude.exchange(code, **changes), "invalid_grant")
    refused(claude.exchange(code), "invalid_grant")


def test_a_code_is_the_clients_that_it_was_given_to(claude: RemoteClient) -> None:
    code, other = claude.code(), RemoteClient(claude.http)
    refused(other.exchange(code), "invalid_grant")


def test_a_code_ends_after_a_minute(claude: RemoteClient, clock: MovedClock) -> None:
    code = claude.code()
    clock.moved_ms += MINUTE
    refused(claude.exchange(code), "invalid_grant")


def test_a_code_that_is_used_twice_ends_what_it_gave(claude: RemoteClient) -> None:
    code = claude.code()
    given = claude.exchange(code).json()
    assert claude.may_list(given["access_token"])
    refused(claude.exchange(code), "invalid_grant")
    assert not claude.may_list(given["access_token"])
    refused(claude.refresh(given["refresh_token"]), "invalid_grant")


@pytest.mark.parametrize("code", ["", "x", "hfc_", "hfc_0123456789abcdef_" + "0" * 48, "hfc_a_b_c", "\0", "hfc_ü_ü"])
def test_what_is_no_code_is_refused(claude: RemoteClient, code: str) -> None:
    refused(claude.exchange(code), "invalid_grant")


def test_a_token_for_another_resource_is_not_given(claude: RemoteClient) -> None:
    code = claude.code()
    refused(claude.exchange(code, resource="https://elsewhere.example/mcp"), "invalid_target")


def test_a_token_of_another_server_is_of_no_use(claude: RemoteClient) -> None:
    assert not claude.may_list("eyJhbGciOiJub25lIn0.e30.")
    answer = claude.http.post("/mcp", json={}, headers={"Authorization": "Bearer eyJhbGciOiJub25lIn0.e30."})
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_other_grants_are_not_supported(claude: RemoteClient) -> None:
    for kind in ("password", "client_credentials", "implicit", ""):
        refused(claude.token({"grant_type": kind, "client_id": claude.id}), "unsupported_grant_type")


# Clients that have a secret


def test_a_client_authenticates_as_it_registered(http: httpx.Client) -> None:
    client = RemoteClient(http, token_endpoint_auth_method="client_secret_post")
    secret = client.registered["client_secret"]
    refused(client.exchange(client.code()), "invalid_client", 401)
    refused(client.exchange(client.code(), client_secret="x"), "invalid_client", 401)
    other = RemoteClient(http, token_endpoint_auth_method="client_secret_post").registered["client_secret"]
    refused(client.exchange(client.code(), client_secret=other), "invalid_client", 401)
    assert client.exchange(client.code(), client_secret=secret).status_code == 200
    basic = http.post("/oauth/token", data={"grant_type": "refresh_token"}, auth=(client.id, secret))
    refused(basic, "invalid_client", 401)


def test_a_client_authenticates_in_one_way(http: httpx.Client) -> None:
    client = RemoteClient(http, token_endpoint_auth_method="client_secret_basic")
    auth = (client.id, client.registered["client_secret"])
    fields = {"grant_type": "refresh_token", "refresh_token": "x"}
    refused(http.post("/oauth/token", data=fields, auth=auth), "invalid_grant")
    refused(http.post("/oauth/token", data={**fields, "client_secret": "x"}, auth=auth), "invalid_client", 401)
    refused(http.post("/oauth/token", data={**fields, "client_id": "other"}, auth=auth), "invalid_client", 401)
    for header in ("Basic !", "Basic", "Digest x", "Basic w7w6w7w="):
        answer = http.post("/oauth/token", data=fields, headers={"Authorization": header})
        refused(answer, "invalid_client", 401)


# Tokens


def test_a_refresh_token_that_is_used_twice_ends_everything(claude: RemoteClient) -> None:
    first = claude.tokens()
    second = claude.refresh(first["refresh_token"]).json()
    assert claude.may_list(second["access_token"])
    assert not claude.may_list(first["access_token"])
    refused(claude.refresh(first["refresh_token"]), "invalid_grant")
    assert not claude.may_list(second["access_token"])
    refused(claude.refresh(second["refresh_token"]), "invalid_grant")


def test_a_guess_at_a_refresh_token_ends_nothing(claude: RemoteClient) -> None:
    given = claude.tokens()
    prefix, id, _, _ = given["refresh_token"].split("_")
    refused(claude.refresh(f"{prefix}_{id}_{'0' * 48}_{'0' * 48}"), "invalid_grant")
    refused(RemoteClient(claude.http).refresh(given["refresh_token"]), "invalid_grant")
    assert claude.may_list(given["access_token"])
    assert claude.refresh(given["refresh_token"]).status_code == 200


def test_no_refresh_gives_more_than_was_granted(claude: RemoteClient) -> None:
    given = claude.tokens(scope="read")
    assert given["scope"] == "read"
    for scope in ("write", "read write", "admin"):
        refused(claude.refresh(given["refresh_token"], scope=scope), "invalid_scope")
    headers = {"Authorization": f"Bearer {given['access_token']}"}
    assert claude.http.post("/agentmemory/remember", json={"content": "x"}, headers=headers).status_code == 403
    assert claude.http.get("/agentmemory/tokens", headers=headers).status_code == 403


def test_the_owner_grants_less_than_was_requested(claude: RemoteClient) -> None:
    code = claude.sent_back(claude.decide(claude.form(), credential=SECRET, grant=["read"]))["code"]
    assert claude.exchange(code).json()["scope"] == "read"


def test_a_token_ends_after_an_hour_and_its_refreshing_after_a_month(claude: RemoteClient, clock: MovedClock) -> None:
    given = claude.tokens()
    clock.moved_ms += 61 * MINUTE
    assert not claude.may_list(given["access_token"])
    again = claude.refresh(given["refresh_token"]).json()
    clock.moved_ms += 31 * 24 * 60 * MINUTE
    refused(claude.refresh(again["refresh_token"]), "invalid_grant")


def _revoke(token: str) -> Callable[[RemoteClient], httpx.Response]:
    return lambda client: client.http.post("/oauth/revoke", data={"token": token, "client_id": client.id})


@pytest.mark.parametrize("name", ["access_token", "refresh_token"])
def test_a_client_revokes_its_own_token(claude: RemoteClient, name: str) -> None:
    given = claude.tokens()
    assert _revoke(given[name])(RemoteClient(claude.http)).status_code == 200  # another's: no word, and no effect
    assert claude.may_list(given["access_token"])
    assert _revoke(given[name])(claude).status_code == 200
    assert not claude.may_list(given["access_token"])
    refused(claude.refresh(given["refresh_token"]), "invalid_grant")


@pytest.mark.parametrize("token", ["", "x", "hft_x_y", "hfr_x_y_z", "hft_0123456789abcdef_" + "0" * 48])
def test_revoking_what_is_no_token_is_no_error(claude: RemoteClient, token: str) -> None:
    assert _revoke(token)(claude).status_code == 200


def test_the_owner_revokes_a_client_by_its_token(claude: RemoteClient) -> None:
    given, owner = claude.tokens(), {"Authorization": f"Bearer {SECRET}"}
    id = given["access_token"].split("_")[1]
    assert claude.http.delete(f"/agentmemory/tokens/{id}", headers=owner).status_code == 200
    assert not claude.may_list(given["access_token"])
    refused(claude.refresh(given["refresh_token"]), "invalid_grant")
