"""Understands the lines of Codex's transcripts: ~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl.

Newer files wrap every item as {timestamp, type, payload} and write what was said twice, as an item and as an
event; it is reported once. Older files hold the bare items, after one line about the session.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

from holdfast.core.model import Json
from holdfast.intake.event.text_cleanup import SAID_CHARS, cut, parsed
from holdfast.intake.transcripts.lines import (
    ReadCounts,
    SessionPosition,
    ToolCall,
    TranscriptEvent,
    TranscriptLine,
    blocks_text,
    tool_event,
)

_MAX_PENDING = 10_000
_WRAPPERS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_ITEMS = frozenset(
    "message function_call function_call_output local_shell_call custom_tool_call custom_tool_call_output "
    "web_search_call reasoning".split()
)
_NOISE = (
    "<environment_context>", "<user_instructions>", "<permissions instructions>", "<turn_aborted>", "<skill>",
    "<subagent_notification>", "<user_shell_command>", "<collaboration_mode>", "# AGENTS.md instructions",
)  # fmt: skip
_REQUEST = "## My request for Codex:"
_CWD = re.compile(r"<cwd>([^<\n]{1,1000})</cwd>|Current working directory: ([^\n]{1,1000})")


class CodexLines:
    """One file's state: the session, the calls that wait for their outputs, and what was said already."""

    def __init__(self, thread: SessionPosition, tally: ReadCounts) -> None:
        self._thread = thread
        self._tally = tally
        self._named = thread.named
        self._pending: dict[str, ToolCall] = {}
        self._said: Counter[tuple[str, str, str]] = Counter()

    @staticmethod
    def knows(fields: Json) -> bool:
        if isinstance(fields.get("payload"), dict):
            return str(fields.get("type")) in _WRAPPERS
        bare = (
            str(fields.get("type")) in _ITEMS or "record_type" in fields or fields.get("role") in ("user", "assistant")
        )
        return bare or ("id" in fields and "timestamp" in fields and ("instructions" in fields or "git" in fields))

    def take(self, line: TranscriptLine) -> Iterator[TranscriptEvent]:
        fields = line.fields
        self._thread.pass_time(fields.get("timestamp"))
        payload, kind = fields.get("payload"), fields.get("type")
        identity = f"{self._thread.session_id}:{line.number}:{line.digest}"
        if not isinstance(payload, dict):
            if kind is None and "role" not in fields:
                self._meet(fields)
            yield from self._item(fields, identity, "item")
        elif kind in ("session_meta", "turn_context"):
            self._meet(payload)
        elif kind == "response_item":
            yield from self._item(payload, identity, "item")
        elif kind == "event_msg":
            yield from self._told(payload, identity)
        elif kind == "compacted":
            yield from self._say("assistant", payload.get("message"), "item", identity)

    def waiting(self) -> Iterable[str]:
        """The calls whose outputs have not come."""
        return self._pending.keys()

    def finish(self) -> Iterator[TranscriptEvent]:
        # A call without output still runs or was cut off; read again later, it comes with its output.
        self._tally.unanswered += len(self._pending)
        return iter(())

    def _meet(self, about: Json) -> None:
        """Take the session's name and folder; a fork repeats its parent's later, so only the first counts."""
        name = about.get("id")
        if isinstance(name, str) and name and not self._named:
            self._thread.session_id = cut(name, 200)
            self._named = True
        self._thread.settle(about.get("cwd"))

    def _told(self, event: Json, identity: str) -> Iterator[TranscriptEvent]:
        role = {"user_message": "user", "agent_message": "assistant"}.get(str(event.get("type")))
        if role:
            yield from self._say(role, event.get("message"), "event", identity)

    def _item(self, item: Json, identity: str, source: str) -> Iterator[TranscriptEvent]:
        kind = str(item.get("type", "message" if "role" in item else ""))
        if kind == "message":
            yield from self._say(str(item.get("role")), blocks_text(item.get("content")), source, identity)
        elif kind in _CALLS:
            call, call_id = _CALLS[kind](item), item.get("call_id")
            if isinstance(call_id, str) and call_id and kind != "web_search_call":
                self._wait_for(call_id, replace(call, id=call_id))
            else:
                yield tool_event(self._thread, call, "", False, "codex", identity, "call")
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield self._output(item, identity)

    def _wait_for(self, call_id: str, call: ToolCall) -> None:
        self._pending[call_id] = call
        if len(self._pending) > _MAX_PENDING:
            self._pending.pop(next(iter(self._pending)))
            self._tally.unanswered += 1

    def _output(self, item: Json, identity: str) -> TranscriptEvent:
        call_id = str(item.get("call_id"))
        call = self._pending.pop(call_id, ToolCall("unknown", {}, call_id))
        output = parsed(item.get("output"))
        failed = isinstance(output, dict) and output.get("success") is False
        if isinstance(output, dict) and "content" in output:
            output = output["content"]
        output = blocks_text(output) if isinstance(output, list) else output
        return tool_event(self._thread, call, output, failed, "codex", identity)

    def _say(self, role: str, text: Any, source: str, identity: str) -> Iterator[TranscriptEvent]:
        if not isinstance(text, str) or role not in ("user", "assistant"):
            return
        said = cut(self._spoken(text) if role == "user" else text, SAID_CHARS).strip()
        if not said or self._is_echo(role, said, source):
            return
        if role == "user":
            yield self._thread.event("prompt_submit", {"prompt": said}, "codex", identity)
        else:
            yield self._thread.event("assistant_message", {"message": said}, "codex", identity)

    def _spoken(self, text: str) -> str:
        """What the person typed; of the client's own preambles only the folder is used."""
        text = text.partition(_REQUEST)[2] if _REQUEST in text else text
        if not text.lstrip().startswith(_NOISE):
            return text
        folder = _CWD.search(text[:20_000])
        if folder:
            self._thread.settle((folder.group(1) or folder.group(2)).strip())
        return ""

    def _is_echo(self, role: str, text: str, source: str) -> bool:
        """Whether the other of the two records of this message was already reported."""
        digest = sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
        other = "event" if source == "item" else "item"
        if self._said[role, digest, other] > 0:
            self._said[role, digest, other] -= 1
            return True
        self._said[role, digest, source] += 1
        return False


def _function_call(item: Json) -> ToolCall:
    return ToolCall(_name_of(item), parsed(item.get("arguments")))


def _custom_call(item: Json) -> ToolCall:
    return ToolCall(_name_of(item), item.get("input"))


def _shell_call(item: Json) -> ToolCall:
    return ToolCall("local_shell", item.get("action"))


def _web_call(item: Json) -> ToolCall:
    return ToolCall("web_search", item.get("action"))


def _name_of(item: Json) -> str:
    name = item.get("name")
    return cut(name, 200) if isinstance(name, str) and name else "unknown"


_CALLS: dict[str, Callable[[Json], ToolCall]] = {
    "function_call": _function_call,
    "custom_tool_call": _custom_call,
    "local_shell_call": _shell_call,
    "web_search_call": _web_call,
}
