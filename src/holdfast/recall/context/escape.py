"""Stored text inside a context block: it can hold anything, but it cannot leave its line or its wrapper."""

from __future__ import annotations

import re

from holdfast.protocol.visible import INVISIBLE, LIKE_CLOSING, LIKE_OPENING

_SPACE = re.compile(r"\s+")  # NEL and the Unicode line and paragraph separators among them
_ODD_SPACE = re.compile(r"[^\S ]")

_BRACKETS = str.maketrans(
    {
        "&": "&amp;",
        **dict.fromkeys("<" + LIKE_OPENING, "&lt;"),
        **dict.fromkeys(">" + LIKE_CLOSING, "&gt;"),
    }
)


def line(text: str, limit: int = 500) -> str:
    """The text as one harmless line: no tags, no invisible characters, no line breaks, cut to the limit."""
    flat = _SPACE.sub(" ", INVISIBLE.sub("", text)).strip()
    if len(flat) > limit:
        flat = flat[: limit - 1].rstrip() + "…"
    return escape(flat)


def block(text: str) -> str:
    """The text as indented lines: a heading or a list item in it stays inside its item."""
    lines = [escape(_ODD_SPACE.sub(" ", INVISIBLE.sub("", one)).rstrip()) for one in text.splitlines()]
    return "\n".join(f"    {one}" for one in lines if one)


def escape(text: str) -> str:
    return text.translate(_BRACKETS)
