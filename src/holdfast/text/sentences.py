"""Cuts what was said into sentences: whole ones, without the marks of Markdown, and with what they stand under.

A sentence is the unit that is stored and returned. Code blocks are no sentences, but a short one that follows a line
ending in a colon belongs to that line: it is the command that the line announces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

READ_CHARS = 64_000
SENTENCE_CHARS = 600
CODE_CHARS = 200  # of a code block that belongs to the line before it

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*$|^\s*\*\*([^*]{2,80})\*\*:?\s*$")
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d{1,2}[.)]|\[[ xX]\])\s+(?:\[[ xX]\]\s+)?")
_TABLE = re.compile(r"^\s*\|.*\|\s*$")
_RULE = re.compile(r"^[\s|:*_=-]+$")
_QUOTE = re.compile(r"^\s*>\s?")
_MARKS = re.compile(r"\*\*|(?<![\w*/])\*(?=\w[^*\n]*\w\*(?!\w))|(?<=\w)\*(?![\w*/]|\.\w)")
# An end mark, perhaps a closing quote or bracket, then space; people at a keyboard go on in small letters.
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=\S)|(?<=[。！？])")
_SHORT = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|nr|fig|sec|prof|dipl|ing|hr|fr|dr|mr|mrs|ms|st|z\.b|d\.h|bzw|ggf|evtl|inkl|zzgl|ca)|\b[A-Za-z])\.$",
    re.IGNORECASE,
)
_LEFT_OUT = re.compile(r"\s(?:\.{3}|…)$")  # left-out words, as in SELECT ... FROM; an end has no space before it
_NUMBERED = re.compile(r"\d\.$")  # the end of a version or of a German day, if a small letter follows


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence or list item, and what it stands under: a heading, or the line that introduces the list."""

    text: str
    heading: str = ""
    lead: str = ""
    listed: bool = False
    place: int = 0  # among the sentences of its text


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text in order."""
    found = list(_sentences(text[:READ_CHARS]))
    return [replace(one, place=place) for place, one in enumerate(found)]


def _sentences(text: str) -> Iterator[Sentence]:
    heading = lead = ""
    waiting: Sentence | None = None  # a line ending in a colon, until it is known what it announces
    for block in _blocks(text):
        if block.kind == "code":
            code = " ".join(block.text.split())
            if waiting is not None and code and len(code) <= CODE_CHARS and block.lines <= 2:
                yield replace(waiting, text=f"{waiting.text} `{code}`")
                waiting = None
            continue
        if block.kind == "heading":
            heading, lead = block.text, ""
            continue
        if waiting is not None and block.kind != "item":
            yield waiting
            waiting = None
        if block.kind == "item":
            if waiting is not None:
                lead, waiting = waiting.text, None
            for part in _cut(block.text):
                yield Sentence(part, heading, lead, listed=True)
            continue
        lead = ""
        parts = [Sentence(part, heading) for part in _cut(block.text)]
        if parts and parts[-1].text.endswith(":"):
            waiting = parts.pop()
        yield from parts
    if waiting is not None:
        yield waiting


@dataclass(slots=True)
class _TextBlock:
    kind: str  # prose, item, heading, code
    text: str
    lines: int = 1


def _blocks(text: str) -> Iterator[_TextBlock]:
    """Paragraphs, list items, headings and code blocks. Wrapped lines of a paragraph or an item are one."""
    held: _TextBlock | None = None
    code: list[str] | None = None
    for line in text.splitlines():
        if _FENCE.match(line):
            if code is None:
                if held is not None:
                    yield held
                held, code = None, []
            else:
                yield _TextBlock("code", "\n".join(code), len(code))
                code = None
            continue
        if code is not None:
            code.append(line)
            continue
        line = _QUOTE.sub("", line)
        fresh = _fresh(line)
        if fresh is None and held is not None and line.strip() and held.kind in ("prose", "item"):
            held.text += " " + line.strip()
            continue
        if held is not None:
            yield held
        held = fresh if fresh is not None else _TextBlock("prose", line.strip()) if line.strip() else None
        if held is not None and held.kind in ("heading",):
            yield held
            held = None
    if held is not None:
        yield held


def _fresh(line: str) -> _TextBlock | None:
    """What a line begins, if it does not go on with the one before."""
    if not line.strip():
        return None
    if heading := _HEADING.match(line):
        return _TextBlock("heading", _plain(heading.group(1) or heading.group(2)))
    if _RULE.match(line):
        return _TextBlock("heading", "") if line.strip().startswith(("---", "***", "===")) else _TextBlock("code", "")
    if _TABLE.match(line):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        return _TextBlock("item", ": ".join(filter(None, [cells[0], " · ".join(filter(None, cells[1:]))])))
    if bullet := _BULLET.match(line):
        return _TextBlock("item", line[bullet.end() :].strip())
    return None


def _cut(text: str) -> list[str]:
    """A paragraph in sentences; an end mark inside a code span, after an abbreviation or for left-out words ends
    nothing."""
    parts: list[str] = []
    start = 0
    for end in _END.finditer(text):
        before = text[start : end.start()]
        small = text[end.end() : end.end() + 1].islower()
        if before.count("`") % 2 or _SHORT.search(before) or _LEFT_OUT.search(before):
            continue
        if small and _NUMBERED.search(before):
            continue
        parts.append(before + text[end.start() : end.end()].rstrip())
        start = end.end()
    parts.append(text[start:])
    return [plain for part in parts if any(map(str.isalnum, plain := _plain(part)))]


def _plain(text: str) -> str:
    """The text on one line, without emphasis."""
    line = " ".join(_MARKS.sub("", text).split())
    return line if len(line) <= SENTENCE_CHARS else line[:SENTENCE_CHARS].rpartition(" ")[0] + "…"
