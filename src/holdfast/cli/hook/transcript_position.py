"""How far a hook has sent each transcript, and the next piece to send.

The place is kept in a small file for each transcript in the data folder, and moves on only once the piece before it is
safe. A place that is lost or old costs a repeat, which the server takes once.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from typing import Any, NamedTuple

from holdfast.local.spool import SPOOL
from holdfast.local.spool_space import FOR_COUNTS, FULL, give_up, make_private

PIECE_BYTES = 4_000_000
# How much is sent once more for a call whose result has not come; one that was cut off never gets one.
MOST_REPEATED = 1_000_000
HEAD_BYTES = 200
STATE_BYTES = 4_000


class SentPosition(NamedTuple):
    """Where a transcript was sent up to: bytes and lines. `head` distinguishes a new file of the same name."""

    offset: int = 0
    lines: int = 0
    head: str = ""


class UnsentLines(NamedTuple):
    """Whole lines of a transcript from a mark on."""

    raw: bytes
    mark: SentPosition
    more: bool  # whether the file goes on behind it

    @property
    def text(self) -> str:
        return self.raw.decode("utf-8", "replace")

    def after(self, lines: int) -> SentPosition:
        """The mark behind so many of its lines."""
        end = 0
        for _ in range(lines):
            end = self.raw.index(b"\n", end) + 1
        return SentPosition(self.mark.offset + end, self.mark.lines + lines, self.mark.head)

    def settled_lines(self) -> int:
        """How many of its lines come before the first tool call that has no result yet."""
        opened: dict[str, int] = {}
        lines = self.raw.split(b"\n")[:-1]
        for number, line in enumerate(lines):
            for id, is_result in _calls(line):
                if is_result:
                    opened.pop(id, None)
                else:
                    opened[id] = number
        settled = min(opened.values(), default=len(lines))
        return settled if sum(map(len, lines[settled:])) <= MOST_REPEATED else len(lines)


def _calls(line: bytes) -> list[tuple[str, bool]]:
    """The ids of the tool calls that a line begins or, with true, ends."""
    if b"tool_use" not in line and b"call_id" not in line:
        return []
    try:
        fields: Any = json.loads(line)
        message = fields.get("message") or fields.get("payload") or {}
        content = message.get("content")
        blocks = content if isinstance(content, list) else [message]
        ended = ("tool_result", "function_call_output", "custom_tool_call_output")
        ids = [(block.get("tool_use_id") or block.get("call_id") or block.get("id"), block) for block in blocks]
        return [
            (id, block.get("type") in ended)
            for id, block in ids
            if isinstance(id, str) and str(block.get("type")).startswith(("tool_", "function_", "custom_", "local_"))
        ]
    except (ValueError, AttributeError):
        return []


def next_piece(path: str, folder: str) -> UnsentLines | None:
    """What the transcript has beyond its mark; None if that is no whole line, or there is no such file."""
    try:
        with open(path, "rb") as file:
            head = hashlib.sha256(file.read(HEAD_BYTES).partition(b"\n")[0]).hexdigest()[:16]
            size = os.fstat(file.fileno()).st_size
            mark = _mark(path, folder, head, size)
            file.seek(mark.offset)
            raw = file.read(PIECE_BYTES)
            mark, raw = _beyond_long_line(file, mark, raw)
    except OSError:
        return None
    end = raw.rfind(b"\n") + 1
    return UnsentLines(raw[:end], mark, mark.offset + end < size) if end else None


def keep_mark(path: str, folder: str, mark: SentPosition) -> bool:
    """Remember how far the transcript was sent; False if that cannot be written: then the same is sent once more."""
    file = _file(path, folder)
    data = json.dumps({"path": path, **mark._asdict()}).encode()
    for _ in range(2):
        try:
            _replace(file, data)
            return True
        except OSError as error:
            if error.errno not in FULL or not give_up(os.path.join(folder, SPOOL), len(data), FOR_COUNTS):
                return False
    return False


def _replace(file: str, data: bytes) -> None:
    """The new content, or the old one."""
    temporary = f"{file}.{os.getpid()}"
    make_private(os.path.dirname(file))
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        os.replace(temporary, file)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _mark(path: str, folder: str, head: str, size: int) -> SentPosition:
    fresh = SentPosition(head=head)
    try:
        with open(_file(path, folder), "rb") as file:
            known: Any = json.loads(file.read(STATE_BYTES))
        mark = SentPosition(int(known["offset"]), int(known["lines"]), str(known["head"]))
    except (OSError, ValueError, TypeError, KeyError):
        return fresh
    return mark if mark.head == head and 0 <= mark.offset <= size else fresh


def _beyond_long_line(file: Any, mark: SentPosition, raw: bytes) -> tuple[SentPosition, bytes]:
    """Pass over a line that is longer than a piece: a screenshot, which is no text to remember."""
    while len(raw) == PIECE_BYTES and b"\n" not in raw:
        skipped = len(raw)
        while part := file.read(PIECE_BYTES):
            end = part.find(b"\n")
            skipped += len(part) if end < 0 else end + 1
            if end >= 0:
                break
        else:
            return mark, b""  # its end is not written yet
        mark = SentPosition(mark.offset + skipped, mark.lines + 1, mark.head)
        file.seek(mark.offset)
        raw = file.read(PIECE_BYTES)
    return mark, raw


def _file(path: str, folder: str) -> str:
    return os.path.join(folder, "hooks", hashlib.sha256(path.encode("utf-8", "replace")).hexdigest()[:32] + ".json")
