"""One S3 server for all tests of vaults."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from object_server import ObjectServer


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectServer]:
    server = ObjectServer(tmp_path_factory.mktemp("objects"))
    try:
        yield server.start()
    finally:
        server.stop()
