"""Codex: its hook payloads, and the lines of ~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl.

Codex reads and searches files with shell commands and edits them with apply_patch; hooks see the tools `Bash` and
`apply_patch`, also of commands that failed. What was said stands in the file twice, as an item and as an event.
"""

from __future__ import annotations

import json
import shlex
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent_day.machine import Machine
from agent_day.script import Compact, Delegate, Edit, Read, Run, Say, Search, Step, Tool, Turn, Write

VERSION, MODEL = "0.166.0", "gpt-5.2-codex"
CLIENT = "codex"

Json = dict[str, Any]


class CodexSession:
    """One session in a folder; the same object goes on when the session is resumed."""

    def __init__(self, machine: Machine, folder: Path):
        self._machine, self._folder = machine, folder
        self.id = str(uuid.uuid4())
        began = datetime.now(UTC)
        name = f"rollout-{began:%Y-%m-%dT%H-%M-%S}-{self.id}.jsonl"
        self._path = machine.home / ".codex" / "sessions" / f"{began:%Y}" / f"{began:%m}" / f"{began:%d}" / name
        self._turn_id = ""
        self.prompt_contexts: list[str] = []

    def start(self, source: str = "startup") -> str:
        """The context that the session begins with."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not self._path.exists():
            self._meta()
        told = "\n".join(self._fire("SessionStart", about=source, source=source))
        if told:
            self._message("developer", "input_text", told)
        return told

    def turn(self, turn: Turn) -> None:
        self._turn_id = str(uuid.uuid4())
        self._event("task_started", turn_id=self._turn_id, model_context_window=272_000)
        told = self._fire("UserPromptSubmit", prompt=turn.prompt, turn_id=self._turn_id)
        self.prompt_contexts.append("\n".join(told))
        about = {
            "turn_id": self._turn_id,
            "cwd": str(self._folder),
            "approval_policy": "on-request",
            "model": MODEL,
            "summary": "auto",
        }
        self._line("turn_context", about)
        self._message("user", "input_text", turn.prompt)
        self._event("user_message", message=turn.prompt, images=[], local_images=[], text_elements=[])
        for step in turn.steps:
            self._step(step)
        final = turn.said[-1] if turn.said else ""
        self._event(
            "token_count", info={"total_token_usage": {"input_tokens": 48_101, "output_tokens": 911}}, rate_limits=None
        )
        self._fire("Stop", turn_id=self._turn_id, stop_hook_active=False, last_assistant_message=final)
        self._event("task_complete", turn_id=self._turn_id, last_agent_message=final)

    def end(self) -> None:
        self._fire("SessionEnd", about="prompt_input_exit", reason="prompt_input_exit")

    def _meta(self) -> None:
        payload = {
            "id": self.id, "timestamp": _now(), "cwd": str(self._folder), "originator": "codex_cli_rs",
            "cli_version": VERSION, "source": "cli", "model_provider": "openai",
            "base_instructions": {"text": "You are Codex, a coding agent."}, "git": {"branch": "main"},
        }  # fmt: skip
        self._line("session_meta", payload)
        text = f"<environment_context>\n  <cwd>{self._folder}</cwd>\n  <shell>bash</shell>\n</environment_context>"
        self._message("user", "input_text", text)

    def _step(self, step: Step) -> None:
        if isinstance(step, Say):
            self._event("agent_message", message=step.text)
            self._message("assistant", "output_text", step.text)
        elif isinstance(step, Compact):
            self._compact(step.summary)
        elif isinstance(step, Edit | Write):
            self._patch(step)
        elif isinstance(step, Delegate):
            self._delegate(step)
        else:
            self._shell(step)

    def _shell(self, step: Tool) -> None:
        command, output, code = as_command(step)
        call = f"call_{uuid.uuid4().hex[:24]}"
        reasoning = {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "**Looking into it**"}],
            "content": None,
            "encrypted_content": uuid.uuid4().hex,
        }
        self._line("response_item", reasoning)
        arguments = json.dumps({"cmd": command, "workdir": str(self._folder), "max_output_tokens": 6000})
        self._line(
            "response_item", {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call}
        )
        self._used("Bash", command, output, call)
        count = len(output) // 4
        head = f"Chunk ID: {call[-6:]}\nWall time: 0.4131 seconds\nProcess exited with code {code}\n"
        shown = f"{head}Original token count: {count}\nOutput:\n{output}"
        self._line("response_item", {"type": "function_call_output", "call_id": call, "output": shown})

    def _patch(self, step: Edit | Write) -> None:
        patch, done = as_patch(step)
        call = f"call_{uuid.uuid4().hex[:24]}"
        self._line(
            "response_item",
            {"type": "custom_tool_call", "status": "completed", "call_id": call, "name": "apply_patch", "input": patch},
        )
        self._used("apply_patch", patch, done, call)
        output = json.dumps({"output": done, "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
        self._line("response_item", {"type": "custom_tool_call_output", "call_id": call, "output": output})

    def _used(self, name: str, command: str, response: str, call: str) -> None:
        about: Json = {
            "turn_id": self._turn_id,
            "tool_name": name,
            "tool_input": {"command": command},
            "tool_use_id": call,
        }
        self._fire("PreToolUse", about=name, **about)
        self._fire("PostToolUse", about=name, **about, tool_response=response)

    def _delegate(self, step: Delegate) -> None:
        call, agent = f"call_{uuid.uuid4().hex[:24]}", str(uuid.uuid4())
        arguments = json.dumps({"message": step.prompt, "agent_type": "explorer"})
        self._line(
            "response_item", {"type": "function_call", "name": "spawn_agent", "arguments": arguments, "call_id": call}
        )
        about = {"turn_id": self._turn_id, "agent_id": agent, "agent_type": "explorer"}
        self._fire("SubagentStart", about="explorer", **about)
        self._fire(
            "SubagentStop", about="explorer", **about, stop_hook_active=False, last_assistant_message=step.report
        )
        self._line("response_item", {"type": "function_call_output", "call_id": call, "output": step.report})

    def _compact(self, summary: str) -> None:
        self._fire("PreCompact", about="auto", turn_id=self._turn_id, trigger="auto")
        self._line("compacted", {"message": summary, "replacement_history": []})
        self._event("context_compacted")
        self._fire("PostCompact", about="auto", turn_id=self._turn_id, trigger="auto")
        self._fire("SessionStart", about="compact", source="compact")

    def _fire(self, event: str, about: str = "", **more: object) -> list[str]:
        payload: Json = {
            "session_id": self.id,
            "transcript_path": str(self._path),
            "cwd": str(self._folder),
            "hook_event_name": event,
            "model": MODEL,
            "permission_mode": "default",
            **more,
        }
        return [run.context for run in self._machine.fire(CLIENT, event, payload, about)]

    def _message(self, role: str, kind: str, text: str) -> None:
        self._line("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]})

    def _event(self, kind: str, **more: object) -> None:
        self._line("event_msg", {"type": kind, **more})

    def _line(self, kind: str, payload: Json) -> None:
        with self._path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"timestamp": _now(), "type": kind, "payload": payload}, ensure_ascii=False) + "\n")


def as_command(step: Tool) -> tuple[str, str, int]:
    """The shell command that Codex runs for it, what it prints, and its exit code."""
    match step:
        case Run(command, output, failed):
            return command, output, 1 if failed else 0
        case Read(path, content):
            return f"sed -n '1,240p' {path}", content, 0
        case Search(pattern, found):
            return f"rg -n {shlex.quote(pattern)}", found, 0
        case _:
            raise TypeError(f"not a shell command: {step}")


def as_patch(step: Edit | Write) -> tuple[str, str]:
    """The patch, and what apply_patch answers."""
    if isinstance(step, Write):
        body = "\n".join(f"+{line}" for line in step.content.splitlines())
        change, mark = f"*** Add File: {step.path}\n{body}", "A"
    else:
        old = "\n".join(f"-{line}" for line in step.old.splitlines())
        new = "\n".join(f"+{line}" for line in step.new.splitlines())
        change, mark = f"*** Update File: {step.path}\n@@\n{old}\n{new}", "M"
    return f"*** Begin Patch\n{change}\n*** End Patch", f"Success. Updated the following files:\n{mark} {step.path}\n"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
