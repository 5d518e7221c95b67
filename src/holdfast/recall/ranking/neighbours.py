"""What stands beside a record in its session, and how much of it counts for the record.

A short turn ("Yes, last Friday!") means little without the turns around it; a long message needs none. So
nearness is counted in words, not in turns: what borrows a lot is short and has short neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

REACH = 3  # turns either way
FADE_WORDS = 60.0  # between the middles of two turns; what is this far away counts 1/e
FADE_TURN = 0.6  # at most this much for each turn between
LATER = 0.7  # what follows a turn explains it less than what led to it
REPLY = 1.5  # a turn right after a question answers it: the question's words are its subject
ASKS = 0.3  # share of a turn's words that must be a question for it to be one


@dataclass(frozen=True, slots=True)
class NeighbourPairs:
    """Pairs of rows: `of` borrows `share` of what `beside` has. Each array holds one direction and distance."""

    of: tuple[slice, ...]
    beside: tuple[slice, ...]
    share: tuple[Floats, ...]

    def strongest(self, values: Floats) -> Floats:
        """Each row's own value, or a neighbour's share if that is larger; column by column."""
        best = values.copy()
        for of, beside, share in zip(self.of, self.beside, self.share, strict=True):
            np.maximum(best[of], values[beside] * share[:, None], out=best[of])
        return best

    def sums(self, values: Floats) -> Floats:
        """Each row's own value plus its neighbours' shares."""
        total = values.copy()
        for of, beside, share in zip(self.of, self.beside, self.share, strict=True):
            total[of] += values[beside] * share
        return total


def neighbours(sessions: Sequence[str | None], lengths: Floats, asking: Floats) -> NeighbourPairs:
    """The neighbours of rows that are in the order of their sessions and, within one, of time."""
    if not any(sessions):
        return NeighbourPairs((), (), ())
    codes = _codes(sessions)
    middle = np.cumsum(lengths) - lengths / 2
    of: list[slice] = []
    beside: list[slice] = []
    shares: list[Floats] = []
    for step in range(1, min(REACH, len(codes) - 1) + 1):
        earlier, later = slice(0, -step), slice(step, None)
        apart = middle[later] - middle[earlier]
        share = np.minimum(np.exp(-apart / FADE_WORDS), FADE_TURN**step)
        share[(codes[earlier] != codes[later]) | (codes[earlier] < 0)] = 0.0
        of += [later, earlier]
        beside += [earlier, later]
        replied = share * np.where(asking[earlier] > ASKS, REPLY, 1.0) if step == 1 else share
        shares += [replied, share * LATER]
    return NeighbourPairs(tuple(of), tuple(beside), tuple(shares))


def _codes(sessions: Sequence[str | None]) -> Places:
    """A number for each session; below zero: none."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) if name else -1 for name in sessions], np.intp)
