"""The text under which a memory is stored and embedded, and the way back to what was remembered.

Only what helps to find a memory stands in it; owners, scope and visibility never do. Each field has a line of its
own, and what belongs to the memory's further lines is indented: no text can forge a field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from holdfast.protocol.metadata import MemoryMetadata
from holdfast.protocol.terms import domain_label

_MEMORY = "memory: "
_AFTER_MEMORY = ("recall_when: ", "entities: ", "topics: ")
_INDENT = "  "


def format_memory_content(content: str, metadata: MemoryMetadata | Mapping[str, Any]) -> str:
    """The text to store and embed: domain, memory and, where there are any, disclosure, entities and topics."""
    about = metadata if isinstance(metadata, MemoryMetadata) else MemoryMetadata.from_dict(metadata)
    lines = [f"domain: {_line(domain_label(about.domain))}", _MEMORY + f"\n{_INDENT}".join(_lines(content))]
    if about.disclosure:
        lines.append(f"recall_when: {_line(about.disclosure)}")
    if about.entities:
        lines.append(f"entities: {_names(about.entities)}")
    if about.topics:
        lines.append(f"topics: {_names(about.topics)}")
    return "\n".join(lines)


def display_text(memory: Mapping[str, Any], metadata: MemoryMetadata) -> str:
    """What was remembered: from the metadata, the content, or the stored text; empty if there is nothing of it."""
    for given in (metadata.memory_content, memory.get("content")):
        if isinstance(given, str) and given:
            return given
    stored = memory.get("text")
    return _remembered(stored) if isinstance(stored, str) else ""


def _remembered(stored: str) -> str:
    """The memory's lines of a stored text; all of it if it was not made here.

    Earlier texts did not indent: there the memory ends where the next field begins.
    """
    lines = stored.split("\n")
    first = next((at for at, line in enumerate(lines) if line.startswith(_MEMORY)), None)
    if first is None:
        return stored
    rest = lines[first + 1 :]
    end = next((at for at, line in enumerate(rest) if line.startswith(_AFTER_MEMORY)), len(rest))
    further = (line.removeprefix(_INDENT) for line in rest[:end])
    return "\n".join((lines[first].removeprefix(_MEMORY), *further)).strip()


def _lines(text: str) -> list[str]:
    return text.splitlines() or [""]


def _line(text: str) -> str:
    return " ".join(_lines(text))


def _names(names: Iterable[str]) -> str:
    return ", ".join(_line(name) for name in names)
