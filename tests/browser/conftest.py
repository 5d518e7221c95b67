"""A real browser before a real server. A test fails on any console error, page error or request to another host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


@pytest.fixture
def watched(browser: Browser) -> Iterator[Callable[..., tuple[Page, Watch]]]:
    """Makes pages that are watched; what went wrong on one fails the test."""
    watches: list[Watch] = []
    contexts = []

    def make(**options: Any) -> tuple[Page, Watch]:
        context = browser.new_context(**{"viewport": WIDE, "locale": "en-GB", "timezone_id": "UTC", **options})
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        watches.append(Watch(page))
        return page, watches[-1]

    yield make
    wrong = [line for watch in watches for line in watch.wrong]
    for context in contexts:
        for page in context.pages:
            # A request that a test answers itself may still be under way; closing its page is no error.
            page.unroute_all(behavior="ignoreErrors")
        context.close()
    assert wrong == []


@pytest.fixture
def page(watched: Callable[..., tuple[Page, Watch]]) -> Page:
    return watched()[0]


@pytest.fixture
def watch(watched: Callable[..., tuple[Page, Watch]]) -> Watch:
    """A page with its watch, for tests that provoke an error."""
    return watched()[1]
