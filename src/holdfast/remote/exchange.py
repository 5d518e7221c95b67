"""One HTTP exchange: bytes out, a JSON object or a failure back. Knows no retries, budgets or models."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TypeVar

import httpx

from holdfast.core.model import Json
from holdfast.core.ports import Clock
from holdfast.remote.address_policy import Site
from holdfast.remote.failure import MALFORMED, TIMED_OUT, TOO_LARGE, Failure
from holdfast.remote.guard import AddressGuard, AddressRefused

T = TypeVar("T")

CONNECT_SECONDS = 5.0
# A long summary is some 20 kB; anything near this is not an answer.
MAX_ANSWER_BYTES = 2_000_000

# No compression: the size limit then counts the bytes that are parsed. No pooling: see Guard.
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json",
    "accept-encoding": "identity",
    "connection": "close",
    "user-agent": "holdfast",
}
PASSING_STATUS = frozenset({408, 429, *range(500, 600)})


def answered(
    client: httpx.Client, request: httpx.Request, guard: AddressGuard, read: Callable[[httpx.Response], T]
) -> T | Failure:
    """What `read` makes of the answer, or why there is none.

    Only our own words leave this: a protocol error may quote the answer.
    """
    try:
        with guard:
            response = client.send(request, stream=True)
            try:
                return read(response)
            finally:
                response.close()
    except AddressRefused as refused:
        return Failure(str(refused))
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        return Failure(f"could not connect ({error})", passing=True)
    except httpx.TimeoutException:
        return TIMED_OUT
    except httpx.HTTPError as error:
        return Failure(f"the connection was lost ({type(error).__name__})", passing=True)


class HttpExchange:
    """Posts to one site, from any thread. No connection outlives its call, so there is nothing to close."""

    def __init__(self, site: Site, headers: Mapping[str, str], clock: Clock):
        self._site = site
        self._clock = clock
        # trust_env: proxies and netrc are not taken from the environment, which only settings/ reads.
        self._client = httpx.Client(
            headers={**HEADERS, **headers},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # none are kept
            follow_redirects=False,
            trust_env=False,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )

    def post(self, path: str, content: bytes, deadline: float) -> Json | Failure:
        """The JSON object that the path answers with; `deadline` is in steady-clock seconds."""
        left = deadline - self._clock.steady()
        if left <= 0:
            return TIMED_OUT
        guard = AddressGuard(self._site.refusal, left)
        outcome = self._sent(path, content, guard, left)
        return TIMED_OUT if guard.expired else outcome

    def _sent(self, path: str, content: bytes, guard: AddressGuard, left: float) -> Json | Failure:
        request = self._client.build_request(
            "POST",
            self._site.to(path),
            content=content,
            timeout=httpx.Timeout(left, connect=min(CONNECT_SECONDS, left)),
            extensions={"trace": guard.trace},
        )
        return answered(self._client, request, guard, self._read)

    def _read(self, response: httpx.Response) -> Json | Failure:
        if not response.is_success:
            return self._unsuccessful(response)
        body = bytearray()
        for chunk in response.iter_raw():
            body += chunk
            if len(body) > MAX_ANSWER_BYTES:
                return TOO_LARGE
        return json_object(bytes(body))

    def _unsuccessful(self, response: httpx.Response) -> Failure:
        status = response.status_code
        wait = seconds_to_wait(response.headers.get("retry-after"), self._clock.now_ms())
        reason = "a redirect is not followed" if response.is_redirect else "the request failed"
        return Failure(reason, status, status in PASSING_STATUS, wait)


def json_object(body: bytes) -> Json | Failure:
    """The JSON object in these bytes, or MALFORMED."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):  # 2 MB of "[" is deeper than the parser goes
        return MALFORMED
    return value if isinstance(value, dict) else MALFORMED


def seconds_to_wait(retry_after: str | None, now_ms: int) -> float | None:
    """The wait in a Retry-After header, in seconds from now; None when it cannot be read."""
    if not retry_after:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])  # nine digits are 30 years
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now_ms / 1000)
    except (ValueError, OverflowError):
        return None
