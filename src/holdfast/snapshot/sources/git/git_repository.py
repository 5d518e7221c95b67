"""A repository read by its files: HEAD, refs and what else decides its history. Its config runs nothing here.

Only what lies in the repository itself counts. Objects or refs that lie elsewhere (links, alternates, a `.git` file
that leads to a repository which does not know this folder) are reported: a planted pointer must not bring another
user's history into a snapshot. Settings, hooks, reflogs and the index are not captured.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.snapshot.bundle.types import SkippedItem
from holdfast.snapshot.sources.folder_paths import shown
from holdfast.snapshot.sources.folder_walk import WalkedFile, read_small, walk
from holdfast.snapshot.sources.git.git_command import OID, Git, GitFailed, is_ref

_LINE = 4_096
_PACKED = 32_000_000
_INDEX = 64_000_000
_EXCLUDE = 1_000_000
_REFS = 100_000

# What a repository may declare without its history being written in another way.
_KNOWN = {
    "objectformat": {"sha1"},
    "refstorage": {"files"},
    "worktreeconfig": None,
    "preciousobjects": None,
    "relativeworktrees": None,
    "noop": None,
    "partialclone": None,  # what was never fetched is missing, and is found to be when the bundle is made
}


@dataclass(frozen=True, slots=True)
class GitRepository:
    """What decides a repository's history, read in one go."""

    objects: Path
    head: str | None  # None: no commit yet
    branch: str | None  # None: HEAD is detached
    refs: dict[str, str]
    shallow: tuple[str, ...]
    index: bytes | None
    exclude: bytes
    left: tuple[SkippedItem, ...] = ()


def read_repository(folder: Path, scratch: Path) -> GitRepository | SkippedItem | None:
    """The repository with this top level; SkippedItem if its history cannot be captured, None if there is none."""
    try:
        status = os.lstat(folder / ".git")
    except OSError:
        return None
    if stat.S_ISLNK(status.st_mode):
        return SkippedItem(".git", "symlink")
    linked = stat.S_ISREG(status.st_mode)
    places = _linked(folder) if linked else (folder / ".git", folder / ".git")
    if places is None:
        return SkippedItem(".git", "its repository is in another folder")
    own, common = places
    fault = _objects_fault(common / "objects") or _format_fault(common, scratch)
    if fault:
        return SkippedItem(".git", fault)
    found = _read(own, common)
    return _only_its_branch(found) if linked else found


def _linked(folder: Path) -> tuple[Path, Path] | None:
    """The place of a linked worktree in its repository, and that repository, if it knows the worktree.

    A pointer alone proves nothing: any process that writes in the folder can write one. That the place lies among the
    repository's own worktrees, and points back, only the repository's owner can arrange.
    """
    pointer = _line(folder / ".git")
    if not pointer.startswith("gitdir: "):
        return None
    own = (folder / pointer.removeprefix("gitdir: ")).resolve()
    back, lead = _line(own / "gitdir"), _line(own / "commondir")
    if not back or not lead or not _same(own / back, folder / ".git"):
        return None
    common = (own / lead).resolve()
    return (own, common) if own.parent == common / "worktrees" else None


def _line(path: Path) -> str:
    return (read_small(path, _LINE) or b"").decode("utf-8", "replace").replace("\0", "").rstrip("\n")


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except OSError:
        return False


def _only_its_branch(found: GitRepository) -> GitRepository:
    """A linked worktree has its own branch; the others are the memory of wherever the repository lies."""
    own = f"refs/heads/{found.branch}"
    refs = {name: oid for name, oid in found.refs.items() if name == own}
    others = len(found.refs) - len(refs)
    left = (SkippedItem(".git", f"{others} other refs of the repository it is a worktree of"),) if others else ()
    return replace(found, refs=refs, left=(*found.left, *left))


def _objects_fault(objects: Path) -> str | None:
    """Why the objects cannot be borrowed: they must lie in this folder, as files."""
    alternates = objects / "info" / "alternates"
    if os.path.lexists(alternates) and read_small(alternates, _LINE) != b"":
        return "its objects are in another repository"
    try:
        return "its objects are behind a symlink" if _has_link(objects) else None
    except OSError:
        return "its objects cannot be read"


