"""The Anthropic Messages API."""

from __future__ import annotations

from holdfast.core.model import Json
from holdfast.remote.dialect import Dialect, Prompt
from holdfast.remote.failure import REFUSED, TRUNCATED, UNFINISHED, Failure

# The cheapest current Claude ($1 and $5 per million tokens in and out, November 2026); the alias
# follows its snapshots.
DEFAULT_MODEL = "claude-haiku-4-5"
API_VERSION = "2023-06-01"

COMPLETE = {"end_turn", "stop_sequence"}
INCOMPLETE = {"max_tokens": TRUNCATED, "model_context_window_exceeded": TRUNCATED, "refusal": REFUSED}


def _headers(key: str | None) -> dict[str, str]:
    return {"anthropic-version": API_VERSION, "x-api-key": key or ""}


def _path(prompt: Prompt) -> str:
    return "/v1/messages"


def _body(prompt: Prompt) -> Json:
    return {
        "model": prompt.model,
        "max_tokens": prompt.max_tokens,
        "system": prompt.instruction,
        "messages": [{"role": "user", "content": prompt.text}],
    }


def _answer(reply: Json) -> str | Failure:
    if reply["stop_reason"] not in COMPLETE:
        return INCOMPLETE.get(reply["stop_reason"], UNFINISHED)
    return "".join(block["text"] for block in reply["content"] if block["type"] == "text")


DIALECT = Dialect("messages", DEFAULT_MODEL, _headers, _path, _body, _answer)
