"""Blocks that the author marked as private: everything between <private> and </private>."""

from __future__ import annotations

import re2

from holdfast.redact.result import PRIVATE_MARK

# Also in the escaped forms that JSON and HTML writers give to angle brackets.
TAG = re2.compile(
    rb"(?i)(?:<|&lt;|\\+u003c)\s*(/?)\s*private(?:\s[^<>]*?)?\s*(/?)(?:>|&gt;|\\+u003e)",
)


def remove_private(data: bytes) -> tuple[bytes, int]:
    """The data with each private block replaced by the mark, and how many there were.

    Blocks may be nested; the outermost counts. One that is never closed reaches to the end: what its author
    wanted kept private must not be stored because a tag was lost.
    """
    if b"private" not in data.lower():
        return data, 0
    pieces: list[bytes] = []
    kept_to = depth = count = 0
    for tag in TAG.finditer(data):
        closing, empty = bool(tag.group(1)), bool(tag.group(2))
        if empty:
            continue
        if not closing:
            if depth == 0:
                pieces += [data[kept_to : tag.start()], PRIVATE_MARK.encode()]
                count += 1
            depth += 1
        elif depth:
            depth -= 1
            kept_to = tag.end()
    if not count:
        return data, 0
    return b"".join(pieces) + (b"" if depth else data[kept_to:]), count