def _has_link(folder: Path, depth: int = 0) -> bool:
    """Whether the folder is a link, or one lies in it or in the folders right below."""
    if folder.is_symlink():
        return True
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except FileNotFoundError:
        if depth == 0:
            raise
        return False  # git tidies its objects up and removes the folders that became empty
    if any(entry.is_symlink() for entry in found):
        return True
    inner = [Path(entry.path) for entry in found if entry.is_dir(follow_symlinks=False)]
    return depth < 2 and any(_has_link(one, depth + 1) for one in inner)


def _format_fault(common: Path, scratch: Path) -> str | None:
    """Why its history is written in a way that is not known here."""
    config = read_small(common / "config", _EXCLUDE)
    if config is None:
        return None if not os.path.lexists(common / "config") else "its config cannot be read"
    copy = scratch / "theirs"
    copy.write_bytes(config)
    try:
        # With a file named, git reads this one alone, and follows no include.
        listed = Git.make(scratch / "reader").run(
            "config", "--file", str(copy), "--no-includes", "--null", "--get-regexp", r"^extensions\.", also=(1,)
        )
    except GitFailed:
        return "its config cannot be read"
    for entry in listed.decode("utf-8", "replace").split("\0")[:-1]:
        name, _, value = entry.removeprefix("extensions.").partition("\n")
        allowed = _KNOWN.get(name, set())
        if allowed is not None and value.lower() not in allowed:
            return "its format is unknown"
    return None


def _read(own: Path, common: Path) -> GitRepository:
    refs, left = _refs(common)
    refs = _stashes(common) | refs
    branch, head = _head(own, refs)
    shallow = (read_small(common / "shallow", _PACKED) or b"").decode("ascii", "replace").split()
    return GitRepository(
        common / "objects",
        head,
        branch,
        refs,
        tuple(sorted(oid for oid in shallow if OID.fullmatch(oid))),
        read_small(own / "index", _INDEX),
        read_small(common / "info" / "exclude", _EXCLUDE) or b"",
        tuple(left),
    )


def _head(own: Path, refs: dict[str, str]) -> tuple[str | None, str | None]:
    text = (read_small(own / "HEAD", _LINE) or b"").decode("utf-8", "replace").strip()
    if OID.fullmatch(text):
        return None, text
    name = text.removeprefix("ref: ").strip()
    if name.startswith("refs/heads/") and is_ref(name):
        return name.removeprefix("refs/heads/"), refs.get(name)
    return None, None


_PACKED_LINE = re.compile(r"([0-9a-f]{40}) (refs/.+)")


def _refs(common: Path) -> tuple[dict[str, str], list[SkippedItem]]:
    """All refs; a loose one counts before a packed one of its name. A symbolic ref only repeats another.

    Loose ones are read first: git packs a ref before it removes the loose one, so that each is seen at least once.
    """
    refs: dict[str, str] = {}
    left: list[SkippedItem] = []
    for found in walk(common / "refs"):
        if isinstance(found, SkippedItem):
            left.append(SkippedItem(f".git/refs/{found.path}", found.reason))
            continue
        text = _loose(found)
        if text is not None and not text.startswith("ref: ") and not found.path.endswith(".lock"):
            _add(refs, left, f"refs/{found.path}", text)
    packed = (read_small(common / "packed-refs", _PACKED) or b"").decode("utf-8", "surrogateescape")
    for line in packed.split("\n"):
        if (match := _PACKED_LINE.fullmatch(line)) and match[2] not in refs:
            _add(refs, left, match[2], match[1])
    return refs, left


def _stashes(common: Path) -> dict[str, str]:
    """Stashes under the newest one: only a reflog names them, so each gets a ref of its own."""
    log = (read_small(common / "logs" / "refs" / "stash", _PACKED) or b"").decode("utf-8", "replace")
    oids = [words[1] for line in log.splitlines()[:-1] if len(words := line.split(" ", 2)) == 3]
    return {f"refs/holdfast/stash/{oid}": oid for oid in oids if OID.fullmatch(oid)}


def _loose(found: WalkedFile) -> str | None:
    """The text of a loose ref; None if it is gone by now."""
    try:
        handle = os.open(found.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=found.folder)
    except FileNotFoundError:
        return None
    except OSError:
        return ""
    try:
        return os.read(handle, _LINE).decode("ascii", "replace").strip()
    finally:
        os.close(handle)


def _add(refs: dict[str, str], left: list[SkippedItem], name: str, oid: str) -> None:
    if is_ref(name) and OID.fullmatch(oid) and (len(refs) < _REFS or name in refs):
        refs[name] = oid
    else:
        left.append(SkippedItem(f".git/{shown(name)}", "a ref that cannot be read"))
