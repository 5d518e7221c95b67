"""Where requests and answers of three APIs have their texts: chat completions, responses and messages. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.core.model import Json

USER = "user"


@dataclass(frozen=True, slots=True)
class Api:
    """How one API says things."""

    said: str  # the field of a request with what was said
    piece: Callable[[Any], str]  # the text that an event of a stream adds
    answer: Callable[[Any], str]  # the text of a whole answer


def turn_of(api: Api, body: Mapping[str, Any]) -> str:
    """What the user says with this request; "" if it only goes on, as after a call of a tool."""
    last = (_messages(body.get(api.said)) or [None])[-1]
    if not isinstance(last, Mapping) or last.get("role") != USER or _answers_a_tool(last.get("content")):
        return ""
    return _text(last.get("content"))


def texts_of(api: Api, body: Mapping[str, Any]) -> list[str]:
    """All texts that the request holds, so that nothing is said twice."""
    said = [_text(one.get("content")) for one in _messages(body.get(api.said)) if isinstance(one, Mapping)]
    return [*said, _text(body.get("system")), _text(body.get("instructions"))]


def with_memories(api: Api, body: Json, block: str) -> Json:
    """The request with the block before the user's last message, as a message that the user could have written: no
    stored text speaks with the voice of the system."""
    messages = _messages(body[api.said])
    return {**body, api.said: [*messages[:-1], {"role": USER, "content": block}, messages[-1]]}


def conversation_of(body: Mapping[str, Any]) -> str:
    """The conversation that the server keeps and the request goes on with; "" if the request says all of it."""
    named = body.get("conversation")
    id = named.get("id") if isinstance(named, Mapping) else named
    return str(id or body.get("previous_response_id") or "")


def response_id(answer: Any) -> str:
    """The id by which a later request goes on with an answer, or with the one that an event belongs to."""
    answer = getattr(answer, "response", answer)
    return str(answer.id) if getattr(answer, "object", "") == "response" else ""


def _messages(said: Any) -> list[Any]:
    if isinstance(said, str):
        return [{"role": USER, "content": said}]
    return list(said) if isinstance(said, Iterable) else []


def _text(content: Any) -> str:
    """The texts of a message's content, whichever form it has; "" if it has none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable) or isinstance(content, Mapping):
        return ""
    return "\n".join(one["text"] for one in content if isinstance(one, Mapping) and isinstance(one.get("text"), str))


def _answers_a_tool(content: Any) -> bool:
    """Whether it has results of calls, which must follow the calls directly."""
    parts = content if isinstance(content, Iterable) and not isinstance(content, str) else ()
    return any(isinstance(one, Mapping) and one.get("type") == "tool_result" for one in parts)


def _completion_piece(event: Any) -> str:
    choices = getattr(event, "choices", None)
    return (choices[0].delta.content or "") if choices and choices[0].delta else ""


def _completion_answer(answer: Any) -> str:
    choices = getattr(answer, "choices", None)
    return (choices[0].message.content or "") if choices else ""


def _response_piece(event: Any) -> str:
    return str(event.delta) if getattr(event, "type", "") == "response.output_text.delta" else ""


def _response_answer(answer: Any) -> str:
    return getattr(answer, "output_text", "") or ""


def _message_piece(event: Any) -> str:
    is_text = getattr(event, "type", "") == "content_block_delta" and getattr(event.delta, "type", "") == "text_delta"
    return str(event.delta.text) if is_text else ""


def _message_answer(answer: Any) -> str:
    return "".join(one.text for one in getattr(answer, "content", ()) if getattr(one, "type", "") == "text")


_COMPLETIONS = Api("messages", _completion_piece, _completion_answer)
_RESPONSES = Api("input", _response_piece, _response_answer)
_MESSAGES = Api("messages", _message_piece, _message_answer)
APIS: Mapping[str, Api] = {
    "/chat/completions": _COMPLETIONS,
    "/responses": _RESPONSES,
    "/v1/messages": _MESSAGES,
}


def api_of(path: str) -> Api | None:
    """The API behind a path of a request, if it is one that memories go into."""
    return APIS.get(path.split("?", 1)[0])
