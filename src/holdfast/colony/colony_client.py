"""The SDK's client with the vault's conditional writes, which the SDK does not send.

The SDK keeps the credentials: keys, tokens and their cache are its business. The requests to the vault are made here,
with a limit on the answer's size and on the time it may take, and without following redirects.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import orjson
from colony_sdk import ColonyAPIError, ColonyClient, ColonyNetworkError, ColonyRateLimitError
from colony_sdk.client import DEFAULT_BASE_URL

from holdfast.core.errors import ColonyInvalid, InvalidSettings
from holdfast.core.ports import Clock
from holdfast.core.version import VERSION
from holdfast.remote.address_policy import Site, checked_site
from holdfast.remote.exchange import answered, seconds_to_wait
from holdfast.remote.failure import Failure
from holdfast.remote.guard import AddressGuard

# A file of 1.1 million characters, each of them escaped in the answer.
MOST_ANSWER_BYTES = 8_000_000
PREFIX = "cmem."


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: httpx.Headers
    body: bytes


# Without a handler its warnings would go to standard error, before the fault that reports the same.
logging.getLogger("colony_sdk").addHandler(logging.NullHandler())


class VaultClient(ColonyClient):
    """`colony_sdk.ColonyClient` whose vault can be written to on conditions."""

    def __init__(
        self,
        api_key: str,
        clock: Clock,
        base_url: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
        **options: Any,
    ):
        super().__init__(api_key, base_url or DEFAULT_BASE_URL, **options)
        self._site = _site(self.base_url)
        self._clock = clock
        self._sleep = sleep
        self._http = httpx.Client(
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # none are kept
            follow_redirects=False,
            proxy=self.proxy,  # without one, the usual proxy variables count, as they do for the SDK's own requests
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )

    def vault_status(self) -> dict[str, Any]:
        return self._object("GET", "/vault/status")

    def vault_list_files(self) -> dict[str, Any]:
        """All of our files. Further pages are read by cursor, or else by the number of files so far."""
        items: dict[str, Any] = {}
        more: dict[str, Any] = {}
        while True:
            page = self._object("GET", f"/vault/files?{urlencode({'prefix': PREFIX, **more})}")
            found = _by_name(page.get("items"))
            if more and not found.keys() - items.keys():
                raise ColonyNetworkError("the vault's listing is incomplete", status=0, response={})
            items |= found
            if page.get("next_cursor"):
                more = {"cursor": page["next_cursor"]}
            elif page.get("has_more"):
                more = {"offset": len(items)}
            else:
                return {"items": list(items.values()), "total": page.get("total")}

    def vault_get_file(self, filename: str) -> dict[str, Any]:
        answer = self._asked("GET", _path(filename))
        found = _parsed(answer)
        return {**found, "etag": answer.headers.get("etag") or found.get("etag")}

    def vault_upload_file(self, filename: str, content: str) -> dict[str, Any]:
        return self.vault_put_file(filename, content)

    def vault_put_file(
        self, filename: str, content: str, *, if_match: str | None = None, if_none_match: bool = False
    ) -> dict[str, Any]:
        """Store a file: only in place of the version of that ETag, or only if there is none of that name."""
        headers = {"if-match": if_match} if if_match else {"if-none-match": "*"} if if_none_match else {}
        return self._object("PUT", _path(filename), {"content": content}, headers)

    def vault_delete_file(self, filename: str) -> dict[str, Any]:
        return self._object("DELETE", _path(filename))

    def _object(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        return _parsed(self._asked(method, path, body, headers))

    def _asked(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Answer:
        """The answer to a request that succeeded, retried as the SDK's settings define.

        Retrying is safe: a file is stored whole and on the same condition, and deleting may find it gone.
        """
        renewed, attempt = False, 0
        while True:
            outcome = self._sent(method, path, body, headers or {})
            if isinstance(outcome, Answer) and 200 <= outcome.status < 300:
                return outcome
            if isinstance(outcome, Answer) and outcome.status == 401 and not renewed:
                renewed = True
                self.refresh_token()
                continue
            wait = self._wait(outcome, attempt)
            if wait is None:
                raise self._error(outcome, f"{method} {path.partition('?')[0]}")
            attempt += 1
            self._sleep(wait)

    def _sent(self, method: str, path: str, body: object, headers: Mapping[str, str]) -> Answer | Failure:
        guard = AddressGuard(self._site.refusal, self.timeout)
        request = self._http.build_request(
            method,
            self._site.to(path),
            content=None if body is None else orjson.dumps(body),
            headers={
                **headers,
                "authorization": f"Bearer {self.get_auth_token()}",
                "user-agent": f"holdfast/{VERSION}",
                "accept-encoding": "identity",
                **({} if body is None else {"content-type": "application/json"}),
            },
            timeout=self.timeout,
            extensions={"trace": guard.trace},
        )
        return answered(self._http, request, guard, _read)

    def _wait(self, outcome: Answer | Failure, attempt: int) -> float | None:
        """Seconds before the request is made again; None when it is not."""
        passing = outcome.passing if isinstance(outcome, Failure) else outcome.status in self.retry.retry_on
        if not passing or attempt >= self.retry.max_retries:
            return None
        asked = None if isinstance(outcome, Failure) else self._retry_after(outcome)
        if asked is None:
            return float(min(self.retry.base_delay * 2**attempt, self.retry.max_delay))
        return asked if asked <= self.retry.max_retry_after else None

    def _retry_after(self, answer: Answer) -> float | None:
        return seconds_to_wait(answer.headers.get("retry-after"), self._clock.now_ms())

    def _error(self, outcome: Answer | Failure, doing: str) -> ColonyAPIError:
        if isinstance(outcome, Failure):
            return ColonyNetworkError(f"{doing}: {outcome.reason}", status=0, response={})
        code = _code(outcome.body)
        said = f"{doing}: HTTP {outcome.status} {code or ''}".rstrip()
        if outcome.status == 429:
            wait = self._retry_after(outcome)
            seconds = None if wait is None else int(wait)
            return ColonyRateLimitError(said, status=429, response={}, code=code, retry_after=seconds)
        return ColonyAPIError(said, status=outcome.status, response={}, code=code)


def _site(base_url: str) -> Site:
    """The origin of that URL, if a key may be sent there.

    Raises:
        ColonyInvalid: it may not. Where a name leads is unknown, and the SDK sends the key before we can see it.
    """
    try:
        site = checked_site("base_url", base_url, keyed=True)
    except InvalidSettings as error:
        raise ColonyInvalid(error.message) from None
    if site.url.scheme == "http" and site.url.host != "localhost" and not _is_address(site.url.host):
        raise ColonyInvalid("base_url: the API key is not sent over plain http", hint="Take https.")
    return site


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _path(filename: str) -> str:
    return f"/vault/files/{quote(filename, safe='/')}"


def _by_name(items: object) -> dict[str, Any]:
    if not isinstance(items, list) or not all(isinstance(one, dict) for one in items):
        raise ColonyNetworkError("the vault's listing is malformed", status=0, response={})
    return {str(one.get("filename")): one for one in items}


def _read(response: httpx.Response) -> Answer | Failure:
    body = bytearray()
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > MOST_ANSWER_BYTES:
            return Failure("the response is too large")
    return Answer(response.status_code, response.headers, bytes(body))


def _parsed(answer: Answer) -> dict[str, Any]:
    value = _json(answer.body) if answer.body else {}
    if not isinstance(value, dict):
        raise ColonyNetworkError("the vault's response is not a JSON object", status=0, response={})
    return value


def _code(body: bytes) -> str | None:
    value = _json(body)
    detail = value.get("detail") if isinstance(value, dict) else None
    code = detail.get("code") if isinstance(detail, dict) else None
    return code[:64] if isinstance(code, str) and code.isidentifier() else None


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
