"""A memory folder built again from a bundle's members, beside the place where it shall lie.

The members are whole, but their contents may be hostile: a history is checked object by object, no link is made, no
program runs, and nothing is written outside the new folder.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import disk_fault, sync_folder
from holdfast.core.errors import Conflict, InvalidRequest, SnapshotDamaged
from holdfast.snapshot.sources.folder_metadata import FolderMetadata, read_description
from holdfast.snapshot.sources.folder_paths import shown
from holdfast.snapshot.sources.folder_walk import CopiedFile, WalkedFile, take, walk
from holdfast.snapshot.sources.git.bundle import BundleHeads, take_bundle
from holdfast.snapshot.sources.git.git_command import Git, GitFailed, is_installed

# A tree of a few objects can stand for a disk full of files.
TREE_BYTES = 4 << 30

# Whatever .gitattributes has: files as they are in the history, byte for byte.
_ATTRIBUTES = "* -text -eol -ident -filter -working-tree-encoding\n"


def stage_folder(extracted: Path, name: str, into: Path) -> None:
    """Build the whole folder in `into`, durable; what lay there from an earlier try is removed.

    Raises:
        SnapshotDamaged: the members do not make a folder, or the history fails git's checks.
        InvalidRequest: there is a history, and git is not installed.
        Conflict: the folder built there before is just being put in place.
        StorageFull, StorageFailed: it cannot be written. In all cases nothing is left of it.
    """
    description = read_description(extracted, name)
    _check_members(extracted, name, description)
    if mark_of(into).exists():
        raise Conflict(f"restore: an earlier replacement of the memory folder {name} is not finished")
    try:
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True, mode=0o700)
        with OnFailure(shutil.rmtree, into, ignore_errors=True):
            _build(extracted / "folders" / name, description, into)
            sync_tree(into)
    except (NotADirectoryError, IsADirectoryError, FileExistsError) as error:
        raise SnapshotDamaged(f"snapshot: files of the memory folder {name} conflict with each other") from error
    except OSError as error:
        raise disk_fault(error, f"restore the memory folder {name}") from error
    except GitFailed as error:
        raise SnapshotDamaged(f"snapshot: the history of the memory folder {name} was rejected: {error}") from error


def mark_of(staged: Path) -> Path:
    """The file beside a folder that records, while it is put in place, which folder it is."""
    return staged.with_name(f"{staged.name}.mark")


def _check_members(extracted: Path, name: str, description: FolderMetadata) -> None:
    found = {one.path for one in walk(extracted / "folders" / name) if isinstance(one, WalkedFile)}
    bundle = (extracted / "folders" / f"{name}.bundle").is_file()
    if found != set(description.files) or bundle != (description.kind == "git"):
        raise SnapshotDamaged(f"snapshot: the memory folder {name} differs from its description")
    if bundle and not is_installed():
        raise InvalidRequest(f"restore: the memory folder {name} has a git history", hint="Install git and retry.")


def _build(members: Path, description: FolderMetadata, into: Path) -> None:
    if description.kind == "git":
        _check_out(members.with_name(f"{members.name}.bundle"), description, into)
    for path in description.deleted:
        _remove(into, path)
    for found in walk(members):
        if isinstance(found, WalkedFile):
            _lay(found, into, found.path in description.executable)


def _check_out(bundle: Path, description: FolderMetadata, into: Path) -> None:
    git = Git.make(into / ".git", work=into)
    heads = take_bundle(git, bundle, description.shallow)
    git.set_refs(heads.refs)
    _set_head(git, heads, description)
    if description.head is None:
        return
    if sum(one.size for one in git.files(description.head)) > TREE_BYTES:
        raise GitFailed("its files are too large")
    attributes = git.folder / "info" / "attributes"
    attributes.write_text(_ATTRIBUTES)
    git.run("reset", "--hard", "--quiet")
    attributes.unlink()


def _set_head(git: Git, heads: BundleHeads, description: FolderMetadata) -> None:
    branch = None if description.branch is None else f"refs/heads/{description.branch}"
    told = heads.head if branch is None else heads.refs.get(branch)
    if told != description.head:
        raise GitFailed("the checked-out commit is missing")
    if branch is not None:
        (git.folder / "HEAD").write_text(f"ref: {branch}\n")
    elif told is not None:
        (git.folder / "HEAD").write_text(f"{told}\n")


def _remove(into: Path, path: str) -> None:
    """Remove a file, and the folders that are empty without it."""
    place = into / path
    place.unlink(missing_ok=True)
    for folder in place.parents:
        if folder == into or not folder.is_dir() or any(folder.iterdir()):
            return
        folder.rmdir()


def _lay(found: WalkedFile, into: Path, executable: bool) -> None:
    place = into / found.path
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.unlink(missing_ok=True)
    if not isinstance(take(found, found.size, place), CopiedFile):
        raise SnapshotDamaged(f"snapshot: {shown(found.path)} cannot be read")
    place.chmod(0o700 if executable else 0o600)


def sync_tree(root: Path) -> None:
    """Make every file and folder below durable, and the folder itself."""
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            path = os.path.join(folder, name)
            if not stat.S_ISREG(os.lstat(path).st_mode):  # a link of a folder that was live: its name is all there is
                continue
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        sync_folder(Path(folder))
