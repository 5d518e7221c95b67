"""Servers of one database, the tokens of its tenants, and clients that keep a connection each."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from intake import Server

API = "/agentmemory"
# What servers do in the background would take the processors from what is measured: snapshots on schedule, whose first
# ones of all tenants are due at the start, insights, which are drawn of all tenants then, and in measurements of writes
# the vectors.
QUIET = {"HOLDFAST_SNAPSHOT_EVERY": "off", "HOLDFAST_CONSOLIDATION": "false"}
PLAIN = {**QUIET, "HOLDFAST_EMBEDDER": "none"}


@contextmanager
def fleet_of(number: int, folder: Path, url: str, **environ: str) -> Iterator[list[Server]]:
    """So many servers, each with a data folder of its own."""
    with ExitStack() as stack:
        servers = []
        for place in range(number):
            servers.append(Server(folder / f"server-{place}", HOLDFAST_STORE=url, **environ))
            stack.callback(servers[-1].stop)
        yield servers


class Client:
    """One keep-alive connection with the credential of a tenant."""

    def __init__(self, port: int, token: str = "", timeout: float = 60):
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def post(self, path: str, body: dict[str, Any], **headers: str) -> tuple[int, Any]:
        """Status and answer. Raises `OSError` or `HTTPException` if there is none."""
        try:
            self._http.request("POST", API + path, json.dumps(body), {**self._headers, **headers})
            answer = self._http.getresponse()
            return answer.status, json.loads(answer.read())
        except Exception:
            self._http.close()
            raise

    def close(self) -> None:
        self._http.close()


def tokens_of(port: int, tenants: Sequence[str]) -> dict[str, str]:
    """A new token of each tenant."""

    def make(tenant: str) -> str:
        client = Client(port)
        status, answer = client.post("/tokens", {"name": "load", "scopes": ["read", "write"], "tenant": tenant})
        assert status in (200, 201), answer
        client.close()
        return str(answer["token"])

    with ThreadPoolExecutor(8) as threads:
        return dict(zip(tenants, threads.map(make, tenants), strict=True))
