"""The portable database file: one tenant's memory in a file that every engine writes and reads.

It is a SQLite file of the schema that the embedded store has. Snapshots hold one; diff, merge, verification and search
in the past work on it, so that they know no engine.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from holdfast.core.model import Event
from holdfast.store.sqlite.database import store_schema
from holdfast.store.sqlite.files.capture import check_store, describe, sample_ids
from holdfast.store.sqlite.files.compare import TableDiff, compare_stores
from holdfast.store.sqlite.files.coverage import count_covered
from holdfast.store.sqlite.files.frozen_store import take_along
from holdfast.store.sqlite.files.graft import note_followed, prepare
from holdfast.store.sqlite.files.past_store import PastStore, open_past, reopen_past
from holdfast.store.sqlite.files.row_transfer import FileReader, FileVector, FileWriter
from holdfast.store.sqlite.files.runtime_state import runtime_state
from holdfast.store.sqlite.files.salvage_rows import SalvagedRows, make_empty, salvage
from holdfast.store.sqlite.move.whole_tenant import WholeReader, check_whole
from holdfast.store.sqlite.store import SqliteStore

__all__ = (
    "FileReader",
    "FileVector",
    "FileWriter",
    "PastStore",
    "SalvagedRows",
    "TableDiff",
    "WholeReader",
    "check_store",
    "check_whole",
    "compare_stores",
    "count_covered",
    "describe",
    "make_empty",
    "note_followed",
    "open_file",
    "open_past",
    "prepare",
    "reopen_past",
    "runtime_state",
    "salvage",
    "sample_ids",
    "sqlite_version",
    "store_schema",
    "take_along",
)


def open_file(path: Path) -> SqliteStore:
    """A store to write a file with, which is made if it is not there; its events reach no reader."""
    return SqliteStore(path, _unpublished)


def _unpublished(event: Event) -> None:
    """A memory that is being built has no live readers."""


def sqlite_version() -> str:
    """Of the library that reads and writes the file."""
    return apsw.sqlite_lib_version()
