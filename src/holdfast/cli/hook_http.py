"""One HTTP request of a hook, by the standard library; apart because urllib takes a while to import."""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

_ANSWER_BYTES = 1_000_000
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class _NoRedirect(HTTPRedirectHandler):
    """urllib would take the secret along to wherever a redirect points."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def ask(url: str, secret: str | None, method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
    """The server's JSON answer; None when there was none in time, or it refused."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            return None
        # A proxy from the environment must not see what is said on this machine.
        proxies = [ProxyHandler({})] if parts.hostname in _LOOPBACK else []
        with build_opener(_NoRedirect, *proxies).open(
            _request(url, secret, method, path, body), timeout=timeout
        ) as answer:
            value = json.loads(answer.read(_ANSWER_BYTES) or b"{}")
    except (OSError, HTTPException, ValueError):  # URLError is an OSError
        return None
    return value if isinstance(value, dict) else None


def _request(url: str, secret: str | None, method: str, path: str, body: object) -> Request:
    request = Request(url.rstrip("/") + path, method=method)  # noqa: S310 — the caller checked the scheme
    request.data = b"" if body is None else json.dumps(body).encode("utf-8")
    request.add_header("Content-Type", "application/json")
    if secret:
        request.add_unredirected_header("Authorization", f"Bearer {secret}")
    return request
