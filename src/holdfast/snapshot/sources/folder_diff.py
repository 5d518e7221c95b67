"""What changed between two captures of memory: files with their lines, commits, and the runtime state.

Both sides are folders that read like an opened bundle; a staging folder does, so "now" is simply captured first.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from holdfast.core.disk import disk_fault
from holdfast.core.errors import InvalidRequest, SnapshotDamaged
from holdfast.snapshot.sources.folder_metadata import FolderMetadata, read_description
from holdfast.snapshot.sources.folder_paths import shown
from holdfast.snapshot.sources.folder_walk import read_small
from holdfast.snapshot.sources.git.bundle import take_bundle
from holdfast.snapshot.sources.git.git_command import Git, GitFailed, is_installed
from holdfast.snapshot.sources.line_diff import LineCounts, count_lines

How = Literal["added", "removed", "changed"]

# Lines of larger files are not counted.
LARGE = 4 << 20
SUBJECTS = 50
STATE = "state/runtime.json"
_STATE_BYTES = 16 << 20
_DEPTH = 20


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    how: How
    lines: LineCounts | None  # None: no text, or too large


@dataclass(frozen=True, slots=True)
class Commits:
    """Commits that only one side has, counted from what each had checked out."""

    added: int
    removed: int
    subjects: tuple[str, ...]  # of the added ones, newest first, some at most
    related: bool  # False: the two histories have nothing in common


@dataclass(frozen=True, slots=True)
class FolderDiff:
    name: str
    how: How
    files: tuple[FileChange, ...]
    commits: Commits | None  # None: neither side has a history, or it is the same


@dataclass(frozen=True, slots=True)
class StateChange:
    key: str
    how: How
    before: Any
    after: Any


def diff_folders(before: Path, after: Path, scratch: Path) -> tuple[FolderDiff, ...]:
    """The memory folders that differ; `scratch` is an empty folder for histories, to be removed by the caller.

    Raises:
        SnapshotDamaged: a side is not what a capture would make.
        InvalidRequest: there are histories, and git is not installed.
    """
    names = sorted({path.stem for side in (before, after) for path in (side / "folders").glob("*.json")})
    try:
        found = [_diff_folder(before, after, name, scratch / name) for name in names]
    except GitFailed as error:
        raise SnapshotDamaged(f"diff: a history cannot be read: {error}") from error
    except OSError as error:
        raise disk_fault(error, "diff memory folders") from error
    return tuple(one for one in found if one is not None)


def _diff_folder(before: Path, after: Path, name: str, scratch: Path) -> FolderDiff | None:
    git = Git.make(scratch)
    old, new = _FolderSide(before, name), _FolderSide(after, name)
    _take_histories(git, old, new)
    olds, news = old.blobs(git), new.blobs(git)
    files = tuple(
        FileChange(shown(path), _how(path in olds, path in news), _lines(old.read(git, path), new.read(git, path)))
        for path in sorted(olds.keys() | news.keys())
        if olds.get(path) != news.get(path)
    )
    commits = _commits(git, old.head, new.head)
    how = _how(old.described is not None, new.described is not None)
    return FolderDiff(name, how, files, commits) if files or commits or how != "changed" else None


def _how(before: bool, after: bool) -> How:
    return "changed" if before and after else "added" if after else "removed"


class _FolderSide:
    """A memory folder on one side; perhaps it is not there."""

    def __init__(self, extracted: Path, name: str):
        self._members = extracted / "folders" / name
        there = (extracted / "folders" / f"{name}.json").exists()
        self.described = read_description(extracted, name) if there else None
        self._committed: dict[str, str] = {}

    @property
    def bundle(self) -> Path | None:
        is_git = self.described is not None and self.described.kind == "git"
        return self._members.with_name(f"{self._members.name}.bundle") if is_git else None

    @property
    def head(self) -> str | None:
        return self.described.head if self.described else None

    def blobs(self, git: Git) -> dict[str, str]:
        """The ids of all files, as git would give them."""
        described = self.described or FolderMetadata("plain")
        if described.head:
            self._committed = {one.path: one.blob for one in git.files(described.head)}
        for path in (*described.deleted, *described.files):
            self._committed.pop(path, None)
        return self._committed | {path: _blob(self._members / path) for path in described.files}

    def read(self, git: Git, path: str) -> bytes | None:
        """The file's bytes, none for one that is not there; None if it is large."""
        if path in self._committed:
            try:
                return git.blob(self._committed[path], LARGE)
            except GitFailed:
                return None
        file = self._members / path
        return read_small(file, LARGE) if self.described and path in self.described.files else b""


def _take_histories(git: Git, old: _FolderSide, new: _FolderSide) -> None:
    sides = [side for side in (old, new) if side.bundle is not None]
    if sides and not is_installed():
        raise InvalidRequest("diff: a memory folder has a git history", hint="Install git and retry.")
    shallow = {oid for side in sides if side.described for oid in side.described.shallow}
    for side in sides:
        assert side.bundle is not None
        heads = take_bundle(git, side.bundle, shallow)
        if side.head not in (None, heads.head, *heads.refs.values()):
            raise GitFailed("the checked-out commit is missing")


def _blob(path: Path) -> str:
    try:
        with path.open("rb") as file:
            digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
            while piece := file.read(1 << 20):
                digest.update(piece)
    except FileNotFoundError as error:
        raise SnapshotDamaged("diff: a file that a memory folder's description names is missing") from error
    return digest.hexdigest()


def _lines(before: bytes | None, after: bytes | None) -> LineCounts | None:
    return None if before is None or after is None else count_lines(before, after)


def _commits(git: Git, old: str | None, new: str | None) -> Commits | None:
    if old == new:
        return None
    if old is None or new is None:
        only = str(old or new)
        count = int(git.run("rev-list", "--count", only))
        return Commits(count if new else 0, count if old else 0, _subjects(git, only) if new else (), False)
    related = git.run("merge-base", old, new, also=(1,)) != b""
    added, removed = (int(git.run("rev-list", "--count", span)) for span in (f"{old}..{new}", f"{new}..{old}"))
    return Commits(added, removed, _subjects(git, f"{old}..{new}"), related)


def _subjects(git: Git, span: str) -> tuple[str, ...]:
    listed = git.run("log", "-z", f"--max-count={SUBJECTS}", "--format=%s", span).decode("utf-8", "replace")
    return tuple(listed.split("\0")[:-1])


# State


def diff_state(before: Path, after: Path) -> tuple[StateChange, ...]:
    """What differs in the runtime state, key by key.

    Raises:
        SnapshotDamaged: the state of a side cannot be read.
    """
    old, new = _state(before), _state(after)
    return tuple(
        StateChange(key, _how(key in old, key in new), old.get(key), new.get(key))
        for key in sorted(old.keys() | new.keys())
        if key not in old or key not in new or old[key] != new[key]
    )


def _state(extracted: Path) -> dict[str, Any]:
    if not (extracted / STATE).exists():
        return {}
    try:
        value = orjson.loads(read_small(extracted / STATE, _STATE_BYTES) or b"")
    except ValueError as error:
        raise SnapshotDamaged(f"diff: {STATE} cannot be read") from error
    if not isinstance(value, dict):
        raise SnapshotDamaged(f"diff: {STATE} cannot be read")
    return dict(_flat(value, "", 0))


def _flat(value: dict[str, Any], prefix: str, depth: int) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, inner in value.items():
        if isinstance(inner, dict) and inner and depth < _DEPTH:
            found += _flat(inner, f"{prefix}{key}.", depth + 1)
        else:
            found.append((prefix + key, inner))
    return found
