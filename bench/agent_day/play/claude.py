"""Claude Code: its hook payloads, and the lines of ~/.claude/projects/<folder>/<session>.jsonl.

Each content block of an answer is a line of its own. The last line of a turn is sometimes written only after the Stop
hook has run, which is why Stop carries the last message too; here every third turn does so.
"""

from __future__ import annotations

import json
import re
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent_day.machine import Machine
from agent_day.script import Compact, Delegate, Edit, Read, Run, Say, Search, Step, Tool, Turn, Write

VERSION, MODEL = "2.1.197", "claude-opus-4-5-20251101"
CLIENT = "claude"
LATE = 3
HANDED_CHARS = 10_000  # what Claude Code takes of a hook's context

Json = dict[str, Any]


class ClaudeSession:
    """One session in a folder; the same object goes on when the session is resumed."""

    def __init__(self, machine: Machine, folder: Path):
        self._machine, self._folder = machine, folder
        self.id = str(uuid.uuid4())
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(folder))
        self._path = machine.home / ".claude" / "projects" / slug / f"{self.id}.jsonl"
        self._parent: str | None = None
        self._turns = 0
        self.prompt_contexts: list[str] = []

    def start(self, source: str = "startup") -> str:
        """The context that the session begins with."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        runs = self._fire("SessionStart", about=source, source=source, model=MODEL)
        if source == "startup":
            snapshot = {"messageId": str(uuid.uuid4()), "trackedFileBackups": {}, "timestamp": _now()}
            self._append(
                {
                    "type": "file-history-snapshot",
                    "messageId": snapshot["messageId"],
                    "snapshot": snapshot,
                    "isSnapshotUpdate": False,
                }
            )
        return "\n".join(runs)[:HANDED_CHARS]

    def turn(self, turn: Turn) -> None:
        self._turns += 1
        self._line("user", {"role": "user", "content": turn.prompt})
        self.prompt_contexts.append("\n".join(self._fire("UserPromptSubmit", prompt=turn.prompt)))
        *steps, last = turn.steps
        for step in steps:
            self._step(step)
        final = last.text if isinstance(last, Say) else ""
        late = bool(final) and self._turns % LATE == 0
        if not late:
            self._step(last, "end_turn")
        self._fire("Stop", stop_hook_active=False, last_assistant_message=final)
        if late:
            self._step(last, "end_turn")

    def end(self) -> None:
        self._fire("SessionEnd", about="prompt_input_exit", reason="prompt_input_exit")

    def _step(self, step: Step, stop: str | None = None) -> None:
        if isinstance(step, Say):
            self._assistant({"type": "text", "text": step.text}, stop)
        elif isinstance(step, Compact):
            self._compact(step.summary)
        else:
            self._tool(step)

    def _tool(self, step: Tool) -> None:
        name, given, response, shown = rendered(step, self._folder)
        call = f"toolu_{uuid.uuid4().hex[:24]}"
        if isinstance(step, Run):
            self._assistant({"type": "thinking", "thinking": "", "signature": uuid.uuid4().hex * 4})
        self._assistant({"type": "tool_use", "id": call, "name": name, "input": given}, "tool_use")
        about: Json = {"tool_name": name, "tool_input": given, "tool_use_id": call}
        self._fire("PreToolUse", about=name, **about)
        if isinstance(step, Delegate):
            self._subagent(step)
        failed = isinstance(step, Run) and step.failed
        if failed:
            self._fire("PostToolUseFailure", about=name, **about, error=shown, is_interrupt=False)
        else:
            self._fire("PostToolUse", about=name, **about, tool_response=response)
        block: Json = {
            "tool_use_id": call,
            "type": "tool_result",
            "content": shown,
            **({"is_error": True} if failed else {}),
        }
        self._line(
            "user", {"role": "user", "content": [block]}, toolUseResult=f"Error: {shown}" if failed else response
        )

    def _subagent(self, step: Delegate) -> None:
        agent = uuid.uuid4().hex[:7]
        about = {"agent_id": agent, "agent_type": "general-purpose"}
        self._fire("SubagentStart", about="general-purpose", **about)
        side = self._path.parent / self.id / "subagents" / f"agent-{agent}.jsonl"
        side.parent.mkdir(parents=True, exist_ok=True)
        said = [{"type": "text", "text": step.report}]
        answer = {"id": "msg_side", "type": "message", "role": "assistant", "model": MODEL, "content": said}
        rows: list[tuple[str, Json]] = [
            ("user", {"role": "user", "content": step.prompt}),
            ("assistant", {**answer, "stop_reason": "end_turn"}),
        ]
        with side.open("a", encoding="utf-8") as lines:
            for kind, message in rows:
                row = {**self._head(kind), "isSidechain": True, "agentId": agent, "message": message}
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
        self._fire(
            "SubagentStop",
            about="general-purpose",
            **about,
            stop_hook_active=False,
            agent_transcript_path=str(side),
            last_assistant_message=step.report,
        )

    def _compact(self, summary: str) -> None:
        self._fire("PreCompact", about="auto", trigger="auto", custom_instructions="")
        self._line(
            "system",
            None,
            subtype="compact_boundary",
            content="Conversation compacted",
            isMeta=False,
            level="info",
            compactMetadata={"trigger": "auto", "preTokens": 167_204},
        )
        text = (
            "This session is being continued from a previous conversation that ran out of context. "
            f"The summary below covers the earlier portion of the conversation.\n\n{summary}"
        )
        self._line("user", {"role": "user", "content": text}, isVisibleInTranscriptOnly=True, isCompactSummary=True)
        self._fire("SessionStart", about="compact", source="compact", model=MODEL)
        self._fire("PostCompact", about="auto", trigger="auto", compact_summary=summary)

    def _assistant(self, block: Json, stop: str | None = None) -> None:
        usage = {
            "input_tokens": 6,
            "cache_creation_input_tokens": 1201,
            "cache_read_input_tokens": 30417,
            "output_tokens": 187,
        }
        message = {
            "id": f"msg_{uuid.uuid4().hex[:24]}",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [block],
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": usage,
        }
        self._line("assistant", message, requestId=f"req_{uuid.uuid4().hex[:24]}")

    def _fire(self, event: str, about: str = "", **more: object) -> list[str]:
        payload: Json = {
            "session_id": self.id,
            "transcript_path": str(self._path),
            "cwd": str(self._folder),
            "permission_mode": "default",
            "hook_event_name": event,
            **more,
        }
        return [run.context for run in self._machine.fire(CLIENT, event, payload, about)]

    def _head(self, kind: str) -> Json:
        return {
            "parentUuid": self._parent, "isSidechain": False, "userType": "external", "cwd": str(self._folder),
            "sessionId": self.id, "version": VERSION, "gitBranch": "main", "type": kind,
            "uuid": str(uuid.uuid4()), "timestamp": _now(),
        }  # fmt: skip

    def _line(self, kind: str, message: Json | None, **more: object) -> None:
        row = {**self._head(kind), **({"message": message} if message else {}), **more}
        self._append(row)
        self._parent = row["uuid"]

    def _append(self, row: Json) -> None:
        with self._path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def rendered(step: Tool, folder: Path) -> tuple[str, Json, Json, str]:
    """The tool's name, its input, its response, and the text that the model reads."""
    match step:
        case Run(command, output, failed):
            given: Json = {"command": command, "description": f"Run {command.split()[0]}"}
            response: Json = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            return "Bash", given, response, f"Exit code 1\n{output}" if failed else output
        case Read(path, content):
            shown = "\n".join(f"{n:6d}\t{line}" for n, line in enumerate(content.splitlines(), 1))
            count = content.count("\n") + 1
            file = {
                "filePath": str(folder / path),
                "content": content,
                "numLines": count,
                "startLine": 1,
                "totalLines": count,
            }
            return "Read", {"file_path": str(folder / path)}, {"type": "text", "file": file}, shown
        case Search(pattern, found):
            given = {"pattern": pattern, "output_mode": "content", "-n": True}
            response = {
                "mode": "content",
                "numFiles": 0,
                "filenames": [],
                "content": found,
                "numLines": found.count("\n") + 1,
            }
            return "Grep", given, response, found
        case Edit(path, old, new):
            file_path = str(folder / path)
            response = {
                "filePath": file_path,
                "oldString": old,
                "newString": new,
                "originalFile": f"{old}\n",
                "structuredPatch": [
                    {"oldStart": 41, "oldLines": 1, "newStart": 41, "newLines": 1, "lines": [f"-{old}", f"+{new}"]}
                ],
                "userModified": False,
                "replaceAll": False,
            }
            given = {"file_path": file_path, "old_string": old, "new_string": new, "replace_all": False}
            return "Edit", given, response, f"The file {file_path} has been updated successfully."
        case Write(path, content):
            file_path = str(folder / path)
            response = {
                "type": "create",
                "filePath": file_path,
                "content": content,
                "structuredPatch": [],
                "originalFile": None,
            }
            return (
                "Write",
                {"file_path": file_path, "content": content},
                response,
                f"File created successfully at: {file_path}",
            )
        case Delegate(title, prompt, report):
            given = {"description": title, "prompt": prompt, "subagent_type": "general-purpose"}
            block = [{"type": "text", "text": report}]
            response = {
                "status": "completed",
                "prompt": prompt,
                "content": block,
                "totalDurationMs": 41_870,
                "totalTokens": 18_240,
                "totalToolUseCount": 9,
            }
            return "Task", given, response, report


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
