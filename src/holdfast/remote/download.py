"""Loads one large file to disk: guarded, bounded in size and time, whole or not at all. Sends no key and no data."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

import httpx

from holdfast.core.ports import Clock, Entropy
from holdfast.remote.address_policy import Site, checked_site, is_local
from holdfast.remote.exchange import CONNECT_SECONDS, HEADERS, answered
from holdfast.remote.failure import EMBEDDER, TIMED_OUT, Failure
from holdfast.remote.guard import AddressGuard

# A hub redirects to where the file lies, sometimes by way of a second address.
MOST_REDIRECTS = 5
SECONDS = 1800.0  # for all of a file: 90 MB at 50 kB a second

PROVIDER, OPERATION = "hub", "download"
WRONG_SIZE = Failure("the file is not of the expected size", 200, hint="Check {use}_URL.")
NO_ROOM = Failure(
    "the file could not be written", hint="Check that the data folder is writable and the disk is not full."
)


@dataclass(slots=True)
class _RedirectPolicy:
    """The redirects to the file. A public site may redirect to another, never to this machine or its network."""

    url: httpx.URL
    began_local: bool | None = None  # None until the first connection

    def refusal(self, address: str) -> str | None:
        local = is_local(address)
        if self.began_local is None:
            self.began_local = local
        if local and not self.began_local:
            return "a redirect from a public site to a private address was rejected"
        return Site(self.url, keyed=False).refusal(address)

    def on(self, location: str) -> Failure | None:
        """Follow a redirect, or return why not."""
        try:
            onward = self.url.join(location)
            onward.host.encode("idna")
        except (httpx.InvalidURL, UnicodeError):
            return Failure("a redirect has no valid target")
        if onward.scheme != "https" and onward.scheme != self.url.scheme:
            return Failure("a redirect from https to http was rejected")
        if onward.scheme not in {"http", "https"} or not onward.host:
            return Failure("a redirect has no valid target")
        self.url = onward
        return None


class Download:
    """Files below one base URL. Each call opens its own connections; none outlives it."""

    def __init__(self, setting: str, url: str, clock: Clock, entropy: Entropy, seconds: float = SECONDS):
        """Check the URL; nothing is sent yet.

        Raises:
            InvalidSettings: the URL cannot be used.
        """
        self._site = checked_site(setting, url, keyed=False)
        self._clock = clock
        self._entropy = entropy
        self._seconds = seconds

    def fetch(self, name: str, size: int, target: Path) -> None:
        """Put the file at `target`, which holds nothing or all of its `size` bytes at any moment.

        Raises:
            UpstreamFailed: it could not be downloaded, or has another size.
        """
        part = target.with_name(f".{target.name}.{self._entropy.hex(8)}.part")
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            failure = self._into(part, f"/{name}", size)
            if failure is None:
                part.replace(target)
        except OSError:
            failure = NO_ROOM
        finally:
            with contextlib.suppress(OSError):  # it is not there, or its folder never was
                part.unlink()
        if failure is not None:
            raise failure.fault(PROVIDER, OPERATION, EMBEDDER)

    def _into(self, part: Path, path: str, size: int) -> Failure | None:
        deadline = self._clock.steady() + self._seconds
        way = _RedirectPolicy(self._site.to(path))
        # trust_env: proxies and netrc are not taken from the environment, which only settings/ reads.
        with httpx.Client(headers={**HEADERS, "accept": "*/*"}, trust_env=False, follow_redirects=False) as client:
            for _ in range(MOST_REDIRECTS + 1):
                guard = AddressGuard(way.refusal, max(deadline - self._clock.steady(), 0.001))
                outcome = self._hop(client, guard, way, part, size)
                if guard.expired:
                    return TIMED_OUT
                if not isinstance(outcome, str):
                    return outcome
                if refused := way.on(outcome):
                    return refused
        return Failure("too many redirects")

    def _hop(
        self, client: httpx.Client, guard: AddressGuard, way: _RedirectPolicy, part: Path, size: int
    ) -> Failure | str | None:
        """None when the file is there, a location to follow, or a failure."""
        timeout = httpx.Timeout(30.0, connect=CONNECT_SECONDS)
        request = client.build_request("GET", way.url, timeout=timeout, extensions={"trace": guard.trace})
        return answered(client, request, guard, lambda response: _received(response, part, size))


def _received(response: httpx.Response, part: Path, size: int) -> Failure | str | None:
    if response.is_redirect and (location := response.headers.get("location")):
        return str(location)
    if response.status_code != 200:
        return Failure("the request failed", response.status_code, hint="Check {use}_URL.")
    left = size
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        for chunk in response.iter_raw():
            left -= len(chunk)
            if left < 0:
                return WRONG_SIZE
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return None if left == 0 else WRONG_SIZE
