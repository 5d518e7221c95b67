"""The blocks of a Markdown text: headings, list items, paragraphs and code. Knows nothing of what they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["heading", "item", "text", "code"]

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,4}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(\S.*)")
_FENCE = re.compile(r"([ \t]*)(```+|~~~+)")
# Horizontal rules, file imports, pictures alone: none of them has content.
_SILENT = re.compile(
    r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}|[ \t]*@\S+[ \t]*"
    r"|[ \t]*(?:\[?!\[[^\]]{0,500}\]\([^)]{0,2000}\)(?:\]\([^)]{0,2000}\))?[ \t]*)+"
)
TAB = 4


@dataclass(frozen=True, slots=True)
class Block:
    """One block; `indent` is where it begins in its line, of a heading its level; `mark` is that of a list item."""

    kind: Kind
    indent: int
    text: str
    mark: str = ""


@dataclass
class _OpenBlock:
    """A list item or a paragraph to which further lines may belong."""

    kind: Kind
    indent: int
    lines: list[str]
    mark: str = ""

    def block(self) -> Block:
        # A table stays a table; other lines are one paragraph.
        between = "\n" if any(line.startswith("|") for line in self.lines) else " "
        return Block(self.kind, self.indent, between.join(self.lines), self.mark)


def blocks(markdown: str) -> Iterator[Block]:
    """The blocks in their order, without front matter and comments."""
    lines = markdown.replace("\r\n", "\n").lstrip("\ufeff").split("\n")
    return _Reader(_without_front_matter(lines)).blocks()


@dataclass
class _Reader:
    lines: list[str]
    at: int = 0  # the line that is read next
    open: _OpenBlock | None = None
    done: list[Block] = field(default_factory=list)

    def blocks(self) -> Iterator[Block]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            if not (self._is_code(line) or self._is_heading(line) or self._is_nothing(line)):
                self._take(line)
            yield from self.done
            self.done.clear()
        self._close()
        yield from self.done

    def _close(self, *after: Block) -> None:
        if self.open is not None:
            self.done.append(self.open.block())
        self.open = None
        self.done += after

    def _is_code(self, line: str) -> bool:
        fence = _FENCE.match(line)
        if fence is None:
            return False
        first = self.at - 1
        self._skip_until(lambda one: one.strip().startswith(fence[2]) and not one.strip().strip(fence[2][0]))
        text = "\n".join(one.removeprefix(fence[1]).rstrip() for one in self.lines[first : self.at])
        self._close(Block("code", _width(fence[1]), text))
        return True

    def _is_heading(self, line: str) -> bool:
        above = self.open
        if (
            above is not None
            and above.kind == "text"
            and len(above.lines) == 1
            and (under := _UNDERLINE.fullmatch(line))
        ):
            self.open = None
            self.done.append(Block("heading", 1 if under[1][0] == "=" else 2, above.lines[0]))
            return True
        found = _HEADING.fullmatch(line)
        if found is not None:
            self._close(*([Block("heading", len(found[1]), found[2])] if found[2] else []))
        return found is not None

    def _is_nothing(self, line: str) -> bool:
        if line.lstrip().startswith("<!--"):
            self.at -= 1
            self._skip_until(lambda one: "-->" in one)
        elif line.strip() and not _SILENT.fullmatch(line):
            return False
        self._close()
        return True

    def _take(self, line: str) -> None:
        item = _ITEM.fullmatch(line)
        if item is not None:
            self._close()
            self.open = _OpenBlock("item", _width(item[1]), [item[3].rstrip()], item[2])
            return
        text = line.strip().removeprefix(">").strip()
        if self.open is not None:
            self.open.lines.append(text)
        else:
            self.open = _OpenBlock("text", _width(line[: len(line) - len(line.lstrip())]), [text])

    def _skip_until(self, ends: Callable[[str], bool]) -> None:
        """Continue after the next closing line, or after the last line of all."""
        while self.at < len(self.lines):
            self.at += 1
            if ends(self.lines[self.at - 1]):
                return


def _without_front_matter(lines: list[str]) -> list[str]:
    if lines[0].rstrip() == "---":
        for place, line in enumerate(lines[1:], 1):
            if line.rstrip() in ("---", "..."):
                return lines[place + 1 :]
    return lines


def _width(margin: str) -> int:
    return len(margin.expandtabs(TAB))
