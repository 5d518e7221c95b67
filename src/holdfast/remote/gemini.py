"""The Gemini API's generateContent."""

from __future__ import annotations

from urllib.parse import quote

from holdfast.core.model import Json
from holdfast.remote.dialect import Dialect, Prompt
from holdfast.remote.failure import REFUSED, TRUNCATED, UNFINISHED, Failure

# The cheap line of Gemini, and the named successor of the 2.5 Flash models (withdrawn in 2026). It hardly
# thinks by default, so max_tokens is left for the answer.
DEFAULT_MODEL = "gemini-3.5-flash-lite"

INCOMPLETE = {
    "MAX_TOKENS": TRUNCATED,
    "SAFETY": REFUSED,
    "RECITATION": REFUSED,
    "LANGUAGE": REFUSED,
    "BLOCKLIST": REFUSED,
    "PROHIBITED_CONTENT": REFUSED,
    "SPII": REFUSED,
}


def _headers(key: str | None) -> dict[str, str]:
    return {"x-goog-api-key": key or ""}


def _path(prompt: Prompt) -> str:
    model = prompt.model.removeprefix("models/")
    return f"/models/{quote(model, safe='')}:generateContent"


def _body(prompt: Prompt) -> Json:
    return {
        "systemInstruction": {"parts": [{"text": prompt.instruction}]},
        "contents": [{"role": "user", "parts": [{"text": prompt.text}]}],
        "generationConfig": {"maxOutputTokens": prompt.max_tokens},
    }


def _answer(reply: Json) -> str | Failure:
    if "blockReason" in reply.get("promptFeedback", {}):
        return REFUSED
    candidate = reply["candidates"][0]
    if candidate["finishReason"] != "STOP":
        return INCOMPLETE.get(candidate["finishReason"], UNFINISHED)
    parts = candidate.get("content", {}).get("parts", [])
    return "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))


DIALECT = Dialect("generateContent", DEFAULT_MODEL, _headers, _path, _body, _answer)
