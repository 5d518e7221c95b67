"""The live database while it takes no writes: what the next generation takes over from it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.errors import DataDamaged
from holdfast.store.data_folder import DATABASE, DataFolder
from holdfast.store.engine_port import CapturedFile
from holdfast.store.sqlite.files.capture import capture_store
from holdfast.store.sqlite.files.copy_rows import count_of
from holdfast.store.sqlite.files.graft import join, rejoin
from holdfast.store.sqlite.files.salvage_rows import salvage, unreadable


@dataclass(frozen=True, slots=True)
class FrozenFile:
    """Fulfils `engine_port.FrozenStore`."""

    folder: DataFolder
    path: Path

    def last_seq(self) -> int:
        return count_of(self.path)

    def capture(self, into: Path, tenant: str) -> CapturedFile:
        return capture_store(self.path, into, tenant)

    def take_along(self, database: Path, tenant: str) -> bool:
        return take_along(database, self.path, tenant)

    def give_back(self, generation: str, tenant: str) -> None:
        rejoin(self.folder.home / generation / DATABASE, self.path, tenant)


def take_along(database: Path, old: Path, tenant: str) -> bool:
    """Tokens, unsent events and other tenants' memory come from an older file; False if not all of it could be read.

    Raises:
        DataDamaged: nothing of it can be read.
    """
    with suppress(DataDamaged):
        if unreadable(old) is None:
            join(database, old, tenant)
            return True
    scratch = database.with_name("readable.db")
    try:
        whole = salvage(old, scratch).whole
        join(database, scratch, tenant)
    except DataDamaged as fault:
        raise DataDamaged(
            "restore: what is live is too damaged to take its tokens and other tenants' memory along",
            hint="Pass --alone as well to leave them behind, in the files of the old generation, which are kept.",
        ) from fault
    finally:
        scratch.unlink(missing_ok=True)
    return whole
