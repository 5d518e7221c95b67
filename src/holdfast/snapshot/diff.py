"""What changed between two snapshots, or between one and now: records, files, commits, state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.errors import DataDamaged
from holdfast.core.times import iso
from holdfast.snapshot.browse import ExtractedSnapshot, laid_out
from holdfast.snapshot.damaged_generations import live_name
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.resolve import SnapshotSelector
from holdfast.snapshot.sources.capture import capture_around, live_memory
from holdfast.snapshot.sources.folder_diff import FolderDiff, StateChange, diff_folders, diff_state
from holdfast.store.data_folder import DATABASE, DataFolder
from holdfast.store.portable import TableDiff, compare_stores, make_empty, salvage

NOW = "now"


@dataclass(frozen=True, slots=True)
class MemoryDiff:
    """From `a` to `b`, by table, by folder and by state."""

    a: str
    b: str
    tables: tuple[TableDiff, ...]
    folders: tuple[FolderDiff, ...]
    state: tuple[StateChange, ...]
    notes: tuple[str, ...] = ()  # what of a side could not be read, or is not known of its moment

    @property
    def same(self) -> bool:
        return not (self.tables or self.folders or self.state)


@dataclass(frozen=True, slots=True)
class DiffSide:
    """One of the two that are compared."""

    name: str
    database: Path
    folder: Path  # its other members lie under it
    notes: tuple[str, ...] = ()


def difference(
    context: SnapshotContext, one: SnapshotSelector, other: SnapshotSelector | None, limit: int
) -> MemoryDiff:
    """What changed from one snapshot to the other, or to now. Encrypted ones need their identity.

    Raises:
        SnapshotDamaged, SnapshotUntrusted, SnapshotTooNew, SnapshotForeign, IdentityNeeded: one may not be used.
    """
    with ExitStack() as stack:
        a = stack.enter_context(_then(context, one))
        b = stack.enter_context(_then(context, other) if other else live_side(context))
        return compared(context, a, b, limit)


def compared(context: SnapshotContext, a: DiffSide, b: DiffSide, limit: int) -> MemoryDiff:
    tables = compare_stores(a.database, b.database, context.tenant, limit=limit)
    with context.repo.staging() as scratch:
        folders = diff_folders(a.folder, b.folder, scratch)
    return MemoryDiff(
        a.name,
        b.name,
        tuple(one for one in tables if one.added or one.removed or one.changed),
        folders,
        diff_state(a.folder, b.folder),
        (*a.notes, *b.notes),
    )


@contextmanager
def _then(context: SnapshotContext, named: SnapshotSelector) -> Iterator[DiffSide]:
    with laid_out(context, named) as laid:
        yield side_of(laid)


def side_of(laid: ExtractedSnapshot) -> DiffSide:
    journal = laid.journal
    if journal is None or journal.fetched is None:
        return DiffSide(laid.manifest.identity.id, laid.database, laid.folder)
    return DiffSide(iso(journal.upto), laid.database, laid.folder, journal.notes)


@contextmanager
def live_side(context: SnapshotContext) -> Iterator[DiffSide]:
    """The live memory: its database as it is, its folders and state as a snapshot would have them."""
    with context.repo.staging() as staging:
        database = live_memory(context).as_file(staging, context.tenant)
        capture_around(context, staging, database, redact=context.settings.snapshot_redact)
        yield DiffSide(NOW, database, staging)


@contextmanager
def readable_side(context: SnapshotContext, folder: Path) -> Iterator[DiffSide]:
    """In the place of a damaged live memory: its sound rows, or none. Its folders count as the other side's."""
    live = live_name(DataFolder(context.home))
    with context.repo.staging() as staging:
        try:
            if live is None:
                raise DataDamaged("there is no live memory")
            salvage(context.home / live / DATABASE, staging / DATABASE, context.tenant)
        except DataDamaged:
            make_empty(staging / DATABASE)
        yield DiffSide(NOW, staging / DATABASE, folder)
