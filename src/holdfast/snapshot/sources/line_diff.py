"""How many lines were added and removed between two texts, in bounded time for any input."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

# Edits up to which the exact number is looked for; the work grows with lines times edits.
EDITS = 1_000


@dataclass(frozen=True, slots=True)
class LineCounts:
    """Lines added and removed; a lower bound if it is not exact."""

    added: int
    removed: int
    exact: bool = True


def count_lines(before: bytes, after: bytes) -> LineCounts | None:
    """The smallest number of lines to add and remove; None if one of them is no text."""
    if b"\0" in before or b"\0" in after:
        return None
    old, new = _trimmed(before.splitlines(keepends=True), after.splitlines(keepends=True))
    edits = _edits(old, new)
    if edits is None:
        gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
        return LineCounts(come.total(), gone.total(), exact=False)
    grown = len(new) - len(old)
    return LineCounts((edits + grown) // 2, (edits - grown) // 2)


def _trimmed(old: list[bytes], new: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Both without the lines that they begin and end with alike."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return old[start : len(old) - end], new[start : len(new) - end]


def _edits(old: list[bytes], new: list[bytes]) -> int | None:
    """The length of the shortest way from one to the other (Myers 1986); None if it is longer than EDITS.

    `furthest[k]` is how many old lines the best way so far has behind it when it took k more of the old than of the
    new ones.
    """
    if abs(len(old) - len(new)) > EDITS:
        return len(old) + len(new) if not old or not new else None
    furthest = {1: 0}
    for edits in range(min(len(old) + len(new), EDITS) + 1):
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and furthest[k - 1] < furthest[k + 1])
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            while x < len(old) and 0 <= x - k < len(new) and old[x] == new[x - k]:
                x += 1
            furthest[k] = x
            if x >= len(old) and x - k >= len(new):
                return edits
    return None
