"""What the hooks of each agent send, in the words of the agent itself, and what it gets to read.

The samples have the fields that the agents' own sources and documents name; each says which.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from rows import each

from holdfast.cli.hook.hook_command import run_hook

NOW = 1_794_775_103_107


class Server:
    """Takes down the requests and answers each with a context."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, Any]] = []

    def __call__(self, method: str, path: str, body: object, timeout: float) -> dict[str, Any] | None:
        self.requests.append((path.removeprefix("/agentmemory/"), body))
        return {"context": "known before"}


def told(event: str, payload: object) -> tuple[list[tuple[str, Any]], str]:
    server = Server()
    outcome = run_hook(event, json.dumps(payload), {"AGENTMEMORY_PROJECT_NAME": "shop"}, server, lambda: NOW)
    return server.requests, outcome.stdout


# @cline/cli-linux-x64 3.0.65: the common fields and those of each event, as its hook runner builds them.
CLINE = {
    "clineVersion": "3.0.65",
    "timestamp": "2026-11-15T20:38:23.107Z",
    "taskId": "conv_1",
    "workspaceRoots": ["/home/dev/shop"],
    "userId": "dev",
    "agent_id": "agent_1",
    "parent_agent_id": None,
}
CLINE_START = {**CLINE, "hookName": "agent_start", "taskStart": {"taskMetadata": {}}}
CLINE_PROMPT = {
    **CLINE,
    "hookName": "prompt_submit",
    "userPromptSubmit": {"prompt": "Fix the cart", "attachments": []},
}
CLINE_TOOL = {
    **CLINE,
    "hookName": "tool_result",
    "iteration": 1,
    "tool_result": {
        "id": "call_1",
        "name": "run_commands",
        "input": {"commands": ["ls"]},
        "output": "cart.ts",
        "durationMs": 12,
    },
    "postToolUse": {
        "toolName": "run_commands",
        "parameters": {"commands": '["ls"]'},
        "result": "cart.ts",
        "success": True,
    },
}
CLINE_FAILED = {**CLINE_TOOL, "tool_result": {**CLINE_TOOL["tool_result"], "output": "exit 1", "error": "exit 1"}}  # type: ignore[dict-item]
CLINE_END = {
    **CLINE,
    "hookName": "agent_end",
    "iteration": 2,
    "turn": {"outputText": "The cart is fixed.", "status": "completed"},
    "taskComplete": {"taskMetadata": {}},
}

# github/docs, content/copilot/reference/hooks-reference.md: the camelCase inputs.
COPILOT = {"sessionId": "c-1", "timestamp": NOW, "cwd": "/home/dev/shop"}
COPILOT_TOOL = {
    **COPILOT,
    "toolName": "bash",
    "toolArgs": {"command": "ls"},
    "toolResult": {"resultType": "success", "textResultForLlm": "cart.ts"},
}

# docs/features/hooks.md of @qwen-code/qwen-code 0.24.4.
QWEN = {
    "session_id": "q-1",
    "transcript_path": "/home/dev/.qwen/projects/shop/chats/q-1.jsonl",
    "cwd": "/home/dev/shop",
    "timestamp": "2026-11-15T20:38:23.107Z",
    "permission_mode": "default",
}

# @factory/cli-linux-x64 0.225.2, buildSessionHookInput and the callers of its hook runner.
DROID = {
    "session_id": "d-1",
    "transcript_path": "/home/dev/.factory/sessions/-home-dev-shop/d-1.jsonl",
    "cwd": "/home/dev/shop",
    "permission_mode": "off",
}

# @continuedev/cli 1.5.47, src/hooks/fireHook.ts.
CONTINUE = {"session_id": "n-1", "transcript_path": "", "cwd": "/home/dev/shop", "permission_mode": "normal"}


