"""The data folder: generations with one pointer, the lock, and where a running server is reached.

<home>/CURRENT              the name of the live generation
<home>/PREVIOUS             from which generation to which the last switches went
<home>/gen-000001/          one whole store
<home>/.gen-000002/         one that is being built, or removed: without an owner once that process is dead
<home>/lock                 held by the process that has the store open for writing
<home>/server.json          address and run token of a running server, readable by its owner only
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from holdfast.core.disk import disk_fault, sync_folder, write_durably
from holdfast.core.errors import DataDamaged, DataLocked

if TYPE_CHECKING:  # the command line loads this module, and does without the records
    from holdfast.core.model import Json

DATABASE = "memory.db"
DAMAGED = "damaged"  # beside a database that was found damaged: what is known of it
MADE = "made"  # beside a database that was made: without the database, something was lost
_GENERATION = re.compile(r"gen-\d{6,}")
_UNFINISHED = re.compile(r"\.gen-\d{6,}(-old)?")
_SWITCHES = 2  # one that was not completed, and the one before it


def _new(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _sync_file(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_tree(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise disk_fault(error, f"remove {folder.name}") from error


@dataclass(frozen=True)
class DataFolder:
    """Names and pointers of one data folder; it opens nothing by itself."""

    home: Path

    def make(self) -> None:
        """Make the folder itself, readable by its owner only."""
        try:
            new = [path for path in (self.home, *self.home.parents) if not path.exists()]
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            for path in new:
                sync_folder(path.parent)
        except OSError as error:
            raise disk_fault(error, f"make {self.home}") from error

    def prepare(self) -> Path:
        """The database to open, in a generation that is there; call it with the lock held.

        Raises:
            DataDamaged: the pointer is wrong, or the database it leads to is gone.
        """
        try:
            name = self.opened()
            folder = self.home / name
            if not folder.exists():
                folder.mkdir(mode=0o700)
                sync_folder(self.home)
        except OSError as error:
            raise disk_fault(error, f"open {self.home}") from error
        database = folder / DATABASE
        if (folder / MADE).exists() and not (database.exists() and database.stat().st_size):
            raise DataDamaged(f"data folder: {database} is {'empty' if database.exists() else 'missing'}")
        return database

    def settle(self, database: Path) -> None:
        """Mark a generation whose database is made, and point to it if nothing is pointed to yet."""
        mark = database.parent / MADE
        if not mark.exists():
            write_durably(mark, b"")
            sync_folder(self.home)
        if not self._pointer.exists():
            self.switch(database.parent.name)

    def _first(self) -> str:
        """The generation to begin with: the only one there is, or a new one.

        Raises:
            DataDamaged: several are there, and the pointer to the live one is gone.
        """
        found = self.generations()
        if len(found) > 1:
            raise DataDamaged(
                f"data folder: {', '.join(found)} exist, but CURRENT, which names the live one, is missing",
                hint=f"Write the name of the live generation into {self._pointer}.",
            )
        return found[0] if found else "gen-000001"

    @property
    def _pointer(self) -> Path:
        return self.home / "CURRENT"

    def generations(self) -> list[str]:
        return sorted(filter(_GENERATION.fullmatch, self._names()))

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.home)
        except OSError as error:
            raise disk_fault(error, f"read {self.home}") from error

    def current(self) -> str:
        """The live generation's name.

        Raises:
            DataDamaged: the pointer names nothing that exists.
        """
        try:
            name = self._pointer.read_bytes().decode("utf-8", "replace").strip()
        except FileNotFoundError as error:
            raise DataDamaged("data folder: CURRENT, which names the live generation, is missing") from error
        except OSError as error:
            raise disk_fault(error, f"read {self._pointer}") from error
        if not _GENERATION.fullmatch(name) or not (self.home / name).is_dir():
            raise DataDamaged("data folder: CURRENT names a generation that does not exist")
        return name

    def opened(self) -> str:
        """The generation that opening the folder means: the live one, or before any was live the first.

        Raises:
            DataDamaged: the pointer is wrong, or gone though there are several.
        """
        return self.current() if self._pointer.exists() else self._first()

    def database(self) -> Path:
        return self.home / self.current() / DATABASE

    def database_of(self, name: str) -> Path:
        """The database of a generation that is to become live.

        Raises:
            DataDamaged: there is none; opened, it would be a new and empty memory.
        """
        database = self.home / name / DATABASE
        if not database.is_file() or not database.stat().st_size:
            raise DataDamaged(f"data folder: generation {name[:40]} contains no memory")
        return database

    def switch(self, name: str) -> None:
        """Make another generation the live one: old or new, never mixed. Call it with the lock held.

        Which one it was is noted before, so that a switch that happened can always be undone.

        Raises:
            DataDamaged: there is no such generation.
        """
        if not _GENERATION.fullmatch(name) or not (self.home / name).is_dir():
            raise DataDamaged(f"data folder: there is no generation {name[:40]}")
        if self._pointer.exists() and (live := self.current()) != name:
            switches = [(live, name), *self._switches()][:_SWITCHES]
            write_durably(self._history, "".join(f"{before} {after}\n" for before, after in switches).encode())
        self.point_back(name)

    @property
    def _store(self) -> Path:
        return self.home / "STORE"

    def noted_store(self) -> str:
        """Where this folder's memory was kept last if not in the folder: the engine, and what it calls the place."""
        try:
            return self._store.read_bytes().decode("utf-8", "replace").strip()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise disk_fault(error, f"read {self._store}") from error

    def note_store(self, place: str) -> None:
        """Note that the records are not in this folder, for a start that names another place, or none."""
        if self.noted_store() != place:
            write_durably(self._store, f"{place}\n".encode())

    def point_back(self, name: str) -> None:
        """Point to a generation without noting a switch: after one that failed halfway."""
        write_durably(self._pointer, f"{name}\n".encode())

    @property
    def _history(self) -> Path:
        return self.home / "PREVIOUS"

    def _switches(self) -> list[tuple[str, str]]:
        """The last switches, from which generation to which, the latest first; it may not have happened."""
        try:
            lines = self._history.read_bytes().decode("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise disk_fault(error, f"read {self._history}") from error
        pairs = [line.split() for line in lines]
        return [(pair[0], pair[1]) for pair in pairs if len(pair) == 2 and all(map(_GENERATION.fullmatch, pair))]

    def previous(self) -> str | None:
        """The generation that was live before this one, if it is still there: where `undo` goes."""
        live = self.current()
        for before, after in self._switches():
            if after == live:
                return before if (self.home / before).is_dir() else None
        return None

    def new_generation(self) -> Path:
        """A folder to build the next generation in; no process reads it before `finish`. Call it with the lock held."""
        named = [*self.generations(), *(name for pair in self._switches() for name in pair)]
        building = [entry.name[1:].removesuffix("-old") for entry in self._unfinished()]
        number = max((int(name.removeprefix("gen-")) for name in (*named, *building)), default=0) + 1
        folder = self.home / f".gen-{number:06d}"
        try:
            folder.mkdir(mode=0o700)
        except OSError as error:
            raise disk_fault(error, f"make {folder}") from error
        return folder

    def abandon(self, building: Path) -> None:
        """Remove what was begun and will not be finished; finished or gone already is no fault."""
        if _UNFINISHED.fullmatch(building.name) and building.exists():
            _remove_tree(building)

    def name_of(self, building: Path) -> str:
        """The name of the generation that is being built there."""
        return building.name.removeprefix(".")

    def finish(self, building: Path) -> str:
        """Make what was built durable, and a generation; its name. It is not live before `switch`."""
        name = self.name_of(building)
        try:
            (building / MADE).touch(mode=0o600)
            for folder, _, files in os.walk(building):
                for file in files:
                    (Path(folder) / file).chmod(0o600)
                    _sync_file(Path(folder) / file)
                sync_folder(Path(folder))
            building.rename(self.home / name)  # the commit point: before it there is no such generation
            sync_folder(self.home)
        except OSError as error:
            raise disk_fault(error, f"finish {name}") from error
        return name

    def drop_old(self, keep: int = 1) -> list[str]:
        """Remove old generations until `keep` are left beside the live one; those that went. Call it with the lock
        held. The one that `undo` goes back to is never removed, nor is one that was found damaged.
        """
        live, undo = self.current(), self.previous()
        old = [name for name in self.generations() if name not in (live, undo) and not self._is_damaged(name)]
        stay = max(0, keep - (undo is not None))
        going = old[: max(0, len(old) - stay)]
        for name in going:
            self.remove(name)
        return going

    def _is_damaged(self, name: str) -> bool:
        return (self.home / name / DAMAGED).exists()

    def remove(self, name: str) -> None:
        """Remove a generation. It is renamed first: a kill in the middle must not leave half of one under its name."""
        try:
            hidden = self.home / f".{name}-old"
            (self.home / name).rename(hidden)
            sync_folder(self.home)
        except OSError as error:
            raise disk_fault(error, f"remove {name}") from error
        _remove_tree(hidden)

    def _unfinished(self) -> list[Path]:
        return sorted(self.home / name for name in self._names() if _UNFINISHED.fullmatch(name))

    def sweep(self) -> None:
        """Remove what dead processes began to build, to write or to remove. Call it when the lock was just taken:
        another process that builds or removes would hold it."""
        for path in (self._pointer, self._history):
            try:
                _new(path).unlink(missing_ok=True)
            except OSError as error:
                raise disk_fault(error, f"remove {_new(path).name}") from error
        for folder in self._unfinished():
            _remove_tree(folder)

    @property
    def _card(self) -> Path:
        return self.home / "server.json"

    def announce(self, card: Json) -> None:
        """Publish to the command line and stdio MCP where this server is reached."""
        write_durably(self._card, orjson.dumps(card))

    def withdraw(self) -> None:
        """Remove this process's card. A folder that was removed and made again holds the card of another server."""
        card = self.card()
        if card and card.get("pid") == os.getpid():
            self._card.unlink(missing_ok=True)

    def announced(self) -> Json | None:
        """The running server's card, or None if the lock is free or there is none."""
        card = self.card()
        # A card that a killed server left does not show who holds the folder now.
        return card if card and str(card.get("pid")) == self.owner() and self.is_locked() else None

    def card(self) -> Json | None:
        """What a server wrote last, whether it still runs or not."""
        try:
            card = orjson.loads(self._card.read_bytes())
        except (OSError, ValueError):
            return None
        return card if isinstance(card, dict) else None

    def owner(self) -> str:
        """The process that took the lock last."""
        try:
            return (self.home / "lock").read_text(errors="replace").strip()
        except OSError:
            return ""

    def is_locked(self) -> bool:
        """Whether some process holds the folder. The check does not become the owner in between."""
        try:
            handle = os.open(self.home / "lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise disk_fault(error, f"open {self.home / 'lock'}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False


class FolderLock:
    """The cross-process lock of a data folder; the kernel frees it when its process dies."""

    def __init__(self, home: Path):
        self._path = home / "lock"
        self._handle: int | None = None

    def __enter__(self) -> FolderLock:
        """Take the lock.

        Raises:
            DataLocked: another process has it; the message names its process id.
        """
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise disk_fault(error, f"open {self._path}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.pread(handle, 64, 0).decode(errors="replace").strip() or "unknown"
            os.close(handle)
            message = f"data folder {self._path.parent} is in use by process {owner}"
            raise DataLocked(message) from error
        try:
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            os.close(handle)
            raise disk_fault(error, f"write {self._path}") from error
        self._handle = handle
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            fcntl.flock(self._handle, fcntl.LOCK_UN)  # a child that was started meanwhile may share the handle
            os.close(self._handle)
            self._handle = None
