from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from real_clients import Holdfast, Start, TapOn, require_clients
from wiretap import Wiretap


@pytest.fixture(scope="session", autouse=True)
def clients() -> None:
    require_clients()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home folder for a client."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start servers with settings of their own."""
    with ExitStack() as stack:

        def make(**overrides: object) -> Holdfast:
            return stack.enter_context(closing(Holdfast(tmp_path, **overrides)))

        yield make


@pytest.fixture
def server(start: Start) -> Holdfast:
    return start()


@pytest.fixture
def tap_on(tmp_path: Path) -> Iterator[TapOn]:
    """Listen in on the way to a server."""
    with ExitStack() as stack:
        yield lambda server: stack.enter_context(closing(Wiretap(server.url)))


@pytest.fixture
def tap(server: Holdfast, tap_on: TapOn) -> Wiretap:
    return tap_on(server)
