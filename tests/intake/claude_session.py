"""A session of Claude Code in both of its forms: the payloads of its hooks and the lines of its transcript."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from world import NOON

from holdfast.core.times import iso

SESSION = "5c1e2a40-1111-4222-8333-444455556666"
FOLDER = "/home/dev/proj"


@dataclass
class ClaudeSession:
    """Each step goes into the transcript and, as Claude Code does it, to the hooks as well."""

    now: int = NOON
    lines: list[str] = field(default_factory=list)
    reports: list[dict[str, Any]] = field(default_factory=list)

    def prompt(self, text: str) -> None:
        self.line("user", {"role": "user", "content": text})
        self.report("prompt_submit", {"prompt": text})

    def say(self, text: str) -> None:
        self.line("assistant", {"role": "assistant", "content": [{"type": "text", "text": text}]})

    def call(self, id: str, command: str) -> None:
        block = {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}
        self.line("assistant", {"role": "assistant", "content": [block]})

    def result(self, id: str, command: str, output: str) -> None:
        block = {"type": "tool_result", "tool_use_id": id, "content": output}
        self.line("user", {"role": "user", "content": [block]})
        data = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_output": {"stdout": output}}
        self.report("post_tool_use", {**data, "tool_use_id": id})

    def line(self, kind: str, message: Any) -> None:
        self.now += 10_000
        number = len(self.lines)
        fields = {
            "type": kind,
            "sessionId": SESSION,
            "uuid": f"uuid-{number}",
            "cwd": FOLDER,
            "timestamp": iso(self.now),
            "message": message,
        }
        self.lines.append(json.dumps(fields) + "\n")

    def report(self, hook: str, data: dict[str, Any]) -> None:
        """What a hook sends; a hook starts a moment after the line was written."""
        stamp = iso(self.now + 300)
        body = {"hookType": hook, "sessionId": SESSION, "timestamp": stamp, "data": data}
        self.reports.append({**body, "project": "proj", "cwd": FOLDER})

    def piece(self, start: int, end: int) -> dict[str, Any]:
        """The request for some lines of the transcript."""
        return {
            "sessionId": SESSION,
            "project": "proj",
            "cwd": FOLDER,
            "firstLine": start + 1,
            "text": "".join(self.lines[start:end]),
            "timestamp": iso(self.now),
        }


def day() -> ClaudeSession:
    """Prompts that repeat, tools, and answers; ten rows in all."""
    made = ClaudeSession()
    made.prompt("Why are carts a cent off?")
    made.say("Let me look at the totals first.")
    made.call("toolu_1", "pnpm test")
    made.result("toolu_1", "pnpm test", "1 failed")
    made.say("The totals are rounded twice.")
    made.prompt("continue")
    made.call("toolu_2", "git commit -am x")
    made.result("toolu_2", "git commit -am x", "[main 4be12aa] x")
    made.say("Done.")
    made.prompt("continue")
    made.call("toolu_3", "git push")
    made.result("toolu_3", "git push", "ok")
    made.say("Done.")
    return made


ROWS = 10
