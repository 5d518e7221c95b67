"""Storing the files of a snapshot: all of them, or none."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.colony.file_names import Series, age_order
from holdfast.colony.files import VaultFiles
from holdfast.colony.manifest import SnapshotParts
from holdfast.colony.pointer import TRIES
from holdfast.core.errors import ColonyConflict, ColonyMemoryError


def store(files: VaultFiles, built: SnapshotParts, room: int | None, drops: Sequence[tuple[int, list[str]]]) -> None:
    """Write parts and manifest; the manifest makes them a snapshot.

    `drops` are what to delete on the way, as size and names of each: one goes when the next file has no room without
    it, and the last of them for the pointer that follows.

    Raises:
        ColonyMemoryError: a write failed; what was written is withdrawn.
    """
    waiting, written = list(drops), list[str]()
    try:
        for name, text in built.files():
            while room is not None and room < len(text) and waiting:
                size, names = waiting.pop(0)
                files.delete_all(names)
                room += size
            written.append(name)  # before it is stored: an answer may get lost
            files.create(name, text)
            room = None if room is None else room - len(text)
        for _, names in waiting:
            files.delete_all(names)
    except ColonyMemoryError as fault:
        # A conflict is about the last one, which then belongs to another writer.
        _withdraw(files, written[:-1] if isinstance(fault, ColonyConflict) else written)
        raise


def _withdraw(files: VaultFiles, written: Sequence[str]) -> None:
    """Delete what a failed upload wrote, the manifest first. Where the vault fails again, prune() finds it later."""
    try:
        files.delete_all(reversed(written))
    except ColonyMemoryError:
        return  # the fault that began it is the one to report


def settle(files: VaultFiles, built: SnapshotParts, series: Series) -> None:
    """Look once more: a pruning elsewhere may have taken parts for leftovers before their manifest was there.

    Raises:
        ColonyConflict: another writer deletes them again and again, or deleted the whole snapshot.
    """
    for _ in range(TRIES):
        listing = files.list()
        if built.manifest[0] not in listing:
            newest = max(listing.finished(series), key=age_order, default="")
            if age_order(newest) > age_order(built.info.snapshot_id):
                return  # pruned by the writer of a newer one
            raise ColonyConflict("backup: another writer deleted the snapshot during the upload")
        lost = [(name, text) for name, text in built.parts if name not in listing]
        if not lost:
            return
        for name, text in lost:
            files.create(name, text)
    raise ColonyConflict("backup: another writer keeps deleting parts of the snapshot")
