"""Reads an injected block back, by its written form alone: a second opinion that shares no code with the writer."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

TITLES = {
    "global": "Global memory for all chats",
    "personal": "Personal memory about the current user",
    "group": "Group memory for the current chat",
    "conversation": "Current conversation memory",
}
_ENTRY = re.compile(r"- \[([^\[\]]*)\] (.*)")
_NOTE = re.compile(r"  \(([^()\[\]]*)\)")


@dataclass
class Read:
    scope: str
    domain: str
    content: str
    note: dict[str, str] = field(default_factory=dict)


@dataclass
class Block:
    entries: list[Read]
    headers: list[str]
    body: str  # what the budget of characters counts


def read_block(text: str) -> Block:
    """The entries of a block; fails on any line that has no place in one."""
    lines = text.split("\n")
    assert lines[0] == "<user_context_reference>"
    assert lines[-1] == "</user_context_reference>"
    assert "memory_recall(query)" in lines[1]
    assert lines[2].startswith("SOURCE: long-term memory retrieval")
    inside = lines[3:-2]
    block = Block([], [], "\n".join(inside))
    scopes = {title: scope for scope, title in TITLES.items()}
    at = 0
    while at < len(inside):
        assert inside[at] == "", "an empty line stands before every piece"
        line = inside[at + 1]
        at += 2
        if line.startswith("["):
            block.headers.append(scopes[line[1:-1]])
            assert line.endswith("]")
            continue
        found = _ENTRY.fullmatch(line)
        assert found, "neither a header nor an entry"
        content = [found[2]]
        while at < len(inside) and re.match(r"  \|( |$)", inside[at]):
            content.append(inside[at][4:])
            at += 1
        entry = Read(block.headers[-1], html.unescape(found[1]), html.unescape("\n".join(content)))
        if at < len(inside) and (note := _NOTE.fullmatch(inside[at])):
            entry.note = dict(part.split(": ", 1) for part in note[1].split(" | "))
            at += 1
        block.entries.append(entry)
    assert lines[-2] == f"({len(block.entries)} memory records above)"
    return block
