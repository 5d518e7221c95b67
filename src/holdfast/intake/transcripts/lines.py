"""Reads a JSONL file line by line in bounded memory, and holds what every transcript reader shares.

A line that is too long, half written, not JSON or not an object is counted and skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, BinaryIO

import orjson

from holdfast.core.model import Json
from holdfast.intake.event.text_cleanup import cut, trim

CALL_ID_CHARS = 200
_CHUNK = 1 << 20
_LAST_MS = 253_402_300_799_999  # 9999-12-31: past it no ISO text can be written
_SECONDS_BELOW = 100_000_000_000
_LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


@dataclass(frozen=True, slots=True)
class TranscriptLine:
    number: int
    digest: str
    fields: Json


@dataclass(slots=True)
class ReadCounts:
    """What was met while reading; right once the file was read to its end."""

    lines: int = 0
    skipped: int = 0
    unanswered: int = 0


@dataclass(frozen=True, slots=True)
class TranscriptEvent:
    """One thing that happened in a session, in the shape in which the hooks would have sent it."""

    session_id: str
    project: str
    cwd: str
    at_ms: int
    hook: str
    data: Json
    key: str
    """The same whenever the file is read again, and different for every event: fit to be the record's id."""
    dated: bool = True
    """Whether the line itself says when it was written; else the time is only about right."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; `id` is the client's own, which its hooks report too."""

    name: str
    given: Any
    id: str = ""


@dataclass(slots=True)
class SessionPosition:
    """Where the reader is: the session, its folder and the last time seen."""

    session_id: str
    at_ms: int
    cwd: str = ""
    fallback_project: str = ""
    named: bool = False  # whether the session's name is known for sure
    dated: bool = False  # whether the current line has its own time

    def event(self, hook: str, data: Json, *identity: str) -> TranscriptEvent:
        key = sha256("\x1f".join(identity).encode("utf-8", "replace")).hexdigest()[:32]
        place = (self.session_id, self.project, self.cwd)
        return TranscriptEvent(*place, self.at_ms, hook, data, f"obs_{key}", self.dated)

    @property
    def project(self) -> str:
        parts = [part for part in re.split(r"[/\\]", self.cwd) if part]
        return parts[-1] if parts else self.fallback_project

    def settle(self, cwd: Any) -> None:
        """Take the session's folder: the first one named, however far the agent wanders later."""
        if isinstance(cwd, str) and cwd and not self.cwd:
            self.cwd = cut(cwd, 1_000)

    def pass_time(self, stamp: Any) -> None:
        """Take the line's time; one that has none is as old as the one before."""
        at = time_of(stamp)
        self.at_ms, self.dated = at or self.at_ms, at is not None


def tool_event(thread: SessionPosition, call: ToolCall, output: Any, failed: bool, *identity: str) -> TranscriptEvent:
    """A tool call joined with its result, as the post-tool hooks report it."""
    data: Json = {"tool_name": call.name, "tool_input": trim(call.given)}
    if call.id:
        data["tool_use_id"] = cut(call.id, CALL_ID_CHARS)
    data["error" if failed else "tool_output"] = trim(output)
    return thread.event("post_tool_failure" if failed else "post_tool_use", data, *identity)


def time_of(stamp: Any) -> int | None:
    """Milliseconds since 1970 of an ISO text, or of a number of seconds or milliseconds."""
    try:
        if isinstance(stamp, str):
            moment = datetime.fromisoformat(stamp[:40])
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            ms = round(moment.timestamp() * 1000)
        elif isinstance(stamp, (int, float)) and not isinstance(stamp, bool):
            ms = round(stamp * 1000 if abs(stamp) < _SECONDS_BELOW else stamp)
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return ms if 0 < ms <= _LAST_MS else None


def read_lines(stream: BinaryIO, max_line_bytes: int, tally: ReadCounts) -> Iterator[TranscriptLine]:
    """Every line that is a JSON object, with its number in the file."""
    for number, raw in enumerate(_raw_lines(stream, max_line_bytes), 1):
        tally.lines = number
        if raw is None or raw.strip():
            line = None if raw is None else read_line(number, raw)
            if line is None:
                tally.skipped += 1
            else:
                yield line


def read_line(number: int, raw: bytes) -> TranscriptLine | None:
    """The line, or None if it is no JSON object."""
    fields = _object(raw)
    return None if fields is None else TranscriptLine(number, sha256(raw).hexdigest()[:16], fields)


def _raw_lines(stream: BinaryIO, max_line_bytes: int) -> Iterator[bytes | None]:
    """Lines without their end; None stands for one that is longer than the limit."""
    while raw := stream.readline(max_line_bytes + 1):
        if len(raw) <= max_line_bytes or raw.endswith(b"\n"):
            yield raw.rstrip(b"\r\n")
            continue
        while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
            pass
        yield None


def _object(raw: bytes) -> Json | None:
    try:
        value = orjson.loads(raw)
    except ValueError:
        # Clients written in JavaScript cut strings between the halves of a surrogate pair.
        mended = _LONE_SURROGATE.sub(rb"\\ufffd", raw)
        try:
            value = orjson.loads(mended)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def blocks_text(content: Any) -> str:
    """The text of a message: a string, or blocks of which those with text count and images leave a mark."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif isinstance(block, dict) and "image" in str(block.get("type")):
            texts.append("[image]")
    return "\n".join(text for text in texts if text)
