"""How near two texts are on one scale, whatever model made their vectors. Pure.

All that reads a likeness compares it with constants that were chosen with MiniLM. Other models crowd their vectors in a
corner: any two texts have a cosine of .75 to .85 in gte-small. So its cosine is stretched, and moved to where MiniLM
has it. Vectors are stored so that their product with a question's vector is that likeness already; stores, which know
nothing of it, then need no change.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from holdfast.core.ports import Vectors

# What is left of a vector of gte-small without the centre is 0.48 long, and hardly ever longer than 0.75. Stretched,
# and with the constant that a question's own part is multiplied with, it stays below 1.
STRETCH, CONSTANT = 1.2, 0.25
MORE = 2  # numbers of a stored vector beside those of the model: the constant, and what brings its length to 1


@dataclass(frozen=True, slots=True)
class LikenessScale:
    """likeness = factor * (cosine - zero).

    `centre` is what the vectors of all texts have in common. It is taken away from stored ones, as the codes of the
    store keep four bits of a number around zero: of the true ten nearest of 15,000, the 50 nearest by code held .969
    with it and .9997 without. Products with a question's whole vector stay in the same order.
    """

    factor: float
    zero: float
    centre: Path

    def stored(self, vectors: Vectors) -> Vectors:
        """Vectors of length 1 as they are stored: MORE numbers, and of length 1 again."""
        rows = (vectors - _centre(self.centre)) * np.float32(STRETCH)
        constant = np.full((len(rows), 1), CONSTANT, np.float32)
        rest = np.sqrt(np.maximum(0, 1 - CONSTANT**2 - (rows * rows).sum(axis=1, keepdims=True))).astype(np.float32)
        return np.concatenate([rows, constant, rest], axis=1)

    def question(self, vector: Vectors) -> Vectors:
        """The vector of length 1 of a question, as one whose product with a stored one is their likeness."""
        common = self.factor * (float(_centre(self.centre) @ vector) - self.zero)
        own = vector * np.float32(self.factor / STRETCH)
        return np.concatenate([own, np.array([common / CONSTANT, 0], np.float32)])

    def likeness(self, one: Vectors, rows: Vectors) -> Vectors:
        """How near a stored vector is to each of others."""
        own, others = (stored[..., :-MORE] / np.float32(STRETCH) + _centre(self.centre) for stored in (one, rows))
        return np.asarray(self.factor * (others @ own - self.zero), np.float32)


@cache
def _centre(path: Path) -> Vectors:
    numbers = np.array(json.loads(path.read_text(encoding="utf-8")), np.float32)
    numbers.flags.writeable = False
    return numbers
