"""Where the files of the model may lie: a path of the operator's, an installed package, what was downloaded before.

This only finds files; whether they are the pinned ones is checked where they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from holdfast.core.disk import user_path
from holdfast.core.errors import EmbedderUnavailable, UpstreamFailed
from holdfast.index.remedies import PACKAGES, correct_path, install_weights
from holdfast.index.weights import PINNED, TOKENIZER, WEIGHTS

# Brings one pinned file (name, size) to a path, or raises UpstreamFailed.
Fetch = Callable[[str, int, Path], None]


@dataclass(frozen=True, slots=True)
class WeightFiles:
    """The two files, side by side."""

    folder: Path
    downloaded: bool = False
    given: bool = False  # at the operator's path

    @property
    def weights(self) -> Path:
        return self.folder / WEIGHTS.name

    @property
    def tokenizer(self) -> Path:
        return self.folder / TOKENIZER.name

    def discard(self) -> None:
        """Remove what was downloaded, so that it is fetched again. Never touches what others put there."""
        if self.downloaded:
            self.weights.unlink(missing_ok=True)
            self.tokenizer.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class WeightFolders:
    """All places, in the order in which they are searched."""

    given: str  # HOLDFAST_EMBEDDER_PATH: a folder, or the weights themselves
    downloads: Path
    fetch: Fetch | None = None

    def find(self) -> WeightFiles:
        """The files on this machine.

        Raises:
            EmbedderUnavailable: they are nowhere, or not at the operator's path.
        """
        if self.given:
            return _given(user_path(self.given, "HOLDFAST_EMBEDDER_PATH", EmbedderUnavailable))
        if folder := _installed():
            return WeightFiles(folder)
        if _has_both(self.downloads):
            return WeightFiles(self.downloads, downloaded=True)
        raise EmbedderUnavailable("minilm: the weights are not installed", hint=f"{install_weights()}.")

    def obtain(self) -> WeightFiles:
        """The files, fetched if they are not on this machine.

        Raises:
            EmbedderUnavailable: as above, or they could not be fetched.
        """
        try:
            return self.find()
        except EmbedderUnavailable:
            if self.given or self.fetch is None:
                raise
        try:
            for pinned in PINNED:
                self.fetch(pinned.name, pinned.size, self.downloads / pinned.name)
        except UpstreamFailed as failed:
            raise EmbedderUnavailable(
                f"minilm: the weights are not installed; {failed.message}", hint=f"{install_weights()}."
            ) from failed
        return WeightFiles(self.downloads, downloaded=True)


def _given(path: Path) -> WeightFiles:
    folder = path if path.is_dir() else path.parent
    if path.is_file() and path.name != WEIGHTS.name:
        raise EmbedderUnavailable(
            f"minilm: HOLDFAST_EMBEDDER_PATH names {path.name}, which is not {WEIGHTS.name}", hint=correct_path()
        )
    if not _has_both(folder):
        raise EmbedderUnavailable(
            f"minilm: HOLDFAST_EMBEDDER_PATH has no {WEIGHTS.name} and {TOKENIZER.name} side by side",
            hint=correct_path(),
        )
    return WeightFiles(folder, given=True)


def _installed() -> Path | None:
    """The folder of the first known package that holds both files."""
    for package in PACKAGES:
        try:
            listed = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            continue
        for file in listed:
            folder = Path(str(file.locate())).parent
            if file.name == WEIGHTS.name and _has_both(folder):
                return folder
    return None


def _has_both(folder: Path) -> bool:
    return all((folder / pinned.name).is_file() for pinned in PINNED)
