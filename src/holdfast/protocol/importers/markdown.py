"""A folder of Markdown: a short file is one memory, a long one a memory for each of its sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from holdfast.protocol.importers.import_types import (
    CONTENT_CHARS,
    ImportedMemory,
    ImportReader,
    ImportResult,
    name_of,
    names_of,
    time_of,
)
from holdfast.protocol.importers.notes import Note, notes
from holdfast.protocol.terms import MemoryDomain

WHOLE_CHARS = 2_000  # a file up to this size is about one thing
SECTION_CHARS = 8_000

_HEADING = re.compile(r"#{1,3} +(\S.*)")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")


def read_markdown(files: Iterable[tuple[str, bytes]]) -> ImportResult:
    """The memories of a folder, given as relative paths and bytes of its files."""
    reader = ImportReader("markdown")
    for note in notes(files, reader):
        _read(reader, note)
    return reader.reading()


def _read(reader: ImportReader, note: Note) -> None:
    reader.pass_over("lines of front matter", note.odd_lines)
    title = name_of(note.title)
    created = note.front.get("created") or note.front.get("date")
    parts = list(sections(note.body))
    for number, (heading, text) in enumerate(parts, 1):
        reader.take(
            ImportedMemory(
                reader.system,
                note.path if len(parts) == 1 else f"{note.path}#{number}",
                content=text,
                title=name_of(f"{title}: {heading}" if heading and heading != title else title),
                domain=MemoryDomain.FACTS,
                uri=f"notes://{note.path}" if len(parts) == 1 else f"notes://{note.path}#{number}",
                created_at=time_of(created),
                updated_at=time_of(note.front.get("updated") or note.front.get("modified")),
                topics=names_of(note.front.get("tags")),
                subject=title,
            )
        )
    if not parts:
        reader.refuse(note.path, "it has no text")


def sections(body: str) -> Iterator[tuple[str, str]]:
    """Heading and text of each part. Headings inside of code are none."""
    if not body:
        return
    if len(body) <= WHOLE_CHARS:
        yield "", body
        return
    heading, fence = "", ""
    lines: list[str] = []
    for line in body.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        found = None if fence else _HEADING.fullmatch(line.rstrip())
        if found:
            yield from _pieces(heading, lines)
            heading, lines = found[1], []
        lines.append(line)
    yield from _pieces(heading, lines)


def _pieces(heading: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    """The section in one piece, or cut between paragraphs, and within one only if it is longer than a memory."""
    text = "\n".join(lines).strip()
    if not text or (heading and text.count("\n") == 0):
        return  # a heading alone has no content
    piece = ""
    for paragraph in text.split("\n\n"):
        if piece and len(piece) + len(paragraph) > SECTION_CHARS:
            yield heading, piece
            piece = ""
        piece = f"{piece}\n\n{paragraph}".strip("\n")
        while len(piece) > CONTENT_CHARS:
            yield heading, piece[:SECTION_CHARS]
            piece = piece[SECTION_CHARS:]
    if piece.strip():
        yield heading, piece
