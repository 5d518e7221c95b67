"""Threads that run when the processor is idle, and a bound for how long they may get no time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from holdfast.core.system import LOWEST, lower_priority

# On a machine that is busy for long, threads of the lowest priority get next to no time: a percent each. What they have
# not done by then, the caller does at its own priority. A batch of texts takes some 80 ms of a processor that is free.
PATIENCE_SECONDS, PATIENCE_EACH = 0.3, 0.1

Item = TypeVar("Item")
Result = TypeVar("Result")


class IdleThreads:
    """As many threads as processors, at the lowest priority. They start with the first work."""

    def __init__(self, threads: int | None = None):
        self._pool = ThreadPoolExecutor(threads or _processors(), "embed", lower_priority, (LOWEST,))

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """The result for each item, in order. One may be worked on twice, so `work` must change nothing.

        Raises:
            Whatever `work` raises.
        """
        begun = [(self._pool.submit(work, item), item) for item in items]
        wait([future for future, _ in begun], PATIENCE_SECONDS + PATIENCE_EACH * len(begun))
        return [_result(future, work, item) for future, item in begun]


def _result(future: Future[Result], work: Callable[[Item], Result], item: Item) -> Result:
    """The thread's result. If it is not ready: no priority is raised, as that takes a privilege; the caller does
    the work, and a later result of the thread is dropped."""
    if future.done():
        return future.result()
    future.cancel()
    return work(item)


def _processors() -> int:
    """Processors this process may use; a container may allow fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
