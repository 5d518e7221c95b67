"""Small protocols that the outside fulfils. Their comments are the contract."""

from __future__ import annotations

from typing import Protocol

from holdfast.model import CleanText, Event


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
