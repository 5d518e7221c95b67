"""Chat completions, as OpenAI defined them and most local model servers support them."""

from __future__ import annotations

from typing import Any

from holdfast.core.model import Json
from holdfast.remote.dialect import Dialect, Prompt
from holdfast.remote.failure import REFUSED, TRUNCATED, UNFINISHED

# OpenAI's tier for cheap bulk work ($0.20 and $1.20 per million tokens in and out, November 2026).
DEFAULT_MODEL = "gpt-5.6-luna"

# Other reasons count as complete: servers that follow OpenAI send "stop", "eos", null or nothing.
INCOMPLETE = {
    "length": TRUNCATED,
    "content_filter": REFUSED,
    "tool_calls": UNFINISHED,
    "function_call": UNFINISHED,
}


def _headers(key: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


def _path(prompt: Prompt) -> str:
    return "/chat/completions"


def _body(prompt: Prompt) -> Json:
    return {
        "model": prompt.model,
        "messages": [
            {"role": "system", "content": prompt.instruction},
            {"role": "user", "content": prompt.text},
        ],
    }


def _hosted_body(prompt: Prompt) -> Json:
    body = {**_body(prompt), "max_completion_tokens": prompt.max_tokens}
    # Left alone, the default model thinks first and pays for it out of max_completion_tokens. Which efforts
    # exist differs from model to model, so for any other none is sent.
    return {**body, "reasoning_effort": "none"} if prompt.model == DEFAULT_MODEL else body


def _compatible_body(prompt: Prompt) -> Json:
    return {**_body(prompt), "max_tokens": prompt.max_tokens}


def _answer(reply: Json) -> Any:
    choice = reply["choices"][0]
    if failure := INCOMPLETE.get(choice.get("finish_reason")):
        return failure
    if choice["message"].get("refusal"):
        return REFUSED
    return choice["message"]["content"] or ""


# OpenAI's newer models refuse max_tokens; Ollama, LM Studio and older servers of llama.cpp know only that one
# and would answer without any limit.
HOSTED = Dialect("chat completion", DEFAULT_MODEL, _headers, _path, _hosted_body, _answer)
COMPATIBLE = Dialect("chat completion", DEFAULT_MODEL, _headers, _path, _compatible_body, _answer)
