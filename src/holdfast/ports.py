"""Small protocols that the outside fulfils. Their comments are the contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.model import CleanText, Event

Vectors = NDArray[np.float32]


class Clock(Protocol):
    def now_ms(self) -> int:
        """Milliseconds since 1970 UTC; may jump either way."""
        ...

    def steady(self) -> float:
        """Seconds that never run backwards; only differences mean anything."""
        ...


class Entropy(Protocol):
    def hex(self, chars: int) -> str:
        """That many unpredictable hexadecimal characters."""
        ...


class Publisher(Protocol):
    def publish(self, event: Event) -> None:
        """Take a committed event. Must return at once and never raise; slow readers are its own concern."""
        ...


class Summarizer(Protocol):
    """A language model that answers one prompt."""

    @property
    def name(self) -> str:
        """Provider and model, for provenance."""
        ...

    def complete(self, instruction: CleanText, text: CleanText, *, max_tokens: int) -> str:
        """The model's answer as text.

        Raises:
            UpstreamFailed: no usable answer in time, or the budget is spent.
        """
        ...


class Embedder(Protocol):
    """A model that turns text into vectors; near in meaning is near in angle."""

    @property
    def name(self) -> str:
        """Which model, exactly: vectors of different names are never compared."""
        ...

    @property
    def dims(self) -> int:
        """Numbers in each vector."""
        ...

    def prepare(self) -> None:
        """Do what takes long before the first use: find, fetch and load a local model. Called in the background.

        Raises:
            EmbedderUnavailable: the model cannot be had; it may be asked again, which costs little.
        """
        ...

    def embed(self, texts: Sequence[CleanText]) -> Vectors:
        """One row of length 1 for each text. An empty text gets a row too.

        Raises:
            EmbedderUnavailable: as above.
            UpstreamFailed: a remote model gave no usable answer; try again later.
        """
        ...

    def embed_query(self, text: CleanText) -> Vectors:
        """The vector of one question, as fast as can be.

        Raises:
            EmbedderUnavailable, UpstreamFailed: as above; search goes by words then.
        """
        ...
