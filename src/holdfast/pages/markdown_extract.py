"""A shorter Markdown text made of the longer one's own sentences. Pure.

Headings, code, tables, links and first sentences stay; what only explains further goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^\s*(```+|~~~+)")
_STARTS = re.compile(r"^\s*(#{1,6}\s|[-*+]\s|\d+[.)]\s|>|\||<|$|\[[^\]]+\]:|(?:---|\*\*\*|___)\s*$|\s{4,}\S)")
_ALONE = re.compile(r"^\s*(#{1,6}\s.*|)$")
_ITEM = re.compile(r"^(\s*(?:[-*+]|\d+[.)])\s+)(.*)$", re.DOTALL)
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9`*\"'(\[])")
# What a sentence must not be left out with: a link, code, a number, a rule, or what is set in bold.
_RULES = "must|never|always|only|not|don't|required?|except|unless"
_TELLING = re.compile(rf"://|`|\d|\*\*|\]\(|\b(?:{_RULES})\b", re.IGNORECASE)


def shortened(markdown: str) -> str:
    """The text with the sentences left out that only explain; repeated paragraphs stand once."""
    seen: set[str] = set()
    kept: list[str] = []
    for block in _blocks(markdown.splitlines()):
        short = block if _is_whole(block) else _short(block)
        if _is_prose(short) and short in seen:
            continue
        seen.add(short)
        kept.append(short)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")
    return f"{text}\n" if text else ""


def _blocks(lines: list[str]) -> Iterator[str]:
    """Fenced code and front matter as they are; paragraphs and list items with the lines that go on with them."""
    held: list[str] = []
    fence = ""
    front = bool(lines) and lines[0].strip() == "---" and "---" in (line.strip() for line in lines[1:])
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if front or fence:
            held.append(line)
            ends = front and number > 0 and line.strip() == "---"
            if ends or (fence and mark and line.strip().startswith(fence)):
                yield "\n".join(held)
                held, fence, front = [], "", False
            continue
        if held and (mark or _STARTS.match(line) or _ALONE.match(held[-1])):
            yield "\n".join(held)
            held = []
        if mark:
            fence = mark.group(1)
        held.append(line)
    if held:
        yield "\n".join(held)


def _is_whole(block: str) -> bool:
    """Whether it is code, a heading, a table, a quotation or the like, of which nothing is left out."""
    first = block.split("\n", 1)[0]
    return bool(_FENCE.match(first) or first.strip() == "---" or (_STARTS.match(first) and not _ITEM.match(first)))


def _is_prose(block: str) -> bool:
    return len(block) > 40 and not _is_whole(block)


def _short(block: str) -> str:
    item = _ITEM.match(block)
    mark, text = (item.group(1), item.group(2)) if item else ("", block)
    first, *rest = _END.split(text)
    told = [one for one in rest if _TELLING.search(one)]
    return mark + " ".join([first, *told]) if len(told) < len(rest) else block