@each(
    "payload, session",
    [
        (CLINE_PROMPT, "conv_1"),
        ({**COPILOT, "prompt": "Fix the cart"}, "c-1"),
        (
            {
                **QWEN,
                "hook_event_name": "UserPromptSubmit",
                "prompt": "Fix the cart\n--- Content from files ---",
                "submitted_prompt": "Fix the cart",
            },
            "q-1",
        ),
        (
            {
                **DROID,
                "hook_event_name": "UserPromptSubmit",
                "prompt": "Fix the cart",
                "has_images": False,
                "message_id": "m",
            },
            "d-1",
        ),
        ({**CONTINUE, "hook_event_name": "UserPromptSubmit", "prompt": "Fix the cart"}, "n-1"),
    ],
)
def test_a_prompt_is_kept_as_it_was_written(payload: dict[str, Any], session: str) -> None:
    (path, body), *_ = told("prompt-submit", payload)[0]
    assert (path, body["sessionId"], body["cwd"]) == ("observe", session, "/home/dev/shop")
    assert body["data"] == {"prompt": "Fix the cart"}


def test_the_results_of_tools_that_qwen_code_submits_are_no_prompts() -> None:
    assert told("prompt-submit", {**QWEN, "hook_event_name": "UserPromptSubmit", "prompt": ""}) == ([], "")


@each(
    "payload, name, output",
    [
        (CLINE_TOOL, "run_commands", "cart.ts"),
        (COPILOT_TOOL, "bash", "cart.ts"),
        (
            {
                **QWEN,
                "hook_event_name": "PostToolUse",
                "tool_name": "run_shell_command",
                "tool_input": {"command": "ls"},
                "tool_response": {"output": "cart.ts"},
                "tool_use_id": "toolu_1",
            },
            "run_shell_command",
            {"output": "cart.ts"},
        ),
        (
            {
                **DROID,
                "hook_event_name": "PostToolUse",
                "tool_name": "Execute",
                "tool_input": {"command": "ls"},
                "tool_response": "cart.ts",
            },
            "Execute",
            "cart.ts",
        ),
        (
            {
                **CONTINUE,
                "hook_event_name": "PostToolUse",
                "tool_name": "Bash",
                "tool_input": {"command": "ls"},
                "tool_response": "cart.ts",
                "tool_use_id": "t",
            },
            "Bash",
            "cart.ts",
        ),
    ],
)
def test_a_tool_call_is_kept_with_what_it_returned(payload: dict[str, Any], name: str, output: object) -> None:
    ((path, body),) = told("post-tool-use", payload)[0]
    assert path == "observe"
    assert (body["hookType"], body["data"]["tool_name"], body["data"]["tool_output"]) == ("post_tool_use", name, output)
    assert "ls" in json.dumps(body["data"]["tool_input"])


@each(
    "event, payload",
    [
        ("post-tool-use", CLINE_FAILED),
        (
            "post-tool-failure",
            {**COPILOT, "toolName": "run_commands", "toolArgs": {"commands": ["ls"]}, "error": "exit 1"},
        ),
    ],
)
def test_a_tool_call_that_failed_is_kept_as_failed(event: str, payload: dict[str, Any]) -> None:
    ((_, body),) = told(event, payload)[0]
    assert body["hookType"] == "post_tool_failure"
    assert (body["data"]["tool_name"], body["data"]["error"]) == ("run_commands", "exit 1")


@each(
    "payload",
    [
        CLINE_END,
        {
            **QWEN,
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            "last_assistant_message": "The cart is fixed.",
        },
        {
            **CONTINUE,
            "hook_event_name": "Stop",
            "stop_hook_active": True,
            "last_assistant_message": "The cart is fixed.",
        },
    ],
)
def test_what_the_agent_said_last_is_kept(payload: dict[str, Any]) -> None:
    ((_, body),) = told("agent-message", payload)[0]
    assert (body["hookType"], body["data"]) == ("assistant_message", {"message": "The cart is fixed."})


def droid_line(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "message",
        "id": "m",
        "timestamp": "2026-11-15T20:38:23Z",
        "message": {"role": role, "content": blocks},
    }


def copilot_line(kind: str, content: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "id": "e", "parentId": None, "timestamp": "t", "data": {"content": content}, **more}


