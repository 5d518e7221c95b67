"""An embedder whose vectors follow from the words alone: texts that share words are near, equal texts are equal."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence

import numpy as np

from holdfast.core.errors import Fault, UpstreamFailed
from holdfast.core.model import CleanText
from holdfast.core.ports import Vectors

BREAK = "\n---\n"  # between parts that are read on their own


class HashingEmbedder:
    """Fulfils `ports.Embedder`. Notes what it was given, and can be made to fail."""

    def __init__(self, name: str = "words-1", dims: int = 96):
        self._name, self._dims = name, dims
        self.given: list[str] = []
        self.refuse: Callable[[Sequence[str]], bool] = lambda texts: False
        self.before: Callable[[], None] = lambda: None  # runs while the texts are being embedded
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    @property
    def dims(self) -> int:
        return self._dims

    def parts(self, texts: Sequence[CleanText]) -> list[list[CleanText]]:
        return [[CleanText(part) for part in text.split(BREAK)] for text in texts]

    def embed(self, texts: Sequence[CleanText]) -> Vectors:
        self.before()
        if self.refuse(texts):
            raise UpstreamFailed("embedder: no answer")
        with self._lock:
            self.given.extend(texts)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: CleanText) -> Vectors:
        words = text.lower().split()
        numbers = np.sum([self._word(word) for word in words], axis=0) if words else np.ones(self._dims)
        return (numbers / np.linalg.norm(numbers)).astype(np.float32)

    def likeness(self, one: Vectors, rows: Vectors) -> Vectors:
        return rows @ one

    def fault(self) -> Fault | None:
        return None

    def reads(self, text: str) -> float:
        return 1.0

    def _word(self, word: str) -> Vectors:
        seed = hashlib.sha256(f"{self._name} {word}".encode()).digest()
        return np.random.default_rng(list(seed)).standard_normal(self._dims).astype(np.float32)
