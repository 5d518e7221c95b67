"""Saving what can still be read of a damaged generation. Checksums decide which rows are sound.

Kept aside after a restore: its rows are merged into the live memory, so that what was newer than the snapshot is not
lost. Still the live one: its sound rows become the next generation, for a memory that has no snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import write_durably
from holdfast.core.errors import Conflict, DataDamaged, Fault, NotFound
from holdfast.snapshot.damaged_generations import (
    damaged_by_restore,
    damaged_generations,
    keep_damaged,
    keep_rows,
    note_copied,
)
from holdfast.snapshot.merge_run import MergeResult, merge_file
from holdfast.snapshot.recovery.alternatives import restorable
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.resolve import LATEST, SnapshotSelector
from holdfast.snapshot.sources.capture import live_memory
from holdfast.snapshot.sources.restore_plan import settle_folders
from holdfast.snapshot.sources.swap import intend
from holdfast.snapshot.switch import ORIGIN, give_up, live_of, switched
from holdfast.snapshot.sync.queue import offer_waiting
from holdfast.store.damage import RESTORE
from holdfast.store.data_folder import DATABASE, DataFolder
from holdfast.store.engine_port import FrozenStore
from holdfast.store.portable import SalvagedRows, count_covered, salvage as salvage_file

ANY = SnapshotSelector("")


@dataclass(frozen=True, slots=True)
class SalvagedMemory:
    """What was read of a damaged generation, and what became of it."""

    source: str
    read: SalvagedRows
    merged: MergeResult | None  # None: the live memory was the damaged one, and its sound rows replaced it
    generation: str | None  # None: nothing was replaced
    in_neither: dict[str, int] | None = None  # rows by table that the live memory has not got either; None: unknown
    snapshot: str | None = None  # the one to restore first, as the live memory is damaged


def salvage(
    context: SnapshotContext,
    name: str | None = None,
    named: SnapshotSelector = ANY,
    *,
    alone: bool = False,
    dry_run: bool = False,
) -> SalvagedMemory:
    """Bring every sound row of a damaged generation into the live memory, or make them the live memory.

    `named` defines how what is live is kept. With `alone` the rows become the live memory though there is a snapshot.

    Raises:
        NotFound: nothing is damaged here, or no damaged generation has that name.
        DataDamaged: nothing of it can be read.
        Conflict: the live memory is the damaged one and a snapshot can be restored first; or what is live would have
            to be encrypted, and no recipient is configured.
        SnapshotsBusy: another process makes, restores or removes snapshots.
    """
    with context.locked("salvage") as result:
        settle_folders(DataFolder(context.home))
        own = damaged_by_restore(context, live_of(context))
        source = _source(context, name, own)
        if source in own:
            done = _replaced(context, source, None if alone else _restored_first(context, dry_run), dry_run)
        else:
            done = _merged(context, source, named, dry_run)
        result.about = done.generation
        if not dry_run:
            note_copied(context.home, source, done.generation or DataFolder(context.home).current())
    if done.generation is None:
        return done
    before = done.merged.before if done.merged is not None else None
    context.publish("restored", {"id": None, "generation": done.generation, "before": before})
    if done.merged is None:
        return done
    return replace(done, merged=replace(done.merged, waiting=offer_waiting(context)))


def _source(context: SnapshotContext, name: str | None, own: tuple[str, ...]) -> str:
    """The damaged generation to use: the named one, else the live one, else the newest that is kept aside."""
    names = [*reversed(own), *(one.name for one in damaged_generations(context.home))]
    if name is None and names:
        return names[0]
    if name is not None and name in names:
        return name
    if name is None:
        raise NotFound("salvage: no damage is known in this memory", hint="Check with: holdfast verify")
    raise NotFound(
        f"salvage: there is no damaged generation {name[:40]!r}", hint="List them: holdfast snapshot damaged"
    )


def _restored_first(context: SnapshotContext, dry_run: bool) -> str | None:
    """The snapshot that is to be restored before anything is salvaged; None if there is none.

    What can be read alone is a part of the memory, and would look like all of it.

    Raises:
        Conflict: there is one, and something is to be changed.
    """
    try:
        id = restorable(context)
        known = f"there is a snapshot of this memory ({id})"
    except Fault as fault:
        id, known = LATEST, f"the vault may have a snapshot of this memory but is not accessible ({fault.message})"
    if id is not None and not dry_run:
        raise Conflict(
            f"salvage: {known}, which may contain more than the readable rows",
            hint="If it can no longer be restored, pass --alone. Otherwise restore it first; salvage then adds the "
            f"newer records: {RESTORE}",
        )
    return id


def _merged(context: SnapshotContext, source: str, named: SnapshotSelector, dry_run: bool) -> SalvagedMemory:
    with context.repo.staging() as staging:
        database = staging / DATABASE
        read = _read(_file_of(context, source), database, context.tenant)
        now = live_memory(context).as_file(staging, context.tenant)
        lost = _in_neither(read, count_covered(now, database, context.tenant))
        done = merge_file(context, source, database, named, dry_run=dry_run)
    return SalvagedMemory(source, read, done, done.generation, lost)


def _in_neither(read: SalvagedRows, covered: dict[str, int]) -> dict[str, int] | None:
    """Rows that cannot be read in the damaged file and did not come back with the restore."""
    if read.lost is None:
        return None
    left = {name: count - covered.get(name, 0) for name, count in read.lost.items()}
    return {name: count for name, count in left.items() if count > 0}


def _replaced(context: SnapshotContext, source: str, snapshot: str | None, dry_run: bool) -> SalvagedMemory:
    if dry_run:
        with context.repo.staging() as staging:
            live = live_of(context)
            file = live.as_file(staging, context.tenant, check=False) if live.is_open() else _file_of(context, source)
            read = _read(file, staging / DATABASE, None)
        return SalvagedMemory(source, read, None, None, None if snapshot else read.lost, snapshot)
    keep_rows(context, live_of(context), source)
    folder = DataFolder(context.home)
    building = folder.new_generation()
    with OnFailure(give_up, folder, building):
        read = _read(_file_of(context, source), building / DATABASE, None)
        name = make_live(context, folder, building, source)
    return SalvagedMemory(source, read, None, name, read.lost)


def make_live(context: SnapshotContext, folder: DataFolder, building: Path, source: str) -> str:
    """Make a generation live that was built from a damaged one, which is kept aside."""
    write_durably(building / ORIGIN, context.tenant.encode())

    def build(_: FrozenStore | None) -> str:
        keep_damaged(context.home, (source,))
        name = folder.finish(building)
        intend(context.home, name, ())
        return name

    return switched(context, live_of(context), build)


def _file_of(context: SnapshotContext, generation: str) -> Path:
    return context.home / generation / DATABASE


def _read(database: Path, into: Path, tenant: str | None) -> SalvagedRows:
    read = salvage_file(database, into, tenant)
    if not read.rows:
        raise DataDamaged(
            "salvage: no row of the damaged memory can be read",
            hint="Restore a snapshot: holdfast snapshot list shows them.",
        )
    return read
