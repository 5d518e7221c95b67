"""Stored text inside a context block: it can say anything, but it cannot leave its line or its wrapper."""

from __future__ import annotations

import re

# Control characters, soft hyphens, joiners, direction marks, fillers and the tag letters that only models read.
_INVISIBLE = re.compile(
    "[\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a"
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U000e0000-\U000e0fff\ud800-\udfff]"
)
_SPACE = re.compile(r"\s+")  # NEL and the Unicode line and paragraph separators among them
_ODD_SPACE = re.compile(r"[^\S ]")

# What a model may take for a tag's bracket: the compatibility forms and the signs drawn like one.
_BRACKETS = str.maketrans(
    {
        "&": "&amp;",
        **dict.fromkeys("<\uff1c\ufe64\u2039\u3008\u2329\u27e8\u276c\u276e\u2770\u1438\u02c2\u29fc", "&lt;"),
        **dict.fromkeys(">\uff1e\ufe65\u203a\u3009\u232a\u27e9\u276d\u276f\u2771\u1433\u02c3\u29fd", "&gt;"),
    }
)


def line(text: str, limit: int = 500) -> str:
    """The text as one harmless line: no tags, no invisible characters, no line breaks, cut to the limit."""
    flat = _SPACE.sub(" ", _INVISIBLE.sub("", text)).strip()
    if len(flat) > limit:
        flat = flat[: limit - 1].rstrip() + "…"
    return escape(flat)


def block(text: str) -> str:
    """The text as indented lines: a heading or a list item in it stays inside its item."""
    lines = [escape(_ODD_SPACE.sub(" ", _INVISIBLE.sub("", one)).rstrip()) for one in text.splitlines()]
    return "\n".join(f"    {one}" for one in lines if one)


def escape(text: str) -> str:
    return text.translate(_BRACKETS)
