"""Saving what can still be read of a damaged generation. Checksums decide which rows are sound.

Kept aside after a restore: its rows are merged into the live memory, so that what was newer than the snapshot is not
lost. Still the live one: its sound rows become the next generation, for a memory that has no snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.disk import write_durably
from holdfast.errors import DataDamaged, NotFound
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.damaged import damaged_generations, keep_aside, leaving, note_copied
from holdfast.snapshot.folder_exchange import intend
from holdfast.snapshot.folders_back import settle_folders
from holdfast.snapshot.merging import MergedMemories, merge_file
from holdfast.snapshot.sending import offer_waiting
from holdfast.snapshot.switching import ORIGIN, give_up, live_of, switched
from holdfast.store.folder import DATABASE, DataFolder
from holdfast.store.sqlite.salvage import Salvaged, salvage as salvage_file


@dataclass(frozen=True, slots=True)
class SalvagedMemory:
    """What was read of a damaged generation, and what became of it."""

    source: str
    read: Salvaged
    merged: MergedMemories | None  # None: the live memory was the damaged one, and its sound rows took its place
    generation: str | None  # None: nothing was exchanged


def salvage(archive: Archive, name: str | None = None, *, dry_run: bool = False) -> SalvagedMemory:
    """Bring every sound row of a damaged generation into the live memory, or make them the live memory.

    Raises:
        NotFound: nothing is damaged here, or no damaged generation has that name.
        DataDamaged: nothing of it can be read.
        SnapshotsBusy: another process makes, restores or removes snapshots.
    """
    with archive.locked("salvage") as result:
        settle_folders(DataFolder(archive.home))
        own = leaving(archive, live_of(archive))
        source = _source(archive, name, own)
        done = _replaced(archive, source, dry_run) if source in own else _merged(archive, source, dry_run)
        result.about = done.generation
        if not dry_run:
            note_copied(archive.home, source)
    if done.generation is None:
        return done
    archive.tell("restored", {"id": None, "generation": done.generation, "before": None})
    if done.merged is None:
        return done
    return replace(done, merged=replace(done.merged, waiting=offer_waiting(archive)))


def _source(archive: Archive, name: str | None, own: tuple[str, ...]) -> str:
    """The damaged generation that is meant: the live one first, then the newest that is kept aside."""
    names = [*reversed(own), *(one.name for one in damaged_generations(archive.home))]
    if name is None and names:
        return names[0]
    if name is not None and name in names:
        return name
    if name is None:
        raise NotFound("salvage: nothing is known to be damaged here", hint="See: holdfast verify")
    raise NotFound(f"salvage: no damaged generation is called {name[:40]!r}", hint="See: holdfast snapshot damaged")


def _merged(archive: Archive, source: str, dry_run: bool) -> SalvagedMemory:
    with archive.shelf.staging() as staging:
        database = staging / DATABASE
        read = _read(archive.home / source, database, archive.tenant)
        done = merge_file(archive, source, database, dry_run=dry_run)
    return SalvagedMemory(source, read, done, done.generation)


def _replaced(archive: Archive, source: str, dry_run: bool) -> SalvagedMemory:
    if dry_run:
        with archive.shelf.staging() as staging:
            return SalvagedMemory(source, _read(archive.home / source, staging / DATABASE, None), None, None)
    folder = DataFolder(archive.home)
    building = folder.new_generation()
    try:
        read = _read(archive.home / source, building / DATABASE, None)
        name = make_live(archive, folder, building, source)
    except BaseException:
        give_up(folder, building)
        raise
    return SalvagedMemory(source, read, None, name)


def make_live(archive: Archive, folder: DataFolder, building: Path, source: str) -> str:
    """Make a generation live that was built from a damaged one, which is kept aside."""
    write_durably(building / ORIGIN, archive.tenant.encode())

    def build(_: Path | None) -> str:
        keep_aside(archive.home, (source,))
        name = folder.finish(building)
        intend(archive.home, name, ())
        return name

    return switched(archive, live_of(archive), build)


def _read(generation: Path, into: Path, tenant: str | None) -> Salvaged:
    read = salvage_file(generation / DATABASE, into, tenant)
    if not read.rows:
        raise DataDamaged(
            f"salvage: no row of {generation.name} can be read",
            hint="Restore a snapshot: holdfast snapshot list shows them.",
        )
    return read
