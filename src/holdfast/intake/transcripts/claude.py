"""Understands the lines of Claude Code's transcripts: ~/.claude/projects/<slug>/<sessionId>.jsonl."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from holdfast.core.model import Json
from holdfast.intake.event.text_cleanup import SAID_CHARS, cut
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
_KINDS = frozenset({"user", "assistant", "system", "summary", "file-history-snapshot", "queue-operation", "progress"})
_MARKS = frozenset({"sessionId", "parentUuid", "leafUuid", "isSidechain", "isSnapshotUpdate"})
_INSERTED = ("system-reminder", "ide_opened_file", "ide_selection", "local-command-caveat")
_NOISE = (
    "<local-command-",
    "<bash-stdout>",
    "<bash-input>",
    "Caveat: ",
    "[Request interrupted",
    "<user-memory-input>",
)
# What stands for the result of a call that the user stopped or did not allow: nothing failed.
_STOPPED = ("[Request interrupted by user", "The user doesn't want to proceed with this tool use")
_COMMAND_NAME = re.compile(r"<command-name>\s*(/?[\w:.-]{1,80})")
_COMMAND_ARGS = re.compile(r"<command-args>([^<]{1,4000})")


class ClaudeLines:
    """One file's state: the session, and the tool calls that wait for their results."""

    def __init__(self, thread: SessionPosition, tally: ReadCounts) -> None:
        self._thread = thread
        self._tally = tally
        self._pending: dict[str, ToolCall] = {}

    @staticmethod
    def knows(fields: Json) -> bool:
        return str(fields.get("type")) in _KINDS and bool(_MARKS & fields.keys())

    def take(self, line: TranscriptLine) -> Iterator[TranscriptEvent]:
        fields = line.fields
        session = fields.get("sessionId")
        if isinstance(session, str) and session:
            self._thread.session_id = cut(session, 200)
        self._thread.settle(fields.get("cwd"))
        self._thread.pass_time(fields.get("timestamp"))
        message = fields.get("message")
        if not isinstance(message, dict) or fields.get("isMeta") is True:
            return
        uuid = fields.get("uuid")
        identity = uuid if isinstance(uuid, str) and uuid else f"{self._thread.session_id}:{line.number}:{line.digest}"
        if fields.get("type") == "user":
            yield from self._user(fields, message.get("content"), identity)
        elif fields.get("type") == "assistant" and fields.get("isApiErrorMessage") is not True:
            yield from self._assistant(message.get("content"), identity)

    def waiting(self) -> Iterable[str]:
        """The calls whose results have not come."""
        return self._pending.keys()

    def finish(self) -> Iterator[TranscriptEvent]:
        # A call without a result is still running or was cut off; read again later, it comes with its result.
        self._tally.unanswered += len(self._pending)
        return iter(())

    def _user(self, fields: Json, content: Any, identity: str) -> Iterator[TranscriptEvent]:
        blocks = content if isinstance(content, list) else []
        results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
        for place, block in enumerate(results):
            yield from self._result(block, f"{identity}:{place}")
        text = cut(spoken(blocks_text(content)), SAID_CHARS).strip()
        if not text or text == "[image]":
            return
        if fields.get("isCompactSummary") is True:
            yield self._thread.event("assistant_message", {"message": text}, "claude", identity, "summary")
        elif fields.get("isSidechain") is not True:
            yield self._thread.event("prompt_submit", {"prompt": text}, "claude", identity, "prompt")

    def _result(self, block: Json, identity: str) -> Iterator[TranscriptEvent]:
        call_id = str(block.get("tool_use_id"))
        call = self._pending.pop(call_id, ToolCall("unknown", {}, call_id))
        text = blocks_text(block.get("content"))
        if not text.lstrip().startswith(_STOPPED):
            yield tool_event(self._thread, call, text, block.get("is_error") is True, "claude", identity)

    def _assistant(self, content: Any, identity: str) -> Iterator[TranscriptEvent]:
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                self._wait_for(block)
        text = cut(blocks_text(content), SAID_CHARS).strip()
        if text and text not in ("(no content)", "No response requested."):
            yield self._thread.event("assistant_message", {"message": text}, "claude", identity, "message")

    def _wait_for(self, block: Json) -> None:
        name = block.get("name")
        self._pending[block["id"]] = ToolCall(
            cut(name, 200) if isinstance(name, str) else "unknown", block.get("input"), block["id"]
        )
        if len(self._pending) > _MAX_PENDING:
            self._pending.pop(next(iter(self._pending)))
            self._tally.unanswered += 1


def spoken(text: str) -> str:
    """What the person typed, without what the client put around it; empty when the client alone spoke."""
    for tag in _INSERTED:
        text = _without(text, tag)
    text = text.strip()
    if "<command-name>" in text[:2_000]:
        name, args = _COMMAND_NAME.search(text), _COMMAND_ARGS.search(text)
        return f"{name.group(1)} {args.group(1).strip()}" if name and args and args.group(1).strip() else ""
    return "" if text.startswith(_NOISE) else text


def _without(text: str, tag: str) -> str:
    opening, closing = f"<{tag}>", f"</{tag}>"
    kept, at = [], 0
    while (start := text.find(opening, at)) >= 0:
        end = text.find(closing, start)
        if end < 0:
            break
        kept.append(text[at:start])
        at = end + len(closing)
    return "".join([*kept, text[at:]])
