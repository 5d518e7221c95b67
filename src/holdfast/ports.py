"""Small protocols that the outside fulfils. Their comments are the contract."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Protocol

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


@dataclass(frozen=True, slots=True)
class Named:
    """Bytes in a vault: their name and size."""

    name: str
    size: int


class Vault(Protocol):
    """Named bytes elsewhere. Names are relative paths of safe characters with `/` between their parts.

    A failing network or disk is a fault of its own, never "not found".
    """

    @property
    def place(self) -> str:
        """Where it is, without credentials: for messages, and as the key of what was seen there."""
        ...

    def put(self, name: str, data: BinaryIO) -> None:
        """Store the bytes whole or not at all, durable when it returns.

        Raises:
            Conflict: the name exists already; it is never overwritten.
            StorageFull, StorageFailed, UpstreamFailed: it could not be stored.
        """
        ...

    def open(self, name: str) -> BinaryIO:
        """The bytes, to be read and closed.

        Raises:
            NotFound: there are none of that name.
        """
        ...

    def list(self, prefix: str = "") -> Iterator[Named]:
        """What lies under the prefix, in the order of names."""
        ...

    def delete(self, name: str) -> None:
        """Remove the bytes; gone already is no fault."""
        ...
