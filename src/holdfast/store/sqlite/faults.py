"""SQLite's errors as faults."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def as_faults() -> Iterator[None]:
    """Turn what SQLite raises inside the block into faults."""
    try:
        yield
    except apsw.Error as error:
        raise storage_fault(error) from error
    except ValueError as error:  # bytes that are no text, or text that is no JSON, where a record was written
        raise DataDamaged("store: a record cannot be read") from error
