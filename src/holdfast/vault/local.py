"""A vault that is a folder: on another disk, on a mounted share, on a stick."""

from __future__ import annotations

import itertools
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from holdfast.disk import claim, disk_fault, disk_faults, make_folder, publish, release, sync_folder
from holdfast.errors import Conflict, InvalidRequest, InvalidSettings, NotFound, StorageFailed
from holdfast.ports import Named, Vault

_PART = re.compile(r"[A-Za-z0-9_~%-][A-Za-z0-9._~%-]{0,254}", re.ASCII)
_PREFIX = re.compile(r"([A-Za-z0-9._~%-]+/)*[A-Za-z0-9._~%-]*", re.ASCII)
_LONGEST_NAME = 1_000
_TEMPORARY = ".put-"  # no name of the vault begins so
_CHUNK = 1 << 20
_numbers = itertools.count()  # no name twice in a process: a put removes its own name when it ends


def check_name(name: str) -> None:
    """Refuse what is no name in a vault.

    Raises:
        InvalidRequest: a part is empty, hidden, too long or has unsafe characters.
    """
    if len(name) > _LONGEST_NAME or not all(_PART.fullmatch(part) for part in name.split("/")):
        raise InvalidRequest("vault: names are letters, digits and . _ ~ % - with / between their parts")


class LocalVault:
    """Named bytes in a folder. The folder itself is made at the first put; the one it is in must exist."""

    def __init__(self, root: Path):
        self._root = root

    @property
    def place(self) -> str:
        return str(self._root)

    def put(self, name: str, data: BinaryIO) -> None:
        check_name(name)
        self._reachable()
        path = self._root / name
        with disk_faults(f"vault: put {name}"):
            self._inside(path.parent)
            make_folder(path.parent)
            if os.path.lexists(path):
                raise Conflict(f"vault: {name} exists already")
            _sweep(path.parent)
            with _temporary(path.parent) as (temporary, handle):
                _copy(data, handle)
                try:
                    publish(temporary, path)
                except FileExistsError as error:
                    raise Conflict(f"vault: {name} exists already") from error
            sync_folder(path.parent)

    def open(self, name: str) -> BinaryIO:
        check_name(name)
        self._reachable()
        path = self._root / name
        try:
            self._inside(path.parent)
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise NotFound(f"vault: there is no {name}") from error
        except OSError as error:
            raise disk_fault(error, f"vault: open {name}") from error
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise NotFound(f"vault: there is no {name}")
        return os.fdopen(handle, "rb")

    def list(self, prefix: str = "") -> Iterator[Named]:
        if not _PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/")):
            raise InvalidRequest("vault: that is no beginning of a name")
        self._reachable()
        if self._root.exists():
            with disk_faults("vault: list"):
                yield from _walk(self._root, "", prefix)

    def delete(self, name: str) -> None:
        check_name(name)
        self._reachable()
        path = self._root / name
        with disk_faults(f"vault: delete {name}"), suppress(FileNotFoundError, NotADirectoryError):
            self._inside(path.parent)
            if stat.S_ISDIR(path.lstat().st_mode):
                return  # a beginning of names, not a name
            path.unlink()
            sync_folder(path.parent)

    def _reachable(self) -> None:
        """A disk that is not mounted is no empty vault.

        Raises:
            StorageFailed: neither the folder nor the one it is in exists.
        """
        try:
            there = stat.S_ISDIR(self._root.stat().st_mode)
        except FileNotFoundError:
            there = self._root.parent.is_dir()
        except OSError as error:
            raise disk_fault(error, "vault") from error
        if not there:
            raise StorageFailed(
                f"vault: {self._root} is not there",
                hint="Mount the disk or make the folder, or correct HOLDFAST_VAULT.",
            )

    def _inside(self, folder: Path) -> None:
        """Refuse a folder that a link leads out of the vault."""
        if not folder.resolve().is_relative_to(self._root.resolve()):
            raise StorageFailed("vault: a link in it leads elsewhere", hint="Remove the link from the vault.")


def _walk(folder: Path, before: str, prefix: str) -> Iterator[Named]:
    """What lies below in the order of whole names: a folder stands where its name with a slash does."""
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if _PART.fullmatch(entry.name)]
    except FileNotFoundError:
        return  # removed since it was seen
    names = {f"{before}{entry.name}{'/' if entry.is_dir(follow_symlinks=False) else ''}": entry for entry in found}
    for name in sorted(names):
        if name.endswith("/"):
            if name.startswith(prefix) or prefix.startswith(name):
                yield from _walk(folder / names[name].name, name, prefix)
        elif name.startswith(prefix) and names[name].is_file(follow_symlinks=False):
            with suppress(FileNotFoundError):
                yield Named(name, names[name].stat(follow_symlinks=False).st_size)


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
    """Remove what killed puts left in the folder: nobody has it locked."""
    for name in os.listdir(folder):
        if name.startswith(_TEMPORARY):
            _remove_if_free(folder / name)


def _remove_if_free(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # gone, a link or another user's: what others lay there must not stop a put
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


def vault_from(text: str) -> Vault:
    """The vault that a setting names: a folder as a path or a file:// URL.

    Raises:
        InvalidSettings: it names nothing that is known, or a folder that depends on where Holdfast was started.
    """
    path = Path(_path_in(text.strip())).expanduser()
    if not path.is_absolute():
        raise InvalidSettings("vault: the folder is not given in full", hint="Give a path that begins with / or ~.")
    return LocalVault(path)


def _path_in(text: str) -> str:
    if "://" not in text:
        return text
    url = urlsplit(text)
    if url.scheme != "file":
        # The rest may hold a password.
        raise InvalidSettings(f"vault: {url.scheme[:20]}:// is not known yet", hint="Use a folder or a file:// URL.")
    if url.netloc not in ("", "localhost") or url.query or url.fragment:
        raise InvalidSettings("vault: a file:// URL has a path and nothing else", hint="Write file:///path/of/folder.")
    return unquote(url.path)
