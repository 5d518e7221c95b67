"""One remote API: JSON out, JSON back, within a time and a budget, retried when that can help.

Every remote model uses this, whatever the request.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from holdfast.core.errors import UpstreamFailed
from holdfast.core.model import Json
from holdfast.core.ports import Clock, Entropy
from holdfast.remote.address_policy import Site
from holdfast.remote.budget import HourlyBudget
from holdfast.remote.exchange import HttpExchange
from holdfast.remote.failure import LLM, Failure

ATTEMPTS = 3
FIRST_WAIT = 0.5  # seconds; doubles from one attempt to the next
# If a server requests a longer wait, the call fails now instead of holding a worker.
LONGEST_WAIT = 20.0

Pause = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """An API's address and credentials. `env` is the prefix of its settings: HOLDFAST_OPENAI."""

    provider: str
    env: str
    site: Site
    headers: Mapping[str, str] = field(repr=False)
    use: str = LLM  # the prefix of the settings for this use of the API

    def advice(self, status: int | None) -> str | None:
        """What to do about a status, in terms of our settings."""
        if status in {401, 403}:
            return f"Check {self.env}_KEY."
        if status in {400, 404, 422}:
            return f"Check {self.use}_MODEL and {self.env}_URL."
        if status == 429:
            return f"The rate limit or quota of this {self.provider} key is reached. Wait, or raise it at the provider."
        if status is not None and 300 <= status < 400:
            return f"Set {self.env}_URL to the target of the redirect."
        return None


class Endpoint:
    """Posts JSON to one API. Safe to use from many threads."""

    def __init__(
        self,
        access: ApiAccess,
        *,
        seconds: float,
        budget: HourlyBudget,
        clock: Clock,
        entropy: Entropy,
        pause: Pause = time.sleep,
    ):
        self.provider = access.provider
        self._access = access
        self._seconds = seconds
        self._budget = budget
        self._clock = clock
        self._entropy = entropy
        self._pause = pause
        self._exchange = HttpExchange(access.site, access.headers, clock)

    def post(self, path: str, body: Json, *, operation: str) -> Json:
        """The API's answer. The time limit covers all attempts and the waits between them.

        Raises: UpstreamFailed: no response in time, a failing status, an unreadable answer, or the budget is spent.
        """
        content = json.dumps(body).encode("ascii")
        deadline = self._clock.steady() + self._seconds
        attempt = 0
        while True:
            attempt += 1
            outcome = self._attempt(path, content, deadline)
            if not isinstance(outcome, Failure):
                return outcome
            wait = self._wait(outcome, attempt, deadline)
            if wait is None:
                raise self._fault(outcome, operation, attempt)
            self._pause(wait)

    def _attempt(self, path: str, content: bytes, deadline: float) -> Json | Failure:
        # Every attempt counts: the service may bill one that we saw fail.
        wait = self._budget.take()
        if wait == 0.0:
            return self._exchange.post(path, content, deadline)
        return Failure(
            f"the limit of {self._budget.limit} requests per hour is reached",
            passing=wait < math.inf,
            retry_after=wait,
            hint="Wait up to an hour, or raise {use}_CALLS_PER_HOUR.",
        )

    def _wait(self, failure: Failure, attempt: int, deadline: float) -> float | None:
        """Seconds until the next attempt, or None when there should be none."""
        if not failure.passing or attempt >= ATTEMPTS:
            return None
        jitter = int(self._entropy.hex(8), 16) / 0xFFFFFFFF
        own = FIRST_WAIT * 2 ** (attempt - 1) * (0.5 + jitter)
        wait = max(own, failure.retry_after or 0.0)
        left = deadline - self._clock.steady()
        return wait if wait <= LONGEST_WAIT and wait < left else None

    def _fault(self, failure: Failure, operation: str, attempts: int) -> UpstreamFailed:
        reason = failure.reason if attempts == 1 else f"{failure.reason}, after {attempts} attempts"
        hint = failure.hint or self._access.advice(failure.status)
        return replace(failure, reason=reason, hint=hint).fault(self.provider, operation, self._access.use)
