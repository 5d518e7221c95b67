"""Secrets taken out of captured text before it is packed: a memory folder's files were never through intake.

A file's text is replaced in staging. A history cannot be changed without becoming another one, so a bundle in which a
secret is found is left out, and the files that it held are captured as plain, redacted ones instead.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.core.disk import disk_fault
from holdfast.core.errors import StorageFailed
from holdfast.redact import SECRET_MARK, redact_text
from holdfast.snapshot.bundle.types import Capture, Redaction, SkippedItem, StagedFile
from holdfast.snapshot.sources.folder_metadata import FolderMetadata, read_description, write_description
from holdfast.snapshot.sources.folder_paths import PathCollisions, path_fault
from holdfast.snapshot.sources.folder_restore import stage_folder
from holdfast.snapshot.sources.folder_walk import CopiedFile, WalkedFile, take, walk
from holdfast.snapshot.sources.git.git_command import GitFailed
from holdfast.snapshot.sources.git.secrets import rules_in_history
from holdfast.snapshot.sources.memory_folder import TWIN, scratch_folder
from holdfast.snapshot.sources.text_chunks import Counts, clean, pieces

FILE_LIMIT = 4 << 20


@dataclass(frozen=True, slots=True)
class RedactedCapture:
    """A capture that may be packed, and how many files of it are no text and were not scanned."""

    capture: Capture
    unscanned: int = 0


def redact_staged(
    staged: Sequence[StagedFile],
    into: Path,
    left: Sequence[SkippedItem] = (),
    *,
    apply: bool = True,
    limit: int = FILE_LIMIT,
) -> RedactedCapture:
    """The capture without secrets in its text, names, history and reports, and what was done to it.

    `into` is the folder it was staged in. The store's database is not looked at: intake redacted what is in it.
    `limit` is the largest file that is taken out of a history which cannot be kept.

    Raises:
        StorageFull, StorageFailed: the clean text cannot be written, or a history cannot be read.
    """
    if not apply:
        return RedactedCapture(Capture(tuple(staged), tuple(left)))
    work = _RedactionRun(into, limit)
    try:
        work.all(staged)
    except OSError as error:
        raise disk_fault(error, "redact captured text") from error
    except GitFailed as error:
        raise StorageFailed(f"redact captured text: a history cannot be read: {error}") from error
    told = tuple(SkippedItem(work.words(one.path), one.reason) for one in (*left, *work.left))
    redaction = Redaction(True, tuple(sorted(work.counts.items())), tuple(sorted(set(work.changed))))
    return RedactedCapture(
        Capture(tuple(sorted(work.staged, key=lambda one: one.path)), told, redaction), work.unscanned
    )


@dataclass
class _RedactionRun:
    """The clean capture as it grows."""

    into: Path
    limit: int
    counts: Counts = field(default_factory=Counter)
    unscanned: int = 0
    staged: list[StagedFile] = field(default_factory=list)
    left: list[SkippedItem] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)  # paths in the bundle, where they had to change
    plain: dict[str, FolderMetadata] = field(default_factory=dict)  # folders whose history was left out

    def all(self, staged: Sequence[StagedFile]) -> None:
        # First: what a history holds is read beside the files as they were captured.
        for one in staged:
            if one.kind == "git_bundle":
                self.history(one)
        for one in staged:
            if one.kind in ("file", "state"):
                self.file(one)
            elif one.kind == "store":
                self.staged.append(one)
        # Last: by now it is known what the folders hold, and under which names.
        for one in staged:
            if one.kind == "folder":
                self.description(one)

    def words(self, text: str) -> str:
        """A short text without secrets."""
        found = redact_text(text)
        self.counts.update({one.rule: one.count for one in found.findings})
        return found.value

    def history(self, bundle: StagedFile) -> None:
        """Keep the bundle, or put its files in its place if there is a secret in it."""
        name = _folder_of(bundle)
        with scratch_folder(self.into) as scratch:
            described = read_description(self.into, name)
            rules, unscanned = rules_in_history(bundle.source, described.shallow, scratch)
            if not rules:
                self.unscanned += unscanned
                self.staged.append(bundle)
                return
            self.counts.update(rules)
            self.left.append(SkippedItem(bundle.path, f"secret in history (rule {', '.join(sorted(rules))})"))
            self._unfold(name, described, scratch / "whole")
        bundle.source.unlink()

    def _unfold(self, name: str, described: FolderMetadata, whole: Path) -> None:
        """Stage the files that only the history held; those that differ from it are staged already."""
        stage_folder(self.into, name, whole)
        collisions = PathCollisions()
        files, executable = list(described.files), list(described.executable)
        for path in files:
            collisions.takes(path)
        for found in walk(whole):
            if found.path in described.files:
                continue
            path = f"folders/{name}/{found.path}"
            taken = self._taken(found, self.into / path, collisions)
            if isinstance(taken, SkippedItem):
                self.left.append(SkippedItem(path, taken.reason))
                continue
            self.file(StagedFile(path, "file", self.into / path))
            files.append(found.path)
            executable += [found.path] if taken.executable else []
        self.plain[name] = FolderMetadata("plain", files=tuple(files), executable=tuple(executable))

    def _taken(
        self, found: WalkedFile | SkippedItem, place: Path, collisions: PathCollisions
    ) -> CopiedFile | SkippedItem:
        if isinstance(found, SkippedItem):
            return found
        return take(found, self.limit, place) if collisions.takes(found.path) else SkippedItem(found.path, TWIN)

    def file(self, one: StagedFile) -> None:
        """Keep the file, its text and its path without secrets; what is no text is kept as it is."""
        changed = self._redact(one.source)
        path = self._free(self._clean_path(one.path), one.path)
        source = one.source
        if path != one.path:
            source = self.into / path
            source.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            one.source.rename(source)
            self.renamed[one.path] = path
        if changed or path != one.path:
            self.changed.append(path)
        self.staged.append(StagedFile(path, one.kind, source))

    def _clean_path(self, path: str) -> str:
        """The path without secrets, in the folder it was in."""
        first, folder, rest = [*path.split("/", 2), "", ""][:3]
        clean = self.words("/".join(map(self.words, rest.split("/"))))
        if clean == rest:
            return path
        return f"{first}/{folder}/{SECRET_MARK if path_fault(clean) else clean}"

    def _free(self, path: str, old: str) -> str:
        """The path, or one with a number: several may lose their secret and become the same."""
        free, number = path, 1
        while free != old and os.path.lexists(self.into / free):
            number += 1
            free = f"{path}-{number}"
        return free

    def _redact(self, source: Path) -> bool:
        """Put the clean text in the place of the file's text; whether that changed it."""
        changed, scanned = redact_file(source, self.into, self.counts)
        self.unscanned += not scanned and source.stat().st_size > 0
        return changed

    def description(self, one: StagedFile) -> None:
        """What the folder is, with the paths that its files have now."""
        name = _folder_of(one)
        before = read_description(self.into, name)
        after = self._with_new_names(name, self.plain.get(name, before))
        if after.branch and self.words(after.branch) != after.branch:
            after = replace(after, branch=None)  # it has no commit, or its history would have been left out
        if after == before:
            self.staged.append(one)
            return
        self.staged.append(write_description(self.into, name, after))
        self.changed.append(one.path)

    def _with_new_names(self, name: str, before: FolderMetadata) -> FolderMetadata:
        prefix = f"folders/{name}/"

        def now(paths: tuple[str, ...]) -> tuple[str, ...]:
            new = (self.renamed.get(prefix + path, prefix + path) for path in paths)
            return tuple(sorted(path.removeprefix(prefix) for path in new))

        return replace(before, files=now(before.files), executable=now(before.executable))


def redact_file(source: Path, into: Path, counts: Counts) -> tuple[bool, bool]:
    """Put the clean text in the place of a file's text, with a scratch folder in `into`; whether that changed it, and
    whether it is text at all. What was found is counted."""
    changed = scanned = False
    with source.open("rb") as file:
        for piece in pieces(file.read):
            shown = clean(piece, counts)
            scanned = scanned or shown is not None
            changed = changed or (shown is not None and shown != piece)
    if changed:
        with scratch_folder(into) as scratch:
            with source.open("rb") as file, (scratch / "clean").open("xb") as out:
                for piece in pieces(file.read):
                    shown = clean(piece, Counter())
                    out.write(piece if shown is None else shown)
            (scratch / "clean").chmod(0o600)
            (scratch / "clean").replace(source)
    return changed, scanned


def _folder_of(one: StagedFile) -> str:
    return Path(one.path).stem
