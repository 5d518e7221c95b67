"""A vault that is a folder: on another disk, on a mounted share, on a stick."""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import stat
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import BinaryIO

from holdfast.core.disk import FULL, alone_in, claim, make_folder, publish, release, replace_durably, sync_folder
from holdfast.core.errors import Conflict, Fault, NotFound, VaultFull, VaultRefused, VaultUnreachable
from holdfast.core.ports import Capabilities, Protection, Upload, VaultObject, VaultState
from holdfast.vault.names import check_name, check_prefix, is_part
from holdfast.vault.sequential_put import put_each

_TEMPORARY = ".put-"  # no name of the vault begins with this
_CHUNK = 1 << 20
_MOST_USED = 100  # folders that are remembered
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP}
# Linux: the attributes that `chattr +i` and `chattr +a` set.
_GET_FLAGS, _IMMUTABLE, _APPEND = 0x80086601, 0x10, 0x20
_numbers = itertools.count()  # no name twice in a process: a put removes its own name when it ends


class LocalVault:
    """Named bytes in a folder. The folder itself is made at the first put; the one it is in must exist.

    `used` is a file that lists the folders that something was put into: one that is gone is not made again.
    """

    def __init__(self, root: Path, used: Path | None = None):
        self._root, self._used = root, used

    @property
    def place(self) -> str:
        return str(self._root)

    @property
    def can(self) -> Capabilities:
        return Capabilities(increments=True)

    def put(self, name: str, data: BinaryIO) -> None:
        check_name(name)
        self._reachable()
        path = self._root / name
        with _faults(f"vault: put {name}"):
            self._inside(path.parent)
            make_folder(path.parent)
            if os.path.lexists(path):
                raise Conflict(f"vault: {name} already exists")
            _sweep(path.parent)
            with _temporary(path.parent) as (temporary, handle):
                _copy(data, handle)
                try:
                    publish(temporary, path)
                except FileExistsError as error:
                    raise Conflict(f"vault: {name} already exists") from error
            sync_folder(path.parent)
        self._note_use()

    def put_all(self, parcels: Sequence[Upload]) -> None:
        put_each(self, parcels)

    def replace(self, name: str, data: BinaryIO, tag: str) -> None:
        check_name(name)
        self._reachable()
        path = self._root / name
        with _faults(f"vault: replace {name}"):
            self._inside(path.parent)
            if not _has_tag(path, tag):
                raise Conflict(f"vault: {name} was changed by another writer")
            with _temporary(path.parent) as (temporary, handle):
                _copy(data, handle)
                with alone_in(path.parent):
                    if not _has_tag(path, tag):
                        raise Conflict(f"vault: {name} was changed by another writer")
                    temporary.rename(path)
            sync_folder(path.parent)

    def open(self, name: str) -> BinaryIO:
        check_name(name)
        self._reachable()
        path = self._root / name
        try:
            self._inside(path.parent)
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFound(f"vault: {name} does not exist") from error
        except OSError as error:
            raise _fault(error, f"vault: open {name}") from error
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise NotFound(f"vault: {name} does not exist")
        return os.fdopen(handle, "rb")

    def stat(self, name: str) -> VaultObject:
        check_name(name)
        self._reachable()
        path = self._root / name
        with _faults(f"vault: look at {name}"):
            self._inside(path.parent)
            seen = _seen(path)
        if seen is None:
            raise NotFound(f"vault: {name} does not exist")
        return VaultObject(name, seen.st_size, _tag(seen))

    def list(self, prefix: str = "", after: str = "") -> Iterator[VaultObject]:
        check_prefix(prefix)
        self._reachable()
        if self._root.exists():
            with _faults("vault: list"):
                yield from _walk(self._root, "", prefix, after)

    def delete(self, name: str) -> None:
        check_name(name)
        self._reachable()
        path = self._root / name
        with _faults(f"vault: delete {name}"), suppress(FileNotFoundError, NotADirectoryError):
            self._inside(path.parent)
            if stat.S_ISDIR(path.lstat().st_mode):
                return  # a beginning of names, not a name
            with alone_in(path.parent):
                path.unlink()
            sync_folder(path.parent)

    def state(self) -> VaultState:
        self._reachable()
        with _faults("vault: state"):
            disk = os.statvfs(self._root if self._root.exists() else self._root.parent)
        return VaultState(free=disk.f_bavail * disk.f_frsize)

    def protection(self, name: str) -> Protection:
        with self.open(name) as file:
            try:
                flags = struct.unpack("L", fcntl.ioctl(file, _GET_FLAGS, bytes(struct.calcsize("L"))))[0]
            except OSError:  # a file system without attributes
                return Protection("nothing")
        return Protection("attribute" if flags & (_IMMUTABLE | _APPEND) else "nothing")

    def _reachable(self) -> None:
        """A disk that is not mounted must not count as an empty vault.

        Raises:
            VaultRefused: neither the folder nor the one it is in exists, it is something else, or it is gone.
        """
        try:
            there = stat.S_ISDIR(self._root.stat().st_mode)
        except FileNotFoundError:
            if str(self._root) in self._used_folders():
                raise VaultRefused(
                    f"vault: {self._root} is gone, and this memory had copies in it",
                    hint=f"Run holdfast vault init {quote(self.place)} if they are lost. Otherwise mount its disk.",
                ) from None
            there = self._root.parent.is_dir()
        except OSError as error:
            raise _fault(error, "vault") from error
        if not there:
            wrong = "is not a folder" if self._root.exists() else "does not exist"
            raise VaultRefused(
                f"vault: {self._root} {wrong}",
                hint="Correct its name, mount its disk, or create the folder.",
            )

    def _used_folders(self) -> Sequence[str]:
        try:
            return os.fsdecode(self._used.read_bytes()).split("\0") if self._used else ()
        except OSError:
            return ()

    def _note_use(self) -> None:
        """A note that cannot be written is written by the next put."""
        known = self._used_folders()
        if self._used is None or str(self._root) in known:
            return
        with suppress(OSError):
            make_folder(self._used.parent)
            replace_durably(self._used, os.fsencode("\0".join([*known, str(self._root)][-_MOST_USED:])))

    def _inside(self, folder: Path) -> None:
        """Refuse a folder that a link leads out of the vault."""
        if not folder.resolve().is_relative_to(self._root.resolve()):
            raise VaultRefused("vault: a symlink in it points outside the vault", hint="Remove the symlink.")


