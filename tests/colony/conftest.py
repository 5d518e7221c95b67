"""Fixtures of the Colony tests: a vault in memory, and a server that speaks the vault API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from colony_server import Colony, running
from mem_vault import MemVault


@pytest.fixture
def vault() -> MemVault:
    return MemVault()


@pytest.fixture
def colony(monkeypatch: pytest.MonkeyPatch) -> Iterator[Colony]:
    # Tokens of one test must not be offered to the server of the next.
    monkeypatch.setenv("COLONY_SDK_NO_TOKEN_CACHE", "1")
    with running(Colony()) as made:
        yield made
