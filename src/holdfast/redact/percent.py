"""Lines with the percent escapes of URLs decoded, and where each of their places is in the text as written.

A key written for a URL has %2B, %2F or %3D inside, which no format of a key knows.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

# Only characters that stand inside keys and between a name and its value: a decoded quote, blank or line end would
# join or split what the written text does not.
ESCAPE = re.compile(rb"%(2[1345BCDEFbcdef]|3[0-9ABDFabdf]|4[0-9A-Fa-f]|5[0-9AFaf]|6[1-9A-Fa-f]|7[0-9ACEace])")


class Unescaped(NamedTuple):
    data: bytes
    starts: list[int]  # where each piece between two escapes begins in `data`
    origins: list[int]  # and where it begins in the text as written

    def origin(self, place: int) -> int:
        """Where the byte at this place stands in the text as written."""
        piece = bisect_right(self.starts, place) - 1
        return self.origins[piece] + place - self.starts[piece]


def unescaped(data: bytes) -> Unescaped | None:
    """The lines of the data that have escapes, with these read; None where there are none."""
    if b"%" not in data:
        return None
    pieces: list[bytes] = []
    starts: list[int] = []
    origins: list[int] = []
    size = kept_to = line_end = 0

    def keep(start: int, end: int) -> None:
        nonlocal size
        starts.append(size)
        origins.append(start)
        pieces.append(data[start:end])
        size += end - start

    for match in ESCAPE.finditer(data):
        start, end = match.span()
        if start >= line_end:
            if starts:
                keep(kept_to, line_end)
            kept_to = data.rfind(b"\n", 0, start) + 1
            line_end = (data.find(b"\n", end) + 1) or len(data)
        keep(kept_to, start)
        starts.append(size)
        origins.append(start)
        pieces.append(bytes([int(match.group(1), 16)]))
        size, kept_to = size + 1, end
    if not pieces:
        return None
    keep(kept_to, line_end)
    return Unescaped(b"".join(pieces), starts, origins)