SAID = {"type": "text", "text": "The cart is fixed."}
DROID_TURN = [
    {"type": "session_start", "id": "d-1", "version": 2, "cwd": "/home/dev/shop"},
    droid_line("user", {"type": "text", "text": "Fix the cart"}),
    droid_line("assistant", {"type": "text", "text": "I look."}, {"type": "tool_use", "name": "Execute", "input": {}}),
    droid_line("user", {"type": "tool_result", "tool_use_id": "t", "content": "cart.ts"}),
    droid_line("assistant", {"type": "thinking", "thinking": "hm"}, SAID),
]
COPILOT_TURN = [
    copilot_line("user.message", "Fix the cart"),
    copilot_line("assistant.message", "The cart is fixed."),
    copilot_line("assistant.message", "of a subagent", agentId="a1"),
    copilot_line("assistant.message", ""),
    {"type": "assistant.turn_end", "id": "e", "data": {"turnId": "0"}},
]
ANSWERED = [("observe", "The cart is fixed.")]


@each(
    "lines, said",
    [
        (DROID_TURN, ANSWERED),
        (COPILOT_TURN, ANSWERED),
        ([*DROID_TURN, droid_line("user", {"type": "text", "text": "And the till"})], []),
        ([*COPILOT_TURN, copilot_line("user.message", "And the till")], []),
        ([7, [], None, {"type": "message", "message": 3}, {"type": "assistant.message", "data": []}], []),
        ([copilot_line("user.message", "x" * 300_000), *COPILOT_TURN[1:]], ANSWERED),
    ],
)
def test_the_last_answer_is_read_where_the_event_only_names_the_file(lines: list[Any], said: Any) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / ".factory/sessions/d-1.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines) + "not JSON\n", encoding="utf-8")
        droid = {**DROID, "hook_event_name": "Stop", "transcript_path": str(path), "stop_hook_active": False}
        copilot = {**COPILOT, "transcriptPath": str(path), "stopReason": "end_turn", "stop_hook_active": False}
        for payload in (droid, copilot):
            requests, printed = told("agent-message", payload)
            assert [(sent, body["data"]["message"]) for sent, body in requests] == said
            assert printed == ""


def test_a_file_that_is_gone_is_no_answer() -> None:
    gone = {**COPILOT, "transcriptPath": "/nowhere/events.jsonl", "stopReason": "end_turn"}
    assert told("agent-message", gone) == ([], "")


CLAUDE_FORM = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "known before"}}


@each(
    "payload, form",
    [
        (CLINE_START, {"context": "known before"}),
        ({**COPILOT, "source": "new", "initialPrompt": "Fix the cart"}, {"additionalContext": "known before"}),
        ({**QWEN, "hook_event_name": "SessionStart", "source": "startup", "model": "qwen3"}, CLAUDE_FORM),
        ({**DROID, "hook_event_name": "SessionStart", "source": "startup"}, CLAUDE_FORM),
        ({**CONTINUE, "hook_event_name": "SessionStart", "source": "startup"}, CLAUDE_FORM),
    ],
)
def test_a_session_starts_with_its_context_in_the_form_that_the_agent_reads(payload: Any, form: Any) -> None:
    ((path, body),), printed = told("session-start", payload)
    assert (path, body["cwd"]) == ("session/start", "/home/dev/shop")
    assert json.loads(printed) == form


@pytest.mark.parametrize("payload", [CLINE_PROMPT, {**COPILOT, "prompt": "Fix the cart"}])
def test_an_agent_that_passes_nothing_on_at_a_prompt_is_not_told_anything(payload: dict[str, Any]) -> None:
    requests, printed = told("prompt-submit", payload)
    assert [path for path, _ in requests] == ["observe"]
    assert printed == ""


@pytest.mark.parametrize("payload", [QWEN, DROID])
def test_a_transcript_in_a_form_of_its_own_is_not_sent(payload: dict[str, Any], tmp_path: Any) -> None:
    path = tmp_path / payload["transcript_path"].removeprefix("/home/dev/")
    path.parent.mkdir(parents=True)
    path.write_text('{"type":"user","sessionId":"q-1","message":{"parts":[]}}\n', encoding="utf-8")
    server = Server()
    given = json.dumps({**payload, "hook_event_name": "SessionEnd", "transcript_path": str(path)})
    run_hook("session-end", given, {}, server, lambda: NOW, folder=str(tmp_path))
    assert [path for path, _ in server.requests] == ["session/end"]
