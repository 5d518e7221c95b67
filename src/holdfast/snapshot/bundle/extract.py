"""Where members are written: new files below one folder, never through a link, durable, removed if anything fails."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from holdfast.core.disk import sync_folder
from holdfast.snapshot.bundle.members import is_long, member_name
from holdfast.snapshot.bundle.types import Artifact

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class MemberFile:
    """The file of one member."""

    def __init__(self, handle: int, durable: bool = True):
        self._handle = handle
        self._durable = durable

    def write(self, data: memoryview) -> None:
        while data:
            data = data[os.write(self._handle, data) :]

    def sync(self) -> None:
        if self._durable:
            os.fsync(self._handle)

    def close(self) -> None:
        os.close(self._handle)


class FolderExtractor:
    """The wanted members of a bundle as files below a folder.

    A member whose name did not fit into the tar lands by that name first if its path is not known yet: the list of an
    encrypted bundle comes last. `settle` puts it into its place.
    """

    def __init__(
        self,
        into: Path,
        wanted: Callable[[str], bool],
        known: Sequence[Artifact] | None,
        hasty: Callable[[str], bool] = lambda path: False,
    ):
        self._into = into
        self._wanted = wanted
        self._hasty = hasty  # members that the caller makes durable, or that need not be
        self._paths = None if known is None else {member_name(one.path): one.path for one in known}
        self._open: list[tuple[str, int]] = []  # from the folder itself down to where the last file landed
        self._files: dict[str, None] = {}  # in the order they were made
        self._folders: list[str] = []
        self._made = False

    def __enter__(self) -> FolderExtractor:
        with contextlib.suppress(FileExistsError):
            self._into.mkdir(mode=0o700)
            self._made = True
        self._open.append(("", os.open(self._into, _FOLDER)))
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is not None:
                self._remove()
        finally:
            while self._open:
                os.close(self._open.pop()[1])

    def open(self, name: str) -> MemberFile | None:
        """The new file of a member; None if it is not wanted."""
        path = name if self._paths is None else self._paths[name]
        if not is_long(path) and not self._wanted(path):
            return None
        return MemberFile(self._file(path), durable=not self._hasty(path))

    def settle(self, artifacts: Sequence[Artifact]) -> None:
        """Move what landed by another name to its path, drop it if it is not wanted, and make all names durable."""
        landed = {name for name in self._files if is_long(name)}
        for artifact in artifacts:
            name = member_name(artifact.path)
            if name in landed:
                self._place(name, artifact.path)
        if landed:
            self._leave(0)
            self._rmdir("long")
        self._leave(0)
        os.fsync(self._root)
        if self._made:
            sync_folder(self._into.parent)

    def _place(self, name: str, path: str) -> None:
        if self._wanted(path):
            folder, last = self._folder(path)
            # A link, as a rename would replace what is there.
            os.link(name, last, src_dir_fd=self._root, dst_dir_fd=folder, follow_symlinks=False)
            self._files[path] = None
        os.unlink(name, dir_fd=self._root)
        del self._files[name]

    @property
    def _root(self) -> int:
        return self._open[0][1]

    def _file(self, path: str) -> int:
        folder, last = self._folder(path)
        handle = os.open(last, _NEW_FILE, 0o600, dir_fd=folder)
        self._files[path] = None
        return handle

    def _folder(self, path: str) -> tuple[int, str]:
        """The open folder of a path, made if it is missing, and the path's last part.

        Members come sorted, so a folder that is left is not needed again.
        """
        *parts, last = PurePosixPath(path).parts
        common = 0
        for (name, _), part in zip(self._open[1:], parts, strict=False):
            if name != part:
                break
            common += 1
        self._leave(common)
        for depth in range(common, len(parts)):
            self._enter("/".join(parts[: depth + 1]), parts[depth])
        return self._open[-1][1], last

    def _enter(self, path: str, part: str) -> None:
        parent = self._open[-1][1]
        with contextlib.suppress(FileExistsError):
            os.mkdir(part, 0o700, dir_fd=parent)
            self._folders.append(path)
        self._open.append((part, os.open(part, _FOLDER, dir_fd=parent)))

    def _leave(self, depth: int) -> None:
        """Close the folders below that depth, with their names durable."""
        while len(self._open) - 1 > depth:
            handle = self._open.pop()[1]
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def _rmdir(self, path: str) -> None:
        os.rmdir(path, dir_fd=self._root)
        self._folders.remove(path)

    def _remove(self) -> None:
        """Remove all that was written; a failure to remove does not hide the original fault."""
        for path in reversed(self._files):
            with contextlib.suppress(OSError):
                os.unlink(path, dir_fd=self._root)
        for path in reversed(self._folders):
            with contextlib.suppress(OSError):
                os.rmdir(path, dir_fd=self._root)
        if self._made:
            with contextlib.suppress(OSError):
                self._into.rmdir()
