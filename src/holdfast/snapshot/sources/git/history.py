"""The history of a memory folder that is a git repository: captured as a bundle, and tested to open again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.snapshot.bundle.types import SkippedItem
from holdfast.snapshot.sources.folder_metadata import FolderMetadata
from holdfast.snapshot.sources.folder_paths import shown
from holdfast.snapshot.sources.folder_walk import WalkedFile, take, walk
from holdfast.snapshot.sources.git.bundle import make_bundle, take_bundle
from holdfast.snapshot.sources.git.git_command import Git, GitFailed, TreeFile
from holdfast.snapshot.sources.git.git_repository import GitRepository, read_repository

_IGNORE_FILE = 1_000_000


@dataclass(frozen=True, slots=True)
class History:
    """A captured history and what its HEAD holds."""

    repository: GitRepository
    files: tuple[TreeFile, ...]
    subject: str | None
    left: tuple[SkippedItem, ...]
    scratch: Path

    def description(
        self, files: tuple[str, ...], deleted: tuple[str, ...], executable: tuple[str, ...]
    ) -> FolderMetadata:
        found = self.repository
        return FolderMetadata("git", found.head, found.branch, self.subject, files, deleted, executable, found.shallow)

    def ignored(self, folder: Path, known: Collection[str]) -> frozenset[str]:
        """Files that git ignores, and that were never added to it.

        git looks at copies of the ignore files in a folder that holds nothing else, never at the folder itself.
        """
        rules = self.scratch / "rules"
        rules.mkdir()
        git = Git.make(self.scratch / "ignore", work=rules)
        (git.folder / "info" / "exclude").write_bytes(self.repository.exclude)
        try:
            added = _added(git, self.repository.index)
            new = []
            for found in walk(folder):
                if not isinstance(found, WalkedFile):
                    continue
                if found.name == ".gitignore":
                    take(found, _IGNORE_FILE, rules / found.path)
                if found.path not in known and found.path not in added:
                    new.append(found.path)
            given = b"".join(path.encode() + b"\0" for path in new)
            listed = git.run("check-ignore", "--no-index", "-z", "--stdin", given=given, also=(1,))
        except GitFailed:
            return frozenset()  # better capture too much than lose something
        return frozenset(listed.decode().split("\0")[:-1])


def capture_history(folder: Path, out: Path, scratch: Path) -> History | SkippedItem | None:
    """Write the bundle of a repository's history; None if it has no commits, SkippedItem if it cannot be captured.

    Raises:
        GitFailed: the history is damaged, or not whole.
    """
    found = read_repository(folder, scratch)
    if not isinstance(found, GitRepository):
        return found
    lender = Git.make(scratch / "lender", objects=found.objects)
    found, missing = _without_missing(lender, found)
    if not found.refs and not found.head:
        return SkippedItem(".git", missing[0].reason) if missing else None
    make_bundle(lender, found.refs, found.head, found.shallow, out)
    proof = Git.make(scratch / "proof")
    take_bundle(proof, out, found.shallow)
    files = proof.files(found.head) if found.head else ()
    subject = proof.subject(found.head) if found.head else None
    return History(found, files, subject, (*found.left, *missing), scratch)


def _without_missing(lender: Git, found: GitRepository) -> tuple[GitRepository, tuple[SkippedItem, ...]]:
    """The repository without refs whose object is gone: one broken branch must not exclude the others."""
    there = _there(lender, {*found.refs.values(), *([found.head] if found.head else [])})
    gone = [name for name, oid in sorted(found.refs.items()) if oid not in there]
    if found.head and found.head not in there:
        raise GitFailed("the checked-out commit is missing")
    refs = {name: oid for name, oid in found.refs.items() if oid in there}
    left = tuple(SkippedItem(f".git/{shown(name)}", "the commit it names is missing") for name in gone)
    return replace(found, refs=refs), left


def _there(lender: Git, oids: set[str]) -> set[str]:
    given = "".join(f"{oid}\n" for oid in sorted(oids)).encode()
    listed = lender.run("cat-file", "--batch-check=%(objectname)", given=given).decode("ascii", "replace")
    return {line for line in listed.splitlines() if not line.endswith(" missing")}


def _added(git: Git, index: bytes | None) -> frozenset[str]:
    """What was added to the index but perhaps never committed."""
    if not index:
        return frozenset()
    (git.folder / "index").write_bytes(index)
    listed = git.run("ls-files", "--cached", "-z")
    return frozenset(listed.decode("utf-8", "surrogateescape").split("\0")[:-1])
