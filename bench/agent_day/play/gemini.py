"""Gemini CLI: its hook payloads, and the records of ~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl.

A message that changes is appended again under the same id, whole. The context of SessionStart comes back in front of
the first prompt, in marks of its own.
"""

from __future__ import annotations

import html
import json
import uuid
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from agent_day.machine import Machine
from agent_day.script import Compact, Delegate, Edit, Read, Run, Say, Search, Step, Tool, Turn, Write

MODEL = "gemini-3-pro-preview"
CLIENT = "gemini"

Json = dict[str, Any]


class GeminiSession:
    """One session in a folder; the same object goes on when the session is resumed."""

    def __init__(self, machine: Machine, folder: Path):
        self._machine, self._folder = machine, folder
        self.id = str(uuid.uuid4())
        self._project = sha256(str(folder).encode()).hexdigest()
        name = f"session-{datetime.now(UTC):%Y-%m-%dT%H-%M}-{self.id[:8]}.jsonl"
        self._path = machine.home / ".gemini" / "tmp" / self._project / "chats" / name
        self._message: Json | None = None  # the answer that tool calls are added to
        self._told = ""
        self.prompt_contexts: list[str] = []

    def start(self, source: str = "startup") -> str:
        """The context that the session begins with."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not self._path.exists():
            self._append(
                {
                    "sessionId": self.id,
                    "projectHash": self._project,
                    "startTime": _now(),
                    "lastUpdated": _now(),
                    "kind": "main",
                }
            )
        self._told = "\n".join(self._fire("SessionStart", about=source, source=source))
        return self._told

    def turn(self, turn: Turn) -> None:
        prompt = turn.prompt
        if self._told:
            prompt = f"<hook_context>{html.escape(self._told, quote=False)}</hook_context>\n\n{prompt}"
            self._told = ""
        self.prompt_contexts.append("\n".join(self._fire("BeforeAgent", prompt=prompt)))
        self._record({"type": "user", "content": [{"text": turn.prompt}]})
        self._message = None
        for step in turn.steps:
            self._step(step)
        final = turn.said[-1] if turn.said else ""
        self._fire("AfterAgent", prompt=prompt, prompt_response=final, stop_hook_active=False)

    def end(self) -> None:
        self._fire("SessionEnd", about="exit", reason="exit")

    def _step(self, step: Step) -> None:
        if isinstance(step, Say):
            self._message = self._record(_answer(step.text))
        elif isinstance(step, Compact):
            self._fire("PreCompress", about="auto", trigger="auto")
            self._message = self._record(_answer(f"<state_snapshot>\n{step.summary}\n</state_snapshot>"))
        else:
            self._tool(step)

    def _tool(self, step: Tool) -> None:
        name, given, shown, failed = rendered(step, self._folder)
        self._fire("BeforeTool", about=name, tool_name=name, tool_input=given)
        response: Json = {"llmContent": shown, "returnDisplay": shown[:400]}
        if failed:
            response["error"] = {"message": "Command exited with code 1", "type": "shell_execute_error"}
        self._fire("AfterTool", about=name, tool_name=name, tool_input=given, tool_response=response)
        call_id = f"{name}-{uuid.uuid4().hex[:12]}"
        part = {"functionResponse": {"id": call_id, "name": name, "response": {"output": shown}}}
        call = {
            "id": call_id,
            "name": name,
            "args": given,
            "result": [part],
            "status": "error" if failed else "success",
            "timestamp": _now(),
            "displayName": name,
            "description": "",
        }
        message = self._message or self._record(_answer(""))
        self._message = {**message, "toolCalls": [*message.get("toolCalls", []), call]}
        self._append(self._message)

    def _fire(self, event: str, about: str = "", **more: object) -> list[str]:
        payload: Json = {
            "session_id": self.id,
            "transcript_path": str(self._path),
            "cwd": str(self._folder),
            "hook_event_name": event,
            "timestamp": _now(),
            **more,
        }
        return [run.context for run in self._machine.fire(CLIENT, event, payload, about)]

    def _record(self, fields: Json) -> Json:
        message = {"id": str(uuid.uuid4()), "timestamp": _now(), **fields}
        self._append(message)
        self._append({"$set": {"lastUpdated": _now()}})
        return message

    def _append(self, record: Json) -> None:
        with self._path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")


def _answer(text: str) -> Json:
    tokens = {"input": 21_044, "output": 310, "cached": 18_200, "thoughts": 120, "tool": 0, "total": 21_474}
    return {"type": "gemini", "content": text, "thoughts": [], "tokens": tokens, "model": MODEL}


def rendered(step: Tool, folder: Path) -> tuple[str, Json, str, bool]:
    """The tool's name, its arguments, what the model reads, and whether it failed."""
    match step:
        case Run(command, output, failed):
            shown = f"Output: {output}" + ("\nExit Code: 1" if failed else "")
            return "run_shell_command", {"command": command, "description": "Runs the command."}, shown, failed
        case Read(path, content):
            return "read_file", {"file_path": str(folder / path)}, content, False
        case Search(pattern, found):
            count = found.count("\n") + 1
            return (
                "grep_search",
                {"pattern": pattern},
                f'Found {count} matches for pattern "{pattern}":\n---\n{found}\n---',
                False,
            )
        case Edit(path, old, new):
            given = {
                "file_path": str(folder / path),
                "instruction": "Replace the line.",
                "old_string": old,
                "new_string": new,
            }
            return "replace", given, f"Successfully modified file: {folder / path} (1 replacements).", False
        case Write(path, content):
            given = {"file_path": str(folder / path), "content": content}
            return "write_file", given, f"Successfully created and wrote to new file: {folder / path}.", False
        case Delegate(_, prompt, report):
            return "codebase_investigator", {"objective": prompt}, report, False


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
