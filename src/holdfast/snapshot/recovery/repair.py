"""Repairing what follows from the records: in place where the pages are sound, else in a new generation."""

from __future__ import annotations

from pathlib import Path

from holdfast.core.cleanup import OnFailure
from holdfast.core.errors import DataDamaged
from holdfast.snapshot.damaged_generations import note_copied
from holdfast.snapshot.recovery.salvage import make_live
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.sources.restore_plan import settle_folders
from holdfast.snapshot.switch import give_up, live_of
from holdfast.store.damage import Damage, damage_of, note_damage
from holdfast.store.data_folder import DATABASE, DataFolder
from holdfast.store.portable import salvage


def repair_index(context: SnapshotContext) -> int:
    """Build the word index anew from the rows, and drop vectors that are wrong; how many rows it covers.

    Where pages are damaged every record is copied into a new generation, whose indexes are new. That is done only if no
    record is lost by it. Records that are damaged on sound pages are left as they are, for `verify` to report.

    Raises:
        DataDamaged: records are on damaged pages; the hint names the next step.
    """
    store = live_of(context).store
    if store.check_pages():
        repaired = store.repair_index()
        found = damage_of(store.verify())
        if found is None or found.extent == "records":
            return repaired
    return _rebuild(context)


def _rebuild(context: SnapshotContext) -> int:
    with context.locked("repair") as result:
        folder = DataFolder(context.home)
        settle_folders(folder)
        source = folder.current()
        building = folder.new_generation()
        with OnFailure(give_up, folder, building):
            rows = _copied(context, context.home / source, building / DATABASE)
            result.about = make_live(context, folder, building, source)
            note_copied(context.home, source, result.about)
    return rows


def _copied(context: SnapshotContext, generation: Path, into: Path) -> int:
    """Every record in a new file; the damaged store takes no writes, so none is missed."""
    read = salvage(generation / DATABASE, into)
    if read.whole:
        return sum(read.rows.values())
    lost = sum((read.lost or {}).values())
    said = f"{lost} records cannot be read" if lost else "some records cannot be read"
    note_damage(generation, Damage("records", said))
    live_of(context).store.verify()  # so that the store itself knows
    fault = live_of(context).store.failure(context.tenant)
    raise DataDamaged(f"verify: not only the index is damaged: {said}", hint=fault.hint if fault is not None else None)
