"""SQLite's errors as faults."""

from __future__ import annotations

from contextlib import AbstractContextManager

import apsw

from holdfast.errors import DataDamaged, Fault, StorageFailed, StorageFull


def storage_fault(error: apsw.Error) -> Fault:
    """The fault that a failed statement or commit means for the caller."""
    if isinstance(error, apsw.FullError):
        return StorageFull("write: the disk is full")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return DataDamaged("store: the database file is damaged")
    if isinstance(error, apsw.IOError):
        return StorageFailed("write: the disk reported an error")
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError):
        return StorageFailed("store: the database file cannot be opened for writing")
    return Fault(f"store: SQLite refused ({type(error).__name__})", hint="Run holdfast verify.")


class _AsFaults(AbstractContextManager[None]):
    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.Error):
            raise storage_fault(error) from error
        if isinstance(error, ValueError):  # bytes that are no text, or text that is no JSON, where a record was written
            raise DataDamaged("store: a record cannot be read") from error


_AS_FAULTS = _AsFaults()


def as_faults() -> AbstractContextManager[None]:
    """Turn what SQLite raises inside the block into faults."""
    return _AS_FAULTS
