"""Reads the transcripts that Claude Code, Codex and Cursor leave behind, as the events their hooks would have sent.

Reads files and nothing else; keeps one line and the open tool calls in memory. What a file holds is never
trusted to be well formed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from holdfast.core.errors import InvalidRequest, NotFound
from holdfast.intake.transcripts.claude import ClaudeLines
from holdfast.intake.transcripts.codex import CodexLines
from holdfast.intake.transcripts.cursor import CursorLines
from holdfast.intake.transcripts.lines import ReadCounts, SessionPosition, TranscriptEvent, TranscriptLine, read_lines

__all__ = ["MAX_LINE_BYTES", "Transcript", "TranscriptEvent", "find_transcripts", "read_transcript"]

# The longest lines met are screenshots in base64, of a few megabytes; past 16 MiB a line is damage.
MAX_LINE_BYTES = 16 * 1024 * 1024
_ROLLOUT = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+)")


class Dialect(Protocol):
    """How one agent writes its transcripts."""

    def take(self, line: TranscriptLine) -> Iterator[TranscriptEvent]: ...

    def waiting(self) -> Iterable[str]: ...

    def finish(self) -> Iterator[TranscriptEvent]: ...


class Transcript:
    """The events of one file, read on demand; its counts are right after the last one."""

    def __init__(self, path: Path, max_line_bytes: int) -> None:
        self.path = path
        self._max_line_bytes = max_line_bytes
        self._tally = ReadCounts()

    @property
    def lines(self) -> int:
        return self._tally.lines

    @property
    def skipped(self) -> int:
        """Lines that could not be read: damaged, half written, too long, or of no known transcript."""
        return self._tally.skipped

    @property
    def unanswered(self) -> int:
        """Tool calls whose result is not in the file (yet); they are reported when it is."""
        return self._tally.unanswered

    def __iter__(self) -> Iterator[TranscriptEvent]:
        """
        Raises:
            NotFound: there is no such file.
            InvalidRequest: the file cannot be opened or read.
        """
        self._tally = tally = ReadCounts()
        try:
            with self.path.open("rb") as stream:
                thread = _thread_of(self.path, os.fstat(stream.fileno()).st_mtime)
                yield from _events(read_lines(stream, self._max_line_bytes, tally), thread, tally)
        except FileNotFoundError as error:
            raise NotFound(f"transcript {self.path} does not exist") from error
        except OSError as error:
            raise InvalidRequest(f"transcript {self.path} cannot be read: {error.strerror}") from error


def read_transcript(path: Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> Transcript:
    return Transcript(path, max_line_bytes)


def _events(lines: Iterator[TranscriptLine], thread: SessionPosition, tally: ReadCounts) -> Iterator[TranscriptEvent]:
    dialect: Dialect | None = None
    for line in lines:
        dialect = dialect or dialect_of(line, thread, tally)
        if dialect is None:
            tally.skipped += 1
        else:
            yield from dialect.take(line)
    if dialect is not None:
        yield from dialect.finish()


def dialect_of(line: TranscriptLine, thread: SessionPosition, tally: ReadCounts) -> Dialect | None:
    """The reader for the transcript that has this line; None if it is of no known kind."""
    for dialect in (ClaudeLines, CursorLines, CodexLines):
        if dialect.knows(line.fields):
            return dialect(thread, tally)
    return None


def _thread_of(path: Path, modified: float) -> SessionPosition:
    """What the file's name and path show, until its lines are more exact."""
    rollout = _ROLLOUT.fullmatch(path.stem)
    project = "" if rollout else path.resolve().parent.name.strip("-")
    return SessionPosition(rollout.group(1) if rollout else path.stem, max(1, round(modified * 1000)), "", project)


def find_transcripts(path: Path, max_files: int) -> list[Path]:
    """The *.jsonl files at or under a path, sorted; symbolic links inside a folder are not followed.

    Raises:
        NotFound: the path does not exist.
        InvalidRequest: it is neither a folder nor a *.jsonl file.
    """
    if path.is_dir():
        return sorted(_walk(path, max_files))
    if not path.exists():
        raise NotFound(f"transcripts: {path} does not exist")
    if path.suffix != ".jsonl" or not path.is_file():
        raise InvalidRequest(f"transcripts: {path} is neither a folder nor a .jsonl file")
    return [path][:max_files]


def _walk(folder: Path, max_files: int) -> Iterator[Path]:
    found = 0
    for here, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        for name in sorted(names):
            path = Path(here, name)
            if name.endswith(".jsonl") and not path.is_symlink() and path.is_file() and found < max_files:
                found += 1
                yield path
        if found >= max_files:
            return
