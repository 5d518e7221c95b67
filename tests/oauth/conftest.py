"""One server with OAuth for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from oauth_steps import OAUTH, MovedClock, RemoteClient
from patience import WAIT_SECONDS
from world import running_server

from holdfast.serve.run import RunningServer


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, str]]:
    with running_server(tmp_path_factory.mktemp("remote") / "m", **OAUTH) as (server, url):
        yield server, url


@pytest.fixture
def clock(served: tuple[RunningServer, str]) -> Iterator[MovedClock]:
    """The server's, which each test finds a day later: what strangers may do at once is theirs again."""
    engine = served[0].engine
    made = MovedClock()
    made.moved_ms = engine.clock.now_ms() - made.now_ms() + 86_400_000
    engine.clock = made
    oauth = served[0].app.oauth
    assert oauth is not None
    oauth.strangers.clock = made
    return made


@pytest.fixture
def http(served: tuple[RunningServer, str], clock: MovedClock) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served[1], timeout=WAIT_SECONDS, trust_env=False) as client:
        yield client


@pytest.fixture
def claude(http: httpx.Client) -> RemoteClient:
    return RemoteClient(http)