@contextmanager
def _faults(doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _fault(error, doing) from error


def _fault(error: OSError, doing: str) -> Fault:
    """The disk of the vault is not that of the memory: its failure must not stop writes to the memory."""
    why = error.strerror or type(error).__name__
    if error.errno in FULL:
        return VaultFull(
            f"{doing}: the disk is full", hint="Free space there, or remove old snapshots: holdfast vault prune"
        )
    if error.errno in _DENIED:
        return VaultRefused(
            f"{doing}: {why}", hint="Grant the user who runs Holdfast read and write access to the vault's folder."
        )
    return VaultUnreachable(f"{doing}: {why}", hint="Check the disk of the vault, then retry.")


def _seen(path: Path) -> os.stat_result | None:
    """The state of a regular file; None for anything else, or if it is missing."""
    try:
        seen = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return seen if stat.S_ISREG(seen.st_mode) else None


def _tag(seen: os.stat_result) -> str:
    """Bytes are never changed in place, so others are another file: of another number, or of a later time."""
    return f"{seen.st_ino}-{seen.st_mtime_ns}-{seen.st_size}"


def _has_tag(path: Path, tag: str) -> bool:
    seen = _seen(path)
    return seen is not None and _tag(seen) == tag


def _walk(folder: Path, before: str, prefix: str, after: str) -> Iterator[VaultObject]:
    """What lies below in the order of whole names: a folder stands where its name with a slash does."""
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if is_part(entry.name)]
    except FileNotFoundError:
        return  # removed since it was seen
    names = {f"{before}{entry.name}{'/' if entry.is_dir(follow_symlinks=False) else ''}": entry for entry in found}
    for name in sorted(names):
        if name.endswith("/"):
            if (name.startswith(prefix) or prefix.startswith(name)) and not _all_before(name, after):
                yield from _walk(folder / names[name].name, name, prefix, after)
        elif name.startswith(prefix) and name > after and names[name].is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):
                seen = names[name].stat(follow_symlinks=False)
                yield VaultObject(name, seen.st_size, _tag(seen))


def _all_before(folder: str, after: str) -> bool:
    """Whether no name below the folder comes after."""
    return folder < after and not after.startswith(folder)


@contextmanager
def _temporary(folder: Path) -> Iterator[tuple[Path, int]]:
    """A new file under no name of the vault, locked while it is written and gone afterwards."""
    path, handle = next(made for number in _numbers if (made := _try_new(folder, number)))
    try:
        yield path, handle
    finally:
        path.unlink(missing_ok=True)
        release(handle)


def _try_new(folder: Path, number: int) -> tuple[Path, int] | None:
    """A new file with its lock; None if the name is taken, or a sweep was faster than the lock."""
    path = folder / f"{_TEMPORARY}{os.getpid()}-{number}"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return None
    if claim(handle) and os.fstat(handle).st_nlink:
        return path, handle
    release(handle)
    return None


def _sweep(folder: Path) -> None:
    """Remove what killed puts left in the folder: no process has it locked."""
    for name in os.listdir(folder):
        if name.startswith(_TEMPORARY):
            _remove_if_free(folder / name)


def _remove_if_free(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # gone, a link or another user's: what others put there must not stop a put
        return
    try:
        if claim(handle):
            path.unlink(missing_ok=True)
    finally:
        release(handle)


def _copy(data: BinaryIO, handle: int) -> None:
    while piece := data.read(_CHUNK):
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(handle, rest) :]
    os.fsync(handle)
