"""Counting calls of operations, the same way on every surface."""

from __future__ import annotations

from types import TracebackType

from holdfast.core.errors import Fault
from holdfast.core.metrics import Metrics

_CLASSES = {number: f"{number}xx" for number in range(1, 6)}


class counted:
    """A block that is counted with the operation's name and the class of status it ends with."""

    __slots__ = ("_metrics", "_name")

    def __init__(self, metrics: Metrics, name: str):
        self._metrics = metrics
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        status = 200 if error is None else error.http_status if isinstance(error, Fault) else 500
        self._metrics.count("holdfast_requests_total", operation=self._name, status=_CLASSES[status // 100])
