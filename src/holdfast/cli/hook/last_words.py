"""What an agent said last, from the end of a session's file in a form of the agent's own: Copilot CLI and Droid.

Their events at the end of a turn name the file and not the words. Forms: the session events of @github/copilot-sdk
1.0.14; the session writer of @factory/cli-linux-x64 0.225.2.
"""

from __future__ import annotations

import json
from typing import Any

TAIL_BYTES = 262_144  # more than the answers of a turn; a session's file may be of many megabytes


def last_words(path: str) -> str:
    """The agent's last text since the last prompt; "" where there is none, or no such file."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
            lines = file.read(TAIL_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    for line in reversed(lines):
        speaker, text = _spoken(line)
        if speaker == "user" and text:
            return ""
        if speaker == "assistant" and text:
            return text
    return ""


def _spoken(line: str) -> tuple[str, str]:
    """Who says what in a line; nobody where it is about something else, or about a subagent."""
    try:
        fields = json.loads(line)
    except ValueError:  # the first line of a tail is cut
        return "", ""
    if not isinstance(fields, dict) or fields.get("agentId"):
        return "", ""
    message, data = fields.get("message"), fields.get("data")
    if fields.get("type") == "message" and isinstance(message, dict):
        return str(message.get("role")), _text(message.get("content"))
    speaker, _, what = str(fields.get("type")).partition(".")
    return (speaker, _text(data.get("content"))) if what == "message" and isinstance(data, dict) else ("", "")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content.strip()
    blocks = content if isinstance(content, list) else []
    said = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(text for text in said if isinstance(text, str)).strip()
