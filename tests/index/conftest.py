from __future__ import annotations

from pathlib import Path

import pytest
from plain_bert import PlainBert, read

from holdfast.core.system import SystemClock
from holdfast.index import MINILM, LocalEmbedder, WeightFolders
from holdfast.index.onnx_session import Session
from holdfast.index.weight_sources import WeightFiles

NOWHERE = Path("/nowhere/at/all")


@pytest.fixture(scope="session")
def files() -> WeightFiles:
    """The installed weights; `make test` installs them."""
    return WeightFolders(MINILM, "", NOWHERE).find()


@pytest.fixture(scope="session")
def session(files: WeightFiles) -> Session:
    return Session(MINILM, files.folder)


@pytest.fixture(scope="session")
def minilm() -> LocalEmbedder:
    return LocalEmbedder(WeightFolders(MINILM, "", NOWHERE), SystemClock())


@pytest.fixture(scope="session")
def plain(files: WeightFiles) -> PlainBert:
    return PlainBert(read(files.weights))
