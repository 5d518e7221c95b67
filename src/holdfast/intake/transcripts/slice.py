"""Reads a piece of a transcript that still grows: its events, and up to where the sender need not send it again.

The piece begins at the start of a line. It may end anywhere, as the agent is still writing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO

from holdfast.intake.transcripts.lines import ReadCounts, SessionPosition, TranscriptEvent, TranscriptLine, read_line
from holdfast.intake.transcripts.reader import Dialect, dialect_of

# How far back a piece may have to begin again for a tool call whose result has not come. A call that was cut off
# never gets one, and each later piece would begin there.
MOST_REPEATED = 1_000_000


@dataclass
class TranscriptSlice:
    """The events of a piece; the rest is right once they were read."""

    text: bytes
    thread: SessionPosition
    first_line: int = 1
    consumed: int = 0  # bytes that need not be sent again
    consumed_lines: int = 0
    tally: ReadCounts = field(default_factory=ReadCounts)

    def __iter__(self) -> Iterator[TranscriptEvent]:
        self.consumed = self.consumed_lines = 0
        self.tally = ReadCounts()
        dialect: Dialect | None = None
        calls: dict[str, int] = {}  # where the lines of open calls begin
        at = end = 0
        for number, raw in enumerate(BytesIO(self.text), self.first_line):
            if not raw.endswith(b"\n"):
                break  # half written
            at, end = end, end + len(raw)
            self.tally.lines += 1
            line = read_line(number, raw.rstrip(b"\r\n")) if raw.strip() else None
            if line is None:
                self.tally.skipped += bool(raw.strip())
                continue
            dialect = dialect or dialect_of(line, self.thread, self.tally)
            if dialect is None:
                self.tally.skipped += 1
                continue
            yield from self._events(dialect, line, calls)
            for call in dialect.waiting():
                calls.setdefault(call, at)
        self.consumed = self._without_open(end, dialect, calls)
        self.consumed_lines = self.text.count(b"\n", 0, self.consumed)

    def _events(self, dialect: Dialect, line: TranscriptLine, calls: dict[str, int]) -> Iterator[TranscriptEvent]:
        for event in dialect.take(line):
            if event.hook == "prompt_submit":
                calls.clear()  # the user went on: what is still open was cut off
                calls.update(dict.fromkeys(dialect.waiting(), len(self.text)))
            yield event

    def _without_open(self, end: int, dialect: Dialect | None, calls: dict[str, int]) -> int:
        """Where the first call stands whose result has not come, or the end of the last whole line."""
        open_calls = [calls[call] for call in dialect.waiting()] if dialect else []
        start = min([end, *open_calls])
        return start if end - start <= MOST_REPEATED else end
