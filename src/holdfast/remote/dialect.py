"""What one API's requests and answers look like: pure functions, without network, key or settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from holdfast.core.model import CleanText, Json
from holdfast.remote.failure import EMPTY, MALFORMED, Failure


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to a model. The text is data to work on; only the instruction is followed."""

    model: str
    instruction: CleanText
    text: CleanText
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Dialect:
    """One API. `answer` may raise on a shape that the API never returns; `answer_in` makes that a failure."""

    operation: str
    default_model: str
    headers: Callable[[str | None], dict[str, str]]
    path: Callable[[Prompt], str]
    body: Callable[[Prompt], Json]
    answer: Callable[[Json], Any]


def answer_in(reply: Json, dialect: Dialect) -> str | Failure:
    """The model's text in an API's reply, or why there is none."""
    try:
        answer = dialect.answer(reply)
    except (LookupError, TypeError, AttributeError):
        return MALFORMED
    if isinstance(answer, Failure):
        return answer
    if not isinstance(answer, str):
        return MALFORMED
    # Half a surrogate pair is legal in JSON and in str, but neither UTF-8 nor a database takes it.
    text = answer.encode("utf-8", "replace").decode("utf-8").strip()
    return text or EMPTY
