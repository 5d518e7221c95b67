"""One HTTP request of a hook, within its time.

A server on this machine is reached over a plain socket: http.client takes 13 ms to import, urllib as much again.
"""

from __future__ import annotations

import json
import socket
from time import monotonic
from typing import Any

ANSWER_BYTES = 1_000_000
OK = range(200, 300)
# The server has read the request and will not take it, now or later.
REFUSED = (400, 409, 413, 415, 422)
DENIED = 401  # the credential is none of this server's, or no longer
# The server is there and has no memory that it could read or write; the event has to wait.
UNAVAILABLE = (
    "restore_pending",
    "read_only",
    "following",
    "data_damaged",
    "data_too_new",
    "storage_full",
    "storage_failed",
)
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def ask(url: str, secret: str | None, method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
    """The server's JSON answer; None when there was none in time.

    What the server will never take is answered with `refused`, and what it cannot take for now because of the state of
    its memory with `unavailable`: why, and what to do. So is a caller that it does not let in, with `denied`.
    """
    data = b"" if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    try:
        scheme, _, rest = url.rstrip("/").partition("://")
        place, slash, base = rest.partition("/")
        host, port = address_of(url)
        if scheme not in ("http", "https") or not host:
            return None
        target, headers = slash + base + path, _headers(secret)
        if scheme == "http" and host in _LOOPBACK:
            status, text = _over_socket(host, port, method, target, headers, data, timeout)
        else:
            status, text = _by_library(f"{scheme}://{place}{target}", method, headers, data, timeout)
        value = json.loads(text or b"{}") if status in OK or status not in REFUSED else {"refused": status}
    except (OSError, ValueError):
        return None
    if not isinstance(value, dict):
        return None
    if status in OK or status in REFUSED:
        return value
    if status == DENIED:
        return {"denied": True, "unavailable": "the server does not accept the credential"}
    return {"unavailable": f"{value.get('error')}. {value.get('hint')}"} if value.get("code") in UNAVAILABLE else None


def _headers(secret: str | None) -> dict[str, str]:
    headers = {"Content-Type": "application/json"}
    if secret:
        if not secret.isprintable():
            raise ValueError("no secret has line ends")
        headers["Authorization"] = f"Bearer {secret}"
    return headers


def _over_socket(
    host: str, port: int, method: str, target: str, headers: dict[str, str], data: bytes, timeout: float
) -> tuple[int, bytes]:
    """Status and body of the answer. HTTP/1.0: the server ends the answer by closing, and sends no chunks."""
    ends = monotonic() + timeout
    lines = [f"{method} {target} HTTP/1.0", f"Host: {host}:{port}", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with socket.create_connection((host, port), timeout=timeout) as link:
        link.settimeout(max(0.01, ends - monotonic()))
        link.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + data)
        answer = bytearray()
        while len(answer) < ANSWER_BYTES:
            link.settimeout(max(0.01, ends - monotonic()))
            part = link.recv(65_536)
            if not part:
                break
            answer += part
            if monotonic() > ends:
                raise TimeoutError
    head, _, text = bytes(answer).partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), text


def address_of(url: str) -> tuple[str, int]:
    """Host and port of an address.

    Raises:
        ValueError: it has none.
    """
    place = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    if place.startswith("["):
        host, _, port = place[1:].partition("]")
        return host, int(port.removeprefix(":") or 80)
    host, _, port = place.partition(":")
    return host, int(port or 80)


def _by_library(url: str, method: str, headers: dict[str, str], data: bytes, timeout: float) -> tuple[int, bytes]:
    """The same for servers elsewhere, by a proxy where the environment names one. No redirect is followed: it would
    take the secret along to wherever it points."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *args: Any, **kwargs: Any) -> None:
            return None

    request = Request(url, data, headers, method=method)  # noqa: S310 - the caller checked the scheme
    try:
        with build_opener(NoRedirect).open(request, timeout=timeout) as answer:
            return answer.status, answer.read(ANSWER_BYTES)
    except HTTPError as error:
        return error.code, error.read(ANSWER_BYTES)
    except HTTPException as error:
        raise OSError("no HTTP answer") from error
