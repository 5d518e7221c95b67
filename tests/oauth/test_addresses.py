"""Where OAuth may be turned on, what is published of it, and what is said where it is off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from oauth_steps import LIST, MCP_HEADERS, OAUTH, SECRET, RemoteClient
from world import running, settings

from holdfast.core.errors import InvalidSettings
from holdfast.serve.oauth.issuer import check_settings, issuer, resource
from holdfast.serve.run import RunningServer

PUBLIC = "https://memory.example.org"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"secret": ""}, "HOLDFAST_SECRET"),
        ({"secret": "", "public_url": PUBLIC}, "HOLDFAST_SECRET"),
        ({"host": "0.0.0.0"}, "HOLDFAST_PUBLIC_URL"),
        ({"host": "192.0.2.1"}, "HOLDFAST_PUBLIC_URL"),
        ({"host": "0.0.0.0", "public_url": "http://localhost:3111"}, "HOLDFAST_PUBLIC_URL"),
    ],
)
def test_a_server_does_not_start_with_oauth_where_tokens_would_be_seen(
    tmp_path: Path, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidSettings) as refused:
        RunningServer(settings(tmp_path / "m", **{**OAUTH, **given}))
    assert words in refused.value.hint
    assert SECRET not in refused.value.message


@pytest.mark.parametrize(
    "url",
    [
        "http://memory.example.org",
        "https://memory.example.org/holdfast",
        "https://user@memory.example.org",
        "https://memory.example.org?x",
        'https://memory.example.org"',
        "memory.example.org",
        "ftp://memory.example.org",
    ],
)
def test_what_cannot_be_a_public_address_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(InvalidSettings, match="without a path"):
        settings(tmp_path / "m", public_url=url)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({"port": 4000}, "http://127.0.0.1:4000"),
        ({"port": 4000, "host": "::1"}, "http://[::1]:4000"),
        ({"public_url": "https://Memory.Example.org/"}, PUBLIC),
        ({"host": "0.0.0.0", "public_url": PUBLIC}, PUBLIC),
        ({"public_url": "http://localhost:3111"}, "http://localhost:3111"),
    ],
)
def test_the_address_is_the_public_one_or_that_on_loopback(tmp_path: Path, given: dict[str, Any], address: str) -> None:
    made = settings(tmp_path / "m", **{**OAUTH, **given})
    check_settings(made)
    assert (issuer(made), resource(made)) == (address, f"{address}/mcp")


def test_a_client_behind_a_proxy_finds_its_way_from_a_refusal(tmp_path: Path) -> None:
    """The proxy hands on the public name in Host."""
    with running(tmp_path / "m", public_url=PUBLIC, **OAUTH) as http:
        http.headers["Host"] = "memory.example.org"
        refused = http.post("/mcp", json=LIST, headers=MCP_HEADERS)
        assert refused.status_code == 401
        where = f"{PUBLIC}/.well-known/oauth-protected-resource/mcp"
        assert refused.headers["www-authenticate"] == f'Bearer scope="read write", resource_metadata="{where}"'
        assert http.get("/mcp").status_code == 401
        document = http.get(where.removeprefix(PUBLIC)).json()
        assert (document["resource"], document["authorization_servers"]) == (f"{PUBLIC}/mcp", [PUBLIC])
        server = http.get("/.well-known/oauth-authorization-server").json()
        assert server["issuer"] == PUBLIC
        assert all(server[name].startswith(PUBLIC) for name in server if name.endswith("_endpoint"))
        assert server["code_challenge_methods_supported"] == ["S256"]

        client = RemoteClient(http)
        for elsewhere in (
            "https://memory.example.org.evil.example/mcp",
            "https://other.example/mcp",
            f"{PUBLIC}/other",
        ):
            assert http.get("/oauth/authorize", params=client.request(resource=elsewhere)).status_code == 400
        form = client.form(resource=f"{PUBLIC}/mcp")
        http.headers["Origin"] = PUBLIC  # as the browser sends it with the form
        back = client.sent_back(client.decide(form, credential=SECRET))
        assert back["iss"] == PUBLIC
        del http.headers["Origin"]
        assert client.may_list(client.exchange(back["code"], resource=f"{PUBLIC}/mcp").json()["access_token"])


def test_another_name_is_not_let_in(tmp_path: Path) -> None:
    with running(tmp_path / "m", public_url=PUBLIC, **OAUTH) as http:
        http.headers["Host"] = "evil.example"
        assert http.get("/.well-known/oauth-authorization-server").status_code == 403


def test_where_it_is_off_nothing_of_it_is_there(tmp_path: Path) -> None:
    with running(tmp_path / "m", secret=SECRET) as http:
        assert http.post("/mcp", json=LIST, headers=MCP_HEADERS).headers["www-authenticate"] == "Bearer"
        for path in ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"):
            assert http.get(path).status_code == 404
        for path in ("/oauth/register", "/oauth/token", "/oauth/revoke", "/oauth/authorize"):
            assert http.post(path, json={}).status_code == 404


def test_other_paths_do_not_lead_to_a_consent(tmp_path: Path) -> None:
    with running(tmp_path / "m", **OAUTH) as http:
        assert isinstance(http, httpx.Client)
        assert http.get("/agentmemory/memories").headers["www-authenticate"] == "Bearer"
