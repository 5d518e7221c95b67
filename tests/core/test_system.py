"""Threads of low priority: they let others go first, and never ask for more than they were given."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.core.system import LOW, LOWEST, lower_priority

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="threads have a priority of their own on Linux only")


def niceness(*steps: int) -> int:
    """Of a new thread that took these steps."""

    def work() -> int:
        for step in steps:
            lower_priority(step)
        return os.getpriority(os.PRIO_PROCESS, 0)

    with ThreadPoolExecutor(1) as one:
        return one.submit(work).result()


def test_only_the_calling_thread_lets_others_go_first() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert niceness(LOWEST) == LOWEST
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_a_priority_that_is_low_already_is_not_raised() -> None:
    """That would take a privilege, and a snapshot of a server that was started with nice would fail."""
    assert niceness(LOWEST, LOW) == LOWEST
