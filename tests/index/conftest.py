from __future__ import annotations

from pathlib import Path

import pytest
from plain_bert import PlainBert

from holdfast.core.system import SystemClock
from holdfast.index import MiniLm, Places
from holdfast.index.onnx_session import Session
from holdfast.index.weight_sources import Files

NOWHERE = Path("/nowhere/at/all")


@pytest.fixture(scope="session")
def files() -> Files:
    """The installed weights; `make test` installs them."""
    return Places("", NOWHERE).find()


@pytest.fixture(scope="session")
def session(files: Files) -> Session:
    return Session(files)


@pytest.fixture(scope="session")
def minilm() -> MiniLm:
    return MiniLm(Places("", NOWHERE), SystemClock())


@pytest.fixture(scope="session")
def plain(files: Files) -> PlainBert:
    return PlainBert(files.weights)
