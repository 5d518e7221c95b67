"""What a client and its user do, step by step over HTTP, so that a test can do one of the steps wrong."""

from __future__ import annotations

import base64
import hashlib
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from holdfast.core.system import SystemClock

SECRET = "the-servers-own-secret-of-enough-length"
BACK = "https://claude.example/api/mcp/auth_callback"
VERIFIER = "v" * 50
OAUTH = {"oauth": "on", "secret": SECRET}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
MCP_HEADERS = {"Accept": "application/json, text/event-stream"}


class MovedClock(SystemClock):
    """The real time, moved by a test."""

    moved_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.moved_ms

    def steady(self) -> float:
        return super().steady() + self.moved_ms / 1000


def challenge_of(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


class Form(HTMLParser):
    """The fields of a page's form as a browser would send them, but for its buttons."""

    def __init__(self, page: str):
        super().__init__()
        self.fields: dict[str, str | list[str]] = {}
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        name, value = found.get("name"), found.get("value") or ""
        if tag != "input" or name is None:
            return
        if found.get("type") == "checkbox":
            if "checked" in found:
                self.fields[name] = [*self.fields.get(name, []), value]
        else:
            self.fields[name] = value

    def handle_data(self, data: str) -> None:
        self.text += data


class RemoteClient:
    """A client that registered, and its user's browser."""

    def __init__(self, http: httpx.Client, **metadata: Any):
        self.http = http
        given = {"client_name": "Claude", "redirect_uris": [BACK], "token_endpoint_auth_method": "none", **metadata}
        answer = http.post("/oauth/register", json=given)
        assert answer.status_code == 201, answer.text
        self.registered: dict[str, Any] = answer.json()
        self.id: str = self.registered["client_id"]

    def request(self, **changes: str | None) -> dict[str, str]:
        """The query of an authorization request; None leaves a parameter out."""
        right = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": BACK,
            "state": "st&te=1",
            "scope": "read write",
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
        }
        return {name: value for name, value in {**right, **changes}.items() if value is not None}

    def form(self, **changes: str | None) -> Form:
        page = self.http.get("/oauth/authorize", params=self.request(**changes))
        assert page.status_code == 200, page.text
        return Form(page.text)

    def decide(self, form: Form, step: str = "allow", **fields: Any) -> httpx.Response:
        return self.http.post("/oauth/authorize", data={**form.fields, "step": step, **fields})

    def code(self, **changes: str | None) -> str:
        return self.sent_back(self.decide(self.form(**changes), credential=SECRET))["code"]

    def sent_back(self, answer: httpx.Response) -> dict[str, str]:
        """The parameters with which the user comes back to the client."""
        assert answer.status_code == 303, answer.text
        return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}

    def exchange(self, code: str, **changes: str | None) -> httpx.Response:
        right = {
            "grant_type": "authorization_code",
            "client_id": self.id,
            "code": code,
            "redirect_uri": BACK,
            "code_verifier": VERIFIER,
        }
        return self.token({**right, **changes})

    def refresh(self, token: str, **changes: str | None) -> httpx.Response:
        return self.token({"grant_type": "refresh_token", "client_id": self.id, "refresh_token": token, **changes})

    def token(self, fields: dict[str, str | None]) -> httpx.Response:
        return self.http.post("/oauth/token", data={name: one for name, one in fields.items() if one is not None})

    def tokens(self, **changes: str | None) -> dict[str, Any]:
        answer = self.exchange(self.code(**changes))
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def may_list(self, token: str) -> bool:
        """Whether the tools can be listed with the token."""
        headers = {**MCP_HEADERS, "Authorization": f"Bearer {token}"}
        answer = self.http.post("/mcp", json=LIST, headers=headers)
        assert answer.status_code in (200, 401), answer.text
        return answer.status_code == 200
