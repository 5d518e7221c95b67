"""Read the payloads that agents hand to their hooks; every agent has its own names for the same things.

Pure functions of the payload and the environment; only the folders above the working folder are looked at. Nothing
here knows the server.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from holdfast.local.project_key import project_key

Payload = dict[str, Any]

OUTPUT_CHARS = 8000
SAID_CHARS = 64_000  # as much of a message as the server keeps
IMAGE_TAKEN = "[image data extracted]"

_SESSION_KEYS = ("session_id", "sessionId", "conversation_id", "conversationId", "trajectory_id", "taskId")
_IMAGE_STARTS = ("data:image/", "iVBORw0KGgo", "/9j/")  # a data URL, PNG and JPEG in base64

_OWN_TOOL = re.compile(r"(?:mcp_{1,2})?holdfast_{1,2}")
# Gemini CLI puts what SessionStart brought in front of the first prompt, in these marks.
_BROUGHT = re.compile(r"\s*(?:<hook_context>.*?</hook_context>\s*)+", re.DOTALL)

# Qwen Code and Droid write lines of their own form, which the server does not read.
_OTHER_FORM = re.compile(r"[\\/]\.(?:qwen|factory)[\\/]")

# Windsurf names the action instead of the tool.
_CASCADE_TOOLS = {
    "post_read_code": "read_code",
    "post_run_command": "run_command",
    "post_write_code": "write_code",
}


def payload(text: str) -> Payload | None:
    """The payload in the one form that the rest reads; None when there is none."""
    try:
        data = json.loads(text)
    except ValueError:
        return None
    if not isinstance(data, dict):
        return None
    if "agent_action_name" in data:
        return {**data, **_from_cascade(data)}
    return {**data, **_from_cline(data)} if "clineVersion" in data else data


def session(data: Payload, otherwise: str = "unknown") -> str:
    return next(iter(texts(data, _SESSION_KEYS)), otherwise)


def cwd(data: Payload, environ: Mapping[str, str]) -> str:
    """The folder the agent works in."""
    given = data.get("cwd")
    if isinstance(given, str) and given.strip():
        return given
    roots = data.get("workspace_roots")
    for root in roots if isinstance(roots, list) else []:
        if isinstance(root, str) and root.strip():
            return root
    return environ.get("CLAUDE_PROJECT_DIR", "").strip() or os.getcwd()


def project(folder: str, environ: Mapping[str, str]) -> str:
    """The key that memories are grouped by: the user's own name for it, or where the folder's repository comes from.

    Claude Code names the folder that the session began in: its tools change folders.
    """
    named = environ.get("AGENTMEMORY_PROJECT_NAME", "").strip()
    return named or project_key(environ.get("CLAUDE_PROJECT_DIR", "").strip() or folder)


def first(data: Payload, *names: str) -> Any:
    """The first of these fields that is there."""
    return next((data[name] for name in names if data.get(name) is not None), None)


def texts(data: Payload, names: tuple[str, ...]) -> list[str]:
    """The values of these fields that are texts with something in them."""
    return [data[name] for name in names if isinstance(data.get(name), str) and data[name]]


def prompt(data: Payload) -> Any:
    """What the user wrote, without the context that a hook put before it: memory must not store its own output."""
    # Qwen Code's `prompt` may be what it made of the text that was submitted.
    said = first(data, "submitted_prompt", "prompt", "userPrompt")
    brought = _BROUGHT.match(said) if isinstance(said, str) else None
    return said[brought.end() :] if brought else said


def is_deaf(data: Payload) -> bool:
    """Whether the agent passes nothing on that a hook prints at a prompt: Windsurf, Cline and Copilot CLI."""
    return "agent_action_name" in data or "clineVersion" in data or is_copilot(data)


def is_copilot(data: Payload) -> bool:
    """Copilot CLI alone names its session in camelCase and no event."""
    return "sessionId" in data and "hook_event_name" not in data and isinstance(data.get("timestamp"), int)


def call_id(data: Payload) -> str | None:
    """The agent's own id of a tool call; its transcript has the same."""
    return next(iter(texts(data, ("tool_use_id", "toolUseId", "tool_call_id", "toolCallId"))), None)


