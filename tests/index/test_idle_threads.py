"""Threads of the lowest priority: they do the work, unless the machine leaves them no time for it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator

import pytest
from patience import WAIT_SECONDS

from holdfast.core.system import LOWEST
from holdfast.index import idle_threads
from holdfast.index.idle_threads import IdleThreads


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_threads, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(idle_threads, "PATIENCE_EACH", 0.0)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However loaded the machine is on which this is tested."""
    monkeypatch.setattr(idle_threads, "PATIENCE_SECONDS", float(WAIT_SECONDS))


@pytest.fixture
def starved() -> Iterator[IdleThreads]:
    """Its one thread gets nothing done until the test is over."""
    one, inside, go_on = IdleThreads(1), threading.Event(), threading.Event()

    def stand() -> None:
        inside.set()
        go_on.wait(WAIT_SECONDS)

    one._pool.submit(stand)
    assert inside.wait(WAIT_SECONDS)
    yield one
    go_on.set()


@pytest.mark.usefixtures("patient")
@pytest.mark.skipif(sys.platform != "linux", reason="niceness by thread")
def test_the_work_is_done_at_the_lowest_priority() -> None:
    nice = IdleThreads(2).map(lambda _: os.getpriority(os.PRIO_PROCESS, threading.get_native_id()), range(5))

    assert set(nice) == {LOWEST}


@pytest.mark.usefixtures("patient")
def test_results_come_in_the_order_of_the_items() -> None:
    assert IdleThreads(3).map(lambda item: item * 2, range(50)) == list(range(0, 100, 2))


@pytest.mark.usefixtures("impatient")
def test_what_starved_threads_have_not_done_is_done_by_the_caller(starved: IdleThreads) -> None:
    by = starved.map(lambda item: (item, threading.get_ident()), range(3))

    assert by == [(item, threading.get_ident()) for item in range(3)]


@pytest.mark.usefixtures("impatient")
def test_an_item_that_a_starved_thread_has_begun_is_done_by_the_caller_too() -> None:
    go_on, caller = threading.Event(), threading.get_ident()

    def work(item: str) -> str:
        if threading.get_ident() != caller:
            go_on.wait(WAIT_SECONDS)
        return item.upper()

    assert IdleThreads(1).map(work, ["begun", "not begun"]) == ["BEGUN", "NOT BEGUN"]
    go_on.set()


@pytest.mark.usefixtures("impatient")
def test_an_error_is_raised_whoever_does_the_work(starved: IdleThreads) -> None:
    def fail(_: int) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        starved.map(fail, [1])
    with pytest.raises(ValueError, match="no"):
        IdleThreads(1).map(fail, [1])
