"""A real browser before a real server. A test fails on any console error, page error or request to another host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from filling import Filling, fill
from playwright.sync_api import Browser, Page, expect, sync_playwright
from processes import Server, serving
from viewing import CHROMIUM, FLAGS, PATIENCE_MS, WIDE, Watch

expect.set_options(timeout=PATIENCE_MS)


# Not for the whole session: while Playwright runs, no other test of the process can start an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server without a secret, shared by the tests of a file."""
    with serving(tmp_path_factory.mktemp("viewer") / "memory") as one:
        yield one


@pytest.fixture(scope="module")
def memory(server: Server) -> Iterator[Filling]:
    """A memory with something of every kind, shared by the tests of a file."""
    filling = Filling(server.url)
    fill(filling)
    yield filling
    filling.close()


def _page(browser: Browser, **options: Any) -> Page:
    context = browser.new_context(**{"viewport": WIDE, "locale": "en-GB", "timezone_id": "UTC", **options})
    context.set_default_timeout(PATIENCE_MS)
    return context.new_page()


@pytest.fixture
def served() -> Iterator[Callable[..., Server]]:
    """Starts servers for one test. They end after its pages are closed: a page that loses its server says so."""
    with ExitStack() as servers:
        yield lambda *args, **environ: servers.enter_context(serving(*args, **environ))


@pytest.fixture
def watched(browser: Browser, served: Callable[..., Server]) -> Iterator[Callable[..., tuple[Page, Watch]]]:
    """Makes pages that are watched; what went wrong on one fails the test."""
    watches: list[Watch] = []

    def make(**options: Any) -> tuple[Page, Watch]:
        watches.append(Watch(_page(browser, **options)))
        return watches[-1].page, watches[-1]

    yield make
    for watch in watches:
        for page in watch.page.context.pages:
            # A request that a test answers itself may still be under way; closing its page is no error.
            page.unroute_all(behavior="ignoreErrors")
        watch.page.context.close()
    assert [line for watch in watches for line in watch.wrong] == []


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """A page for the tests of a file that says ONE_TAB: a new one takes as much processor time as most of them."""
    page = _page(browser)
    yield page
    page.context.close()


@pytest.fixture
def watch(request: pytest.FixtureRequest, served: Callable[..., Server]) -> Iterator[Watch]:
    """A page with its watch, for tests that provoke an error. It is new, or is as if it were."""
    if not getattr(request.module, "ONE_TAB", False):
        yield request.getfixturevalue("watched")()[1]
        return
    watch = Watch(request.getfixturevalue("tab"))
    yield watch
    watch.leave()
    assert watch.wrong == []


@pytest.fixture
def page(watch: Watch) -> Page:
    return watch.page
