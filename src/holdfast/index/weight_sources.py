"""Where the files of the model may lie: a path of the operator's, an installed package, what was downloaded before.

This only finds files; whether they are the pinned ones is checked where they are read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from holdfast.core.disk import user_path
from holdfast.core.errors import EmbedderUnavailable, UpstreamFailed
from holdfast.index.local_models import LocalModel
from holdfast.index.remedies import correct_path, file_names, install_weights

# Brings one pinned file (its path at the hub, its size) to a path, or raises UpstreamFailed.
Fetch = Callable[[str, int, Path], None]


@dataclass(frozen=True, slots=True)
class WeightFiles:
    """The files of a model, side by side."""

    model: LocalModel
    folder: Path
    downloaded: bool = False
    given: bool = False  # at the operator's path

    @property
    def weights(self) -> Path:
        return self.folder / self.model.weights.name

    def discard(self) -> None:
        """Remove what was downloaded, so that it is fetched again. Never touches what others put there."""
        if self.downloaded:
            for pinned in self.model.files:
                (self.folder / pinned.name).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class WeightFolders:
    """All places, in the order in which they are searched."""

    model: LocalModel
    given: str  # the setting of its path: a folder, or the weights themselves
    downloads: Path
    fetch: Fetch | None = None

    def find(self) -> WeightFiles:
        """The files on this machine.

        Raises:
            EmbedderUnavailable: they are nowhere, or not at the operator's path.
        """
        if self.given:
            return _given(self.model, user_path(self.given, self.model.setting, EmbedderUnavailable))
        if folder := _installed(self.model):
            return WeightFiles(self.model, folder)
        if _has_all(self.model, self.downloads):
            return WeightFiles(self.model, self.downloads, downloaded=True)
        raise EmbedderUnavailable(
            f"{self.model.key}: the weights are not installed", hint=f"{install_weights(self.model)}."
        )

    def are_here(self) -> bool:
        """Whether the files are on this machine."""
        try:
            self.find()
        except EmbedderUnavailable:
            return False
        return True

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
            for pinned in self.model.files:
                self.fetch(pinned.remote, pinned.size, self.downloads / pinned.name)
        except UpstreamFailed as failed:
            raise EmbedderUnavailable(
                f"{self.model.key}: the weights are not installed; {failed.message}",
                hint=f"{install_weights(self.model)}.",
            ) from failed
        return WeightFiles(self.model, self.downloads, downloaded=True)


def _given(model: LocalModel, path: Path) -> WeightFiles:
    folder = path if path.is_dir() else path.parent
    if path.is_file() and path.name != model.weights.name:
        raise EmbedderUnavailable(
            f"{model.key}: {model.setting} names {path.name}, which is not {model.weights.name}",
            hint=correct_path(model),
        )
    if not _has_all(model, folder):
        raise EmbedderUnavailable(
            f"{model.key}: {model.setting} has no {file_names(model, ' side by side')}",
            hint=correct_path(model),
        )
    return WeightFiles(model, folder, given=True)


def installed_folder(model: LocalModel) -> Path:
    """Where weights that are no package lie in this environment: npm_weights.py puts them there."""
    return Path(sys.prefix) / "share" / "holdfast" / model.downloads


def _installed(model: LocalModel) -> Path | None:
    """The folder of the first known package that holds its files, or that of this environment."""
    for package in model.packages:
        try:
            listed = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            continue
        for file in listed:
            folder = Path(str(file.locate())).parent
            is_own = model.inside in ("", folder.name)
            if is_own and file.name == model.weights.name and _has_all(model, folder):
                return folder
    return installed_folder(model) if _has_all(model, installed_folder(model)) else None


def _has_all(model: LocalModel, folder: Path) -> bool:
    return all((folder / pinned.name).is_file() for pinned in model.files)
