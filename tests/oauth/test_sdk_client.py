"""The client of the MCP SDK gets in by itself: it finds out where to ask, registers, asks, calls, refreshes, ends."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx
import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp_types import TextContent
from oauth_steps import BACK, OAUTH, SECRET, Form
from patience import WAIT_SECONDS
from world import running_server

pytestmark = pytest.mark.engines


class Kept(TokenStorage):
    """What a client keeps on its disk."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Owner:
    """The user: opens what the client shows, enters the secret, and is sent back."""

    def __init__(self) -> None:
        self.consents = 0
        self._location = ""

    async def open(self, url: str) -> None:
        self.consents += 1
        async with httpx.AsyncClient(timeout=WAIT_SECONDS, trust_env=False) as browser:
            page = await browser.get(url)
            form = {**Form(page.text).fields, "credential": SECRET, "step": "allow"}
            answer = await browser.post(url.partition("?")[0], data=form)
        self._location = answer.headers["location"]

    async def returned(self) -> AuthorizationCodeResult:
        given = {name: values[0] for name, values in parse_qs(urlsplit(self._location).query).items()}
        return AuthorizationCodeResult(code=given["code"], state=given["state"], iss=given["iss"])


def provider(url: str, kept: Kept, owner: Owner) -> OAuthClientProvider:
    metadata = OAuthClientMetadata.model_validate({"client_name": "Inspector", "redirect_uris": [BACK]})
    return OAuthClientProvider(url, metadata, kept, owner.open, owner.returned)


@asynccontextmanager
async def connected(url: str, auth: OAuthClientProvider) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(auth=auth, timeout=WAIT_SECONDS, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def saved(client: Client, content: str) -> str:
    result = await client.call_tool("memory_save", {"content": content})
    assert isinstance(result.content[0], TextContent)
    id: str = json.loads(result.content[0].text)["memory"]["id"]
    return id


async def whole_dance(url: str) -> None:
    kept, owner = Kept(), Owner()
    auth = provider(f"{url}/mcp", kept, owner)
    async with connected(f"{url}/mcp", auth) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"memory_save", "memory_recall"}
        assert await saved(client, "the harbour lamp is lit at dusk")
    first = kept.tokens
    assert first is not None
    assert kept.client is not None
    assert owner.consents == 1

    auth.context.token_expiry_time = 1  # as after an hour
    async with connected(f"{url}/mcp", auth) as client:
        assert await saved(client, "the mole is closed in winter")
    second = kept.tokens
    assert second is not None
    assert second.access_token != first.access_token
    assert second.refresh_token != first.refresh_token
    assert owner.consents == 1

    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=WAIT_SECONDS) as http:
        owners = {"Authorization": f"Bearer {SECRET}"}
        (listed,) = (await http.get("/agentmemory/tokens", headers=owners)).json()["tokens"]
        assert (listed["name"], listed["client"], listed["agentId"]) == ("Inspector", "Inspector", "inspector")
        assert listed["scopes"] == ["read", "write"]
        assert listed["refreshUntil"] > listed["expiresAt"]
        memories = (await http.get("/agentmemory/memories", headers=owners)).json()["memories"]
        assert {one["agentId"] for one in memories} == {"inspector"}
        document = (await http.get("/.well-known/oauth-authorization-server")).json()
        assert kept.client.token_endpoint_auth_method == "client_secret_basic"
        basic = httpx.BasicAuth(kept.client.client_id, kept.client.client_secret or "")
        ended = await http.post(document["revocation_endpoint"], data={"token": second.refresh_token}, auth=basic)
        assert ended.status_code == 200
    async with connected(f"{url}/mcp", auth) as client:  # revoked: the owner is asked again
        assert await saved(client, "the third key is with the harbour master")
    assert owner.consents == 2


def test_the_sdks_client_does_the_whole_dance(tmp_path: Path) -> None:
    with running_server(tmp_path / "m", **OAUTH) as (_, url):
        anyio.run(whole_dance, url)
