"""The packages of frameworks lie in an environment of their own, which `make frameworks` has; without them nothing here
is collected."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from holdfast.client import Holdfast

collect_ignore_glob = [] if importlib.util.find_spec("langgraph") else ["test_*.py"]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holdfast]:
    """One memory for all tests of a file: each has users of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLDFAST_EMBEDDER", "none")
        with Holdfast(tmp_path_factory.mktemp("shared"), daemon=False) as made:
            yield made
