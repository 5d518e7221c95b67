"""Vectors of statements by their text, kept between steps of learning.

Every new statement is compared with the same older ones of its project. bench/learning.py: one more turn beside 256
statements takes 0.18 s of processor time, and 2.8 s if the older ones are embedded again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from holdfast.core.errors import EmbedderUnavailable, UpstreamFailed
from holdfast.core.model import CleanText
from holdfast.core.ports import Embedder, Vectors

MOST = 8_000  # 12 MB; a project's statements as they are and without their values, of two or three projects


class TextVectors:
    """For one thread."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], Vectors] = OrderedDict()

    def of(self, embedder: Embedder | None, texts: Sequence[str]) -> list[Vectors] | None:
        """The vectors of texts; None if there is no embedder, or it fails."""
        if embedder is None:
            return None
        keys = [(embedder.name, text) for text in texts]
        missing = [key for key in dict.fromkeys(keys) if key not in self._kept]
        try:
            made = embedder.embed([CleanText(text) for _, text in missing]) if missing else np.zeros((0, 1))
        except (EmbedderUnavailable, UpstreamFailed):
            return None
        self._kept.update(zip(missing, made, strict=True))
        found = [self._kept[key] for key in keys]
        for key in keys:
            self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return found
