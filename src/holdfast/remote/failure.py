"""What can go wrong with a remote answer, as values in our own words.

A failure never quotes the answer, the request or the key, so the fault made from it can go anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.core.errors import UpstreamFailed

# The prefix of the settings of each use.
LLM = "HOLDFAST_LLM"
EMBEDDER = "HOLDFAST_EMBEDDER"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no usable answer."""

    reason: str
    status: int | None = None
    passing: bool = False  # transient: a later attempt may succeed
    retry_after: float | None = None  # seconds to wait, as the server requested
    hint: str | None = None  # {use} stands for the prefix of the settings of this use

    def fault(self, provider: str, operation: str, use: str = LLM) -> UpstreamFailed:
        """The fault to raise: it names provider, operation and status."""
        status = "" if self.status is None else f" (HTTP status {self.status})"
        fault = UpstreamFailed(
            f"{provider} {operation}: {self.reason}{status}",
            hint=self.hint and self.hint.replace("{use}", use),
            details={"provider": provider, "operation": operation, "status": self.status},
        )
        fault.retryable = self.passing
        return fault


# The service answered, but not with something a summary can be made of.
EMPTY = Failure("the response is empty", 200, passing=True)
TRUNCATED = Failure("the response was cut off at the token limit", 200, hint="Send less text, or allow more tokens.")
REFUSED = Failure("the model refused the request", 200, hint="Try another model: set {use}_MODEL.")
UNFINISHED = Failure("the model stopped before the response was complete", 200)
MALFORMED = Failure(
    "the response is not valid for this API", 200, hint="Check that the URL is the base URL of this API."
)
MISCOUNTED = Failure("the response has the wrong number of vectors", 200)
MISSIZED = Failure("the vectors have the wrong dimensions", 200, hint="Set {use}_DIMS to the dimensions of the model.")
NOT_NUMBERS = Failure("a vector is zero or contains an invalid number", 200)
TOO_LARGE = Failure("the response is larger than 2 MB", 200)

TIMED_OUT = Failure("no response in time", passing=True, hint="Raise {use}_SECONDS, or use a faster model.")
