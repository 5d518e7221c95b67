"""Text as a reader sees it, escaped so that it cannot leave the place it is put in.

Stored text may hold anything. `visible` removes invisible characters; `escaped` writes the signs of tags as
entities, `field` those of lists and brackets too. Both can be read back exactly.
"""

from __future__ import annotations

import re

# Control characters, soft hyphens, joiners, direction marks, fillers, variation selectors, annotation signs, the
# tag letters that only models read, and halves of surrogate pairs. Line breaks and tabs are not among them.
INVISIBLE = re.compile(
    "[\u0000-\u0008\u000e-\u001b\u001f\u007f-\u0084\u0086-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a"
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U000e0000-\U000e0fff\ud800-\udfff]"
)
_SPACE = re.compile(r"\s+")

# What a model may take for the bracket of a tag: compatibility forms, and what is drawn like one.
LIKE_OPENING = "\uff1c\ufe64\u2039\u3008\u2329\u27e8\u276c\u276e\u2770\u1438\u02c2\u29fc"
LIKE_CLOSING = "\uff1e\ufe65\u203a\u3009\u232a\u27e9\u276d\u276f\u2771\u1433\u02c3\u29fd"
_COMPOSED = "\u226e\u226f"  # "not less" and "not greater": a bracket and a stroke once text is decomposed

_TAG_SIGNS = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        **{char: f"&#{ord(char)};" for char in LIKE_OPENING + LIKE_CLOSING + _COMPOSED},
    }
)
_FIELD_SIGNS = _TAG_SIGNS | str.maketrans({char: f"&#{ord(char)};" for char in "[]()|"})


def visible(text: str) -> str:
    """The text without anything invisible, every line break as one kind, nothing blank around it or at a line's end."""
    return "\n".join(INVISIBLE.sub("", line).rstrip() for line in text.splitlines()).strip()


def flat(text: str, limit: int) -> str:
    """The text as one visible line, cut to the limit."""
    line = _SPACE.sub(" ", visible(text))
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def escaped(text: str) -> str:
    """Visible text that opens and closes no tag."""
    return text.translate(_TAG_SIGNS)


def field(text: str, limit: int) -> str:
    """A short value that stays between its brackets: one line, without signs of tags, brackets or lists."""
    return flat(text, limit).translate(_FIELD_SIGNS)
