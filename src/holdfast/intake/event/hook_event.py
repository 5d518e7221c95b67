"""Reads what a hook sent into one small frozen value, whatever the client calls its fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.core.model import Json
from holdfast.intake.event.text_cleanup import SAID_CHARS, body_text, cut, parsed, readable, trim
from holdfast.intake.event.tool_kinds import HOOK_KINDS, hook_name, kind_of_tool, kind_of_type

_PROMPT_KEYS = ("prompt", "user_prompt", "userPrompt")
_TOOL_KEYS = ("tool_name", "toolName", "tool")
_INPUT_KEYS = ("tool_input", "toolInput")
_OUTPUT_KEYS = ("tool_output", "toolOutput", "tool_response", "toolResponse")
_SAID_KEYS = (
    "last_message",
    "last_assistant_message",
    "assistant_message",
    "message",
    "text",
    "content",
    "task_description",
    "description",
    "response",
)
_VIEW_COMMANDS = {"view": "file_read", "create": "file_write"}


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One event, cut to a few thousand characters and free of images; what was said is whole up to 64,000."""

    hook: str
    kind: str
    tool: str
    prompt: str
    said: str
    input: Json
    input_text: str
    output: Any
    output_text: str
    error: str
    failed: bool
    fields: Json
    whole_input: Json
    """The input uncut; only its lines are ever counted."""


@dataclass(frozen=True, slots=True)
class RawValues:
    """The client's own values, untouched."""

    prompt: str | None
    tool_name: str | None
    tool_input: Any
    tool_output: Any


def read_as_found(data: Any) -> RawValues:
    fields = data if isinstance(data, dict) else {}
    prompt, tool = _first(fields, _PROMPT_KEYS), _first(fields, _TOOL_KEYS)
    return RawValues(
        prompt if isinstance(prompt, str) else None,
        tool if isinstance(tool, str) and tool.strip() else None,
        _first(fields, _INPUT_KEYS),
        _first(fields, _OUTPUT_KEYS),
    )


def read_happening(hook: str, data: Any, found: RawValues) -> HookEvent:
    fields = trim({key: item for key, item in data.items() if not _is_tool_key(key)}) if isinstance(data, dict) else {}
    whole, output = parsed(found.tool_input), trim(parsed(found.tool_output))
    given, tool = trim(whole), cut((found.tool_name or "").strip(), 200)
    name = hook_name(hook)
    plain = given if isinstance(given, str) else ""
    printed = body_text(output) or readable(output)
    talk = kind_of_tool(tool) == "conversation" if tool else False
    error = _error_of(name, fields, printed)
    return HookEvent(
        hook=name,
        kind=_kind_of(name, tool, given, fields),
        tool=tool,
        prompt=cut(found.prompt or (plain if talk else ""), SAID_CHARS),
        said=_said_of(data, fields) or (printed if talk else ""),
        input=given if isinstance(given, dict) else {"items": given} if isinstance(given, list) else {},
        input_text="" if talk else plain,
        output="" if talk else output,
        output_text="" if talk else printed,
        error=error,
        failed=name == "post_tool_failure" or bool(error) or fields.get("tool_error") is True or _says_failed(output),
        fields=fields,
        whole_input=whole if isinstance(whole, dict) else {},
    )


def _first(fields: Json, keys: tuple[str, ...]) -> Any:
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def _is_tool_key(key: object) -> bool:
    return key in _PROMPT_KEYS or key in _TOOL_KEYS or key in _INPUT_KEYS or key in _OUTPUT_KEYS


def _kind_of(hook: str, tool: str, given: Any, fields: Json) -> str:
    if hook in HOOK_KINDS:
        return HOOK_KINDS[hook]
    if not tool:
        return kind_of_type(fields.get("type"))
    if fields.get("tool_error") is True:
        return "error"
    kind = kind_of_tool(tool)
    if kind == "file_edit" and isinstance(given, dict):
        return _VIEW_COMMANDS.get(str(given.get("command")), kind)
    return kind


def _error_of(hook: str, fields: Json, printed: str) -> str:
    error = fields.get("error") or fields.get("error_message")
    if error:
        text = body_text(error) or readable(error)
        return text.strip()
    return printed.strip() if hook == "post_tool_failure" else ""


def _says_failed(output: Any) -> bool:
    if not isinstance(output, dict):
        return False
    return output.get("is_error") is True or output.get("isError") is True or output.get("success") is False


def _said_of(data: Any, fields: Json) -> str:
    if isinstance(data, str):
        return cut(data, SAID_CHARS).strip()
    texts = (_whole(data, key) or body_text(fields.get(key)).strip() for key in _SAID_KEYS)
    return next((text for text in texts if text), "")


def _whole(data: Any, key: str) -> str:
    value = data.get(key) if isinstance(data, dict) else None
    return cut(value, SAID_CHARS).strip() if isinstance(value, str) else ""
