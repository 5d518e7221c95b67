"""What is begun in a block and must not stay when the block fails."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType


class OnFailure:
    """Around a block: if it fails, whatever the reason, the function is called, and the exception propagates."""

    def __init__(self, undo: Callable[..., object], *given: object, **named: object):
        self._undo, self._given, self._named = undo, given, named

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._undo(*self._given, **self._named)
