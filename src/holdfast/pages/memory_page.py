"""MEMORY.md, which Claude Code keeps: Holdfast's part of it stands between two marks, and the rest is the user's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from holdfast.core.disk import make_folder, write_durably
from holdfast.core.errors import InvalidRequest
from holdfast.core.model import Memory
from holdfast.pages.compress_page import read_page
from holdfast.recall.context.escape import line

BEGIN, END = "<!-- holdfast: begin -->", "<!-- holdfast: end -->"
LINES, LINE_CHARS = 150, 300  # an agent reads the first 200 lines


def own_lines(memories: Sequence[Memory]) -> list[str]:
    """The memories as a list, as much as an agent will read."""
    return [f"- [{line(one.type, 40)}] {line(one.content, LINE_CHARS)}" for one in memories[:LINES]]


def write_page(path: Path, memories: Sequence[Memory]) -> int:
    """Replace Holdfast's part of the file and leave the rest; how many lines the file has.

    Raises:
        InvalidRequest: it is no Markdown file, or only one of the marks is in it.
        TooLarge: it is larger than a page may be.
    """
    others = read_page(path) if path.exists() else "# Memory\n"
    before, after = _around(others)
    block = "\n".join([BEGIN, *own_lines(memories), END])
    text = "\n\n".join(part for part in (before.strip("\n"), block, after.strip("\n")) if part) + "\n"
    if not path.parent.is_dir():
        make_folder(path.parent)
    write_durably(path, text.encode())
    return text.count("\n")


def user_text(path: Path) -> str:
    """What the file holds beside Holdfast's part; nothing if there is no file.

    Raises:
        InvalidRequest, TooLarge: as above.
    """
    return "\n".join(_around(read_page(path))) if path.exists() else ""


def _around(text: str) -> tuple[str, str]:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if bool(begin) != bool(end) or BEGIN in rest or END in before + after:
        raise InvalidRequest(f"MEMORY.md: the marks {BEGIN} and {END} must stand once each, in this order")
    return before, after
