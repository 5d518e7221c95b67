"""Threads that work when nothing else wants the processor."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import get_native_id
from typing import TypeVar

LOWEST = 19

Item = TypeVar("Item")
Result = TypeVar("Result")


class Background:
    """As many threads as processors, at the lowest priority. They start with the first work."""

    def __init__(self, threads: int | None = None):
        self._pool = ThreadPoolExecutor(threads or _processors(), "embed", initializer=_step_back)

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The result for each item, in order.

        Raises:
            Whatever `work` raises.
        """
        return list(self._pool.map(work, items))


def _processors() -> int:
    """Those this process may use; a container may leave it fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _step_back() -> None:
    """Give way to every other thread of this machine, also of this process: Linux counts niceness by thread."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, get_native_id(), LOWEST)
