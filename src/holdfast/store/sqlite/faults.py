"""SQLite's errors as faults."""

from __future__ import annotations

from contextlib import AbstractContextManager

import apsw
import orjson

from holdfast.core.errors import DataDamaged, DataReadOnly, Fault, StorageFailed, StorageFull
from holdfast.store.damage import DamageWatch


def storage_fault(error: apsw.Error) -> Fault:
    """The fault that a failed statement or commit means for the caller."""
    # The index of a log could not be made larger: its pages are written one by one, and only a full disk refuses one.
    if isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
        return StorageFull("write: the disk is full")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return DataDamaged("store: the database file is damaged")
    if isinstance(error, apsw.IOError):
        return StorageFailed("write: the disk reported an error")
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError):
        return StorageFailed("store: the database file cannot be opened for writing")
    return Fault(f"store: SQLite refused ({type(error).__name__})", hint="Run holdfast verify.")


PAGES = "pages of the database file are damaged"


class _AsFaults(AbstractContextManager[None]):
    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.Error):
            raise storage_fault(error) from error
        if isinstance(error, ValueError):  # bytes that are no text, or text that is no JSON, where a record was written
            raise DataDamaged("store: a record cannot be read") from error


_AS_FAULTS = _AsFaults()


class DamageReporting(_AsFaults):
    """The same for one store, which records the damage that was met and adds what to do about it."""

    def __init__(self, watch: DamageWatch):
        self._watch = watch

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and (why := damage_in(error)):
            self._watch.met(why)
            raise DataDamaged(f"store: {why}", hint=self._watch.hint) from error
        super().__exit__(kind, error, trace)


def damage_in(error: BaseException) -> str | None:
    """The damage of the file that an error reports; None if it reports none.

    Text that cannot be encoded is the caller's error, not damage: it must not stop all writes.
    """
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return PAGES
    if isinstance(error, UnicodeDecodeError | orjson.JSONDecodeError):
        return "a record cannot be read"
    if isinstance(error, DataDamaged) and not isinstance(error, DataReadOnly):
        return error.message.removeprefix("store: ")
    return None


def as_faults() -> AbstractContextManager[None]:
    """Turn what SQLite raises inside the block into faults."""
    return _AS_FAULTS
