"""A data folder as the source and as the target of a move; fulfils the ports of store/move.

The source is read from a copy of its file, so that nothing in its folder changes. The target is built as a new
generation and becomes live at the end, in one step.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import claim, disk_faults, release
from holdfast.core.errors import DataLocked, NotFound
from holdfast.store.data_folder import DATABASE, DataFolder, FolderLock
from holdfast.store.port import Finding
from holdfast.store.sqlite.database import migrate, open_checker
from holdfast.store.sqlite.files.copy_rows import open_private
from holdfast.store.sqlite.files.row_transfer import FileVector
from holdfast.store.sqlite.integrity import verify
from holdfast.store.sqlite.move.whole_tenant import Assembly, WholeReader, capture_whole

COPY, ASSEMBLED = "source.db", "assembled.db"


class FolderSource:
    """The live memory of a data folder that no process has open."""

    def __init__(self, home: Path, stage: Path):
        """Copy its database; no process can open the folder until this is closed.

        Raises:
            NotFound: there is no memory in the folder.
            DataLocked: a server or a command has it open.
            DataTooNew, DataDamaged: it cannot be read.
        """
        folder = DataFolder(home)
        if not home.is_dir() or not folder.generations():
            raise NotFound(f"move: there is no memory in {home}", hint="Check the folder given with --from.")
        self._copy = stage / COPY
        self._hold = _hold_still(home)
        with OnFailure(self._let_go):
            self._tag = _copied(home / folder.opened() / DATABASE, self._copy)
            self._reader = WholeReader(self._copy)

    def tenants(self) -> list[str]:
        return self._reader.tenants()

    def records(self, tenant: str) -> int:
        return self._reader.records(tenant)

    def rows(self, tenant: str, table: str, columns: Sequence[str], order: str) -> Iterator[tuple[Any, ...]]:
        return self._reader.rows(tenant, table, columns, order)

    def vectors(self, tenant: str) -> Iterator[FileVector]:
        return self._reader.vectors(tenant)

    def tag(self, tenant: str) -> str:
        return self._tag

    def capture(self, into: Path, tenant: str) -> None:
        capture_whole(self._copy, into, tenant)

    def close(self) -> None:
        self._reader.close()
        self._let_go()

    def _let_go(self) -> None:
        if self._hold is not None:
            release(self._hold)
            self._hold = None


def _copied(database: Path, copy: Path) -> str:
    """Copy a database that no process writes, and bring the copy to this schema; what changes when the first does."""
    if not database.is_file():
        raise NotFound(f"move: {database} does not exist")
    seen = ""
    with disk_faults("copy the store"):
        for suffix in ("", "-wal"):  # what a killed process wrote may be in its log alone
            source, target = Path(f"{database}{suffix}"), Path(f"{copy}{suffix}")
            target.unlink(missing_ok=True)
            if source.is_file():
                found = source.stat()
                seen += f"{found.st_size} {found.st_mtime_ns} "
                shutil.copyfile(source, target)
                target.chmod(0o600)
    db = open_private(copy)
    try:
        migrate(db)
    finally:
        db.close()
    return seen


def _hold_still(home: Path) -> int | None:
    """A handle that keeps every process from opening the folder, without a change in it; None if it was never opened.

    Raises:
        DataLocked: a process has it open.
    """
    with disk_faults(f"open {home / 'lock'}"):
        try:
            handle = os.open(home / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
    if not claim(handle, shared=True):
        os.close(handle)
        raise DataLocked(
            f"move: the data folder {home} is in use by process {DataFolder(home).owner() or 'unknown'}",
            hint=f"Stop it first: holdfast serve --stop --data {home}",
        )
    return handle


class FolderTarget:
    """A data folder that gets a new generation. Its lock is held until this is closed."""

    durable = False  # before `finish` the target is what it was

    def __init__(self, home: Path, stage: Path):
        self._folder = DataFolder(home)
        self._folder.make()
        self._lock = FolderLock(home)
        self._lock.__enter__()
        self._assembled = stage / ASSEMBLED
        self._assembly: Assembly | None = None
        self._reader: WholeReader | None = None
        with OnFailure(self.close):
            self._folder.sweep()
            database = home / self._folder.opened() / DATABASE
            if database.is_file():
                self._reader = WholeReader(database)

    def tenants(self) -> list[str]:
        return self._reader.tenants() if self._reader else []

    def rows(self, tenant: str, table: str, columns: Sequence[str], order: str) -> Iterator[tuple[Any, ...]]:
        return self._reader.rows(tenant, table, columns, order) if self._reader else iter(())

    def vectors(self, tenant: str) -> Iterator[FileVector]:
        return self._reader.vectors(tenant) if self._reader else iter(())

    def put(self, file: Path, tenant: str) -> None:
        if self._assembly is None:
            self._assembly = Assembly(self._assembled)
        self._assembly.add(file, tenant)

    def complete(self) -> None:
        """From now on what was put is read."""
        if self._assembly is not None:
            self._assembly.finish()
            if self._reader is not None:
                self._reader.close()
            self._reader = WholeReader(self._assembled)

    def verify(self) -> list[Finding]:
        db = open_checker(self._assembled)
        try:
            return verify(db)
        finally:
            db.close()

    def finish(self) -> None:
        """Make what was put the live generation: the commit point."""
        building = self._folder.new_generation()
        with OnFailure(lambda: self._folder.abandon(building)):
            with disk_faults("move the new generation"):
                shutil.move(self._assembled, building / DATABASE)
            name = self._folder.finish(building)
        if self._folder.generations() == [name]:
            self._folder.point_back(name)
        else:
            self._folder.switch(name)

    def close(self) -> None:
        with suppress(FileNotFoundError):
            if self._assembly is not None:
                self._assembly.close()
                self._assembled.unlink()
        if self._reader is not None:
            self._reader.close()
        self._lock.__exit__()
