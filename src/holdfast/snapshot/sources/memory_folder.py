"""Capture of a memory folder: its files, and its history when it is a git repository.

Staged files lie under the path they will have in the bundle, so that a staging folder reads like an opened bundle:

folders/<name>.json         what the folder is
folders/<name>.bundle       its history, if it is a repository
folders/<name>/<path>       its files; of a repository, those that differ from HEAD
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.core.disk import disk_fault
from holdfast.snapshot.bundle.types import SkippedItem, StagedFile
from holdfast.snapshot.sources.folder_metadata import FolderMetadata, write_description
from holdfast.snapshot.sources.folder_paths import PathCollisions, path_fault, shown
from holdfast.snapshot.sources.folder_walk import CopiedFile, WalkedFile, take, walk
from holdfast.snapshot.sources.git.git_command import GitFailed, TreeFile, is_installed
from holdfast.snapshot.sources.git.history import History, capture_history

# A history may be read while git repacks it: then it is read again, after that many seconds.
PAUSES = (0.0, 0.1, 0.4, 1.0)
TWIN = "its name differs from another only in case or form"


@dataclass(frozen=True, slots=True)
class CapturedFolder:
    """The result of a source: files in the staging folder, and what it could not capture."""

    staged: tuple[StagedFile, ...]
    left: tuple[SkippedItem, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryFolder:
    """A folder whose files are memory: MEMORY.md, topics, notes."""

    name: str
    path: Path
    limit: int  # bytes; larger files are reported instead
    sleep: Callable[[float], None] = time.sleep

    def capture(self, into: Path) -> CapturedFolder:
        """Stage what the folder holds now. A folder that does not exist gives nothing.

        Raises:
            StorageFull, StorageFailed: it cannot be staged.
        """
        if not self.path.is_dir():
            return CapturedFolder(())
        try:
            with scratch_folder(into) as scratch:
                return self._capture(into, scratch)
        except OSError as error:
            raise disk_fault(error, f"capture the memory folder {self.name}") from error

    def _capture(self, into: Path, scratch: Path) -> CapturedFolder:
        bundle = into / f"folders/{self.name}.bundle"
        bundle.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        history = self._history(bundle, scratch)
        files = _Files(self, into)
        if isinstance(history, History):
            files.differing(history)
            description = history.description(files.paths, files.deleted(history), files.executable)
            staged = [StagedFile(f"folders/{self.name}.bundle", "git_bundle", bundle)]
            left = (*history.left, *files.left)
        else:
            files.every()
            description = FolderMetadata("plain", files=files.paths, executable=files.executable)
            staged = []
            left = (*([history] if history else []), *files.left)
        staged = [write_description(into, self.name, description), *staged, *files.staged]
        return CapturedFolder(tuple(sorted(staged, key=lambda one: one.path)), tuple(self._placed(one) for one in left))

    def _history(self, bundle: Path, scratch: Path) -> History | SkippedItem | None:
        if not os.path.lexists(self.path / ".git"):
            return None
        if not is_installed():
            return SkippedItem(".git", "git is not installed")
        for number, pause in enumerate(PAUSES):
            self.sleep(pause)
            place = scratch / f"try-{number}"
            place.mkdir()
            try:
                return capture_history(self.path, bundle, place)
            except GitFailed:
                bundle.unlink(missing_ok=True)
        return SkippedItem(".git", "its history is damaged or incomplete")

    def _placed(self, left: SkippedItem) -> SkippedItem:
        if left.path == ".git":
            return SkippedItem(f"folders/{self.name}.bundle", left.reason)
        return SkippedItem(f"folders/{self.name}" + ("" if left.path == "." else f"/{left.path}"), left.reason)


@dataclass
class _Files:
    """The files of one folder while they are staged."""

    source: MemoryFolder
    into: Path
    staged: list[StagedFile] = field(default_factory=list)
    left: list[SkippedItem] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    _executable: list[str] = field(default_factory=list)
    _twins: PathCollisions = field(default_factory=PathCollisions)

    @property
    def paths(self) -> tuple[str, ...]:
        prefix = len(f"folders/{self.source.name}/")
        return tuple(sorted(one.path[prefix:] for one in self.staged))

    @property
    def executable(self) -> tuple[str, ...]:
        return tuple(sorted(self._executable))

    def every(self) -> None:
        for found in walk(self.source.path):
            if isinstance(found, SkippedItem):
                self.left.append(found)
            else:
                self._stage(found)

    def differing(self, history: History) -> None:
        """Stage what HEAD does not hold as it is: changed files, and new ones that are not ignored."""
        known = {one.path: one for one in history.files}
        ignored = history.ignored(self.source.path, known)
        for found in walk(self.source.path):
            self.seen.add(found.path)
            if isinstance(found, SkippedItem):
                self.left.append(found)
            elif found.path not in ignored and not _is_in(known.get(found.path), found):
                self._stage(found)
        self.left += _ignored_by_top(ignored)

    def deleted(self, history: History) -> tuple[str, ...]:
        """Files of HEAD that are no more. What could not be looked at counts as there."""
        unseen = {one.path for one in self.left}
        if "." in unseen:
            return ()
        gone = (one.path for one in history.files if one.path not in self.seen and path_fault(one.path) is None)
        return tuple(sorted(path for path in gone if not unseen.intersection(_with_folders(path))))

    def _stage(self, found: WalkedFile) -> None:
        if not self._twins.takes(found.path):
            self.left.append(SkippedItem(shown(found.path), TWIN))
            return
        path = f"folders/{self.source.name}/{found.path}"
        taken = take(found, self.source.limit, self.into / path)
        if isinstance(taken, SkippedItem):
            self.left.append(taken)
            return
        self.staged.append(StagedFile(path, "file", self.into / path))
        if taken.executable:
            self._executable.append(found.path)


def _is_in(known: TreeFile | None, found: WalkedFile) -> bool:
    """Whether the commit holds the file exactly as it lies there. A larger one than the limit is read for this too."""
    if known is None or known.size != found.size:
        return False
    taken = take(found, known.size)
    return isinstance(taken, CopiedFile) and taken == CopiedFile(known.blob, known.mode == "100755")


def _ignored_by_top(ignored: frozenset[str]) -> list[SkippedItem]:
    """Ignored files are often thousands: one line for each name in the folder itself."""
    counts: dict[str, int] = {}
    for path in ignored:
        top = path.split("/", 1)[0]
        counts[top] = counts.get(top, 0) + 1
    return [SkippedItem(top, f"ignored by git ({count} files)") for top, count in sorted(counts.items())]


def _with_folders(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:at]) for at in range(1, len(parts) + 1))


@contextmanager
def scratch_folder(into: Path) -> Iterator[Path]:
    """A temporary folder inside the staging folder that the bundle does not include."""
    into.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = Path(tempfile.mkdtemp(prefix=".scratch-", dir=into))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