def last_message(data: Payload) -> str:
    """What the agent said last, where the payload has it: Claude Code and Codex, Gemini CLI, Copilot CLI, Cursor."""
    names = ("last_assistant_message", "prompt_response", "response")
    found = texts(data, ("text",) if data.get("hook_event_name") == "afterAgentResponse" else names)
    return next(iter(found), "").strip()[:SAID_CHARS]


def transcript(data: Payload, name: str = "transcript_path") -> str | None:
    """The file that the agent writes the session to, if its lines can be read."""
    path = data.get(name)
    readable = isinstance(path, str) and path.endswith(".jsonl") and not _OTHER_FORM.search(path)
    return path if readable else None


def own_transcript(data: Payload) -> str | None:
    """The file of the session where its lines are of the agent's own form: Copilot CLI and Droid."""
    path = data.get("transcriptPath") if is_copilot(data) else data.get("transcript_path")
    own = isinstance(path, str) and path.endswith(".jsonl") and (is_copilot(data) or _OTHER_FORM.search(path))
    return path if own else None


def is_own_tool(name: str) -> bool:
    """Whether it is one of Holdfast's own, as the agents name them: what they return is in the memory already."""
    return bool(_OWN_TOOL.match(name))


def tool_output(data: Payload) -> Any:
    result = first(data, "tool_response", "tool_output", "tool_result", "toolResult")
    if "tool_response" in data or "tool_output" in data or not isinstance(result, dict):
        return result
    return first(result, "text_result_for_llm", "textResultForLlm") or result


def split_image(output: Any) -> tuple[str | None, Any]:
    """An image in the output, and the output with a mark in its place."""
    if _is_image(output):
        return output, IMAGE_TAKEN
    if isinstance(output, dict):
        for name, value in output.items():
            if _is_image(value):
                return value, {**output, name: IMAGE_TAKEN}
    return None, output


def cut(output: Any) -> Any:
    """The output, or what matters of it as text when it is long."""
    if isinstance(output, str):
        return shortened(output)
    if isinstance(output, dict):
        # A field at a time: the server reads a tool's output by its fields.
        return {name: cut(value) for name, value in output.items()} if _is_long(output) else output
    if isinstance(output, list):
        return shortened(as_text(output)) if _is_long(output) else output
    return output


def _is_long(output: Any) -> bool:
    return len(as_text(output)) > OUTPUT_CHARS


def shortened(text: str, most: int = OUTPUT_CHARS) -> str:
    """Beginning and end of a long text, and the lines between that report a failure."""
    if len(text) <= most:
        return text
    from holdfast.text.excerpt import excerpt

    return excerpt(text, most)


def clipped(value: Any) -> Any:
    """A tool's input with each long text cut; its fields stay, as the server reads file names from them."""
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, dict):
        return {name: clipped(item) for name, item in value.items()}
    return [clipped(item) for item in value] if isinstance(value, list) else value


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps("" if value is None else value, ensure_ascii=False, separators=(",", ":"))


def _from_cascade(data: Payload) -> Payload:
    """A Windsurf payload's fields under the names that the other agents use."""
    info = data.get("tool_info")
    info = info if isinstance(info, dict) else {}
    action = data["agent_action_name"]
    if action == "pre_user_prompt":
        return {"prompt": info.get("user_prompt")}
    if action == "post_mcp_tool_use":
        name = f"{info.get('mcp_server_name')}_{info.get('mcp_tool_name')}"
        given, result = info.get("mcp_tool_arguments"), info.get("mcp_result")
        return {"tool_name": name, "tool_input": given, "tool_response": result}
    if action == "post_cascade_response":
        return {"last_assistant_message": info.get("response")}
    given = {"command": info["command_line"]} if "command_line" in info else info
    return {"tool_name": _CASCADE_TOOLS.get(str(action), str(action)), "tool_input": given}


def _from_cline(data: Payload) -> Payload:
    """A Cline payload's fields under the names that the other agents use."""
    submitted, done, turn = (_fields(data, name) for name in ("userPromptSubmit", "tool_result", "turn"))
    fields = {"workspace_roots": data.get("workspaceRoots"), "prompt": submitted.get("prompt")}
    if done:
        fields |= {"tool_name": done.get("name"), "tool_input": done.get("input"), "tool_use_id": done.get("id")}
        fields |= {"tool_response": done.get("output"), "error": done.get("error")}
    return {**fields, "last_assistant_message": turn.get("outputText")}


def _fields(data: Payload, name: str) -> Payload:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _is_image(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(_IMAGE_STARTS)
