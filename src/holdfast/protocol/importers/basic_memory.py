"""A folder of basic-memory: notes whose list items are observations and relations.

    - [category] an observation #tag (context)
    - relation_type [[Another note]] (context)

Each observation becomes a memory of its own, the rest of the note one more; relations become links of that one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from holdfast.protocol.importers.import_types import (
    MOST_NAMES,
    ImportedMemory,
    ImportReader,
    ImportResult,
    name_of,
    names_of,
    time_of,
)
from holdfast.protocol.importers.markdown import sections
from holdfast.protocol.importers.notes import Note, notes
from holdfast.protocol.terms import MemoryDomain

# A task's box, [ ] or [x], and a link, [text](address), are no categories.
_OBSERVATION = re.compile(r"[-*] +\[(?![ xX-]?\])([^\[\]()]{1,64})\](?!\() *(\S.*)")
_RELATION = re.compile(r"[-*] +([^\[\]]{0,64}?) *\[\[([^\[\]]{1,200})\]\]")
_TAG = re.compile(r"(?:^|\s)#([^\s#()\[\]]{1,64})")
_HEADING = re.compile(r"(#{1,6}) ")
ITEM_CHARS = 5_000  # a longer line is prose

_DOMAINS = {
    "preference": MemoryDomain.PREFERENCES,
    "preferences": MemoryDomain.PREFERENCES,
    "event": MemoryDomain.EVENTS,
    "person": MemoryDomain.USER_PROFILE,
    "profile": MemoryDomain.USER_PROFILE,
    "context": MemoryDomain.CONTEXT,
}


@dataclass(slots=True)
class _Parts:
    observations: list[tuple[str, str]] = field(default_factory=list)
    relations: list[tuple[str, str]] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)


def read_basic_memory(files: Iterable[tuple[str, bytes]]) -> ImportResult:
    """The memories of a folder, given as relative paths and bytes of its files."""
    reader = ImportReader("basic-memory")
    for note in notes(files, reader):
        _read(reader, note)
    return reader.reading()


def _read(reader: ImportReader, note: Note) -> None:
    reader.pass_over("lines of front matter", note.odd_lines)
    parts = _parts(note.body)
    path = name_of(note.front.get("permalink")) or note.path.rsplit(".", 1)[0]
    title = name_of(note.title)
    common = ImportedMemory(
        reader.system,
        note.path,
        content="",
        title=title,
        uri=f"memory://{path}",
        created_at=time_of(note.front.get("created") or note.front.get("date")),
        topics=names_of(note.front.get("tags")),
        subject=title,
    )
    found = [*_prose(note, parts, common), *_observations(parts, common)]
    if not found:
        reader.refuse(note.path, "it has no text")
    for number, taken in enumerate(found):
        reader.take(taken if number else replace(taken, links=tuple(parts.relations[:MOST_NAMES])))


def _prose(note: Note, parts: _Parts, common: ImportedMemory) -> Iterator[ImportedMemory]:
    kind = name_of(note.front.get("type"))
    for number, (heading, text) in enumerate(sections(_without_empty_headings(parts.rest)), 1):
        yield replace(
            common,
            ref=common.ref if number == 1 else f"{common.ref}#{number}",
            content=text,
            title=name_of(f"{common.title}: {heading}") if heading not in ("", common.title) else common.title,
            uri=common.uri if number == 1 else f"{common.uri}/part-{number}",
            metadata={"noteType": kind} if kind else {},
        )


def _observations(parts: _Parts, common: ImportedMemory) -> Iterator[ImportedMemory]:
    for number, (category, text) in enumerate(parts.observations, 1):
        yield replace(
            common,
            ref=f"{common.ref}#observation-{number}",
            content=text,
            domain=_DOMAINS.get(category.lower(), MemoryDomain.FACTS),
            uri=f"{common.uri}/observations/{number}",
            topics=tuple(dict.fromkeys((*common.topics, *_TAG.findall(text))))[:MOST_NAMES],
            metadata={"category": category},
        )


def _parts(body: str) -> _Parts:
    parts = _Parts()
    for line in body.split("\n"):
        # Runs of spaces become one: the patterns would try every way to split them.
        item = " ".join(line.split()) if len(line) <= ITEM_CHARS else ""
        if seen := _OBSERVATION.fullmatch(item):
            parts.observations.append((name_of(seen[1]), seen[2]))
        elif link := _RELATION.match(item):
            parts.relations.append((name_of(link[1]) or "relates_to", name_of(link[2])))
        else:
            parts.rest.append(line)
    return parts


def _without_empty_headings(lines: list[str]) -> str:
    """The text without headings under which, down to the next of their level, nothing is left."""
    kept: list[str] = []
    filled = [False] * 7  # by level: whether something stands before the next heading of that level or above
    for line in reversed(lines):
        heading = _HEADING.match(line)
        if heading:
            level = len(heading[1])
            said = filled[level]
            filled[level:] = [False] * (7 - level)
            if not said:
                continue
        elif line.strip():
            filled = [True] * 7
        kept.append(line)
    return "\n".join(reversed(kept)).strip()
