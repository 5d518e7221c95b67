"""Going over to another generation, as a restore, an undo and a merge do: what is live is kept, then left."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from holdfast.core.errors import Conflict, DataDamaged, Fault
from holdfast.core.model import Json, Lifecycle
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.create import Wish, create_locked
from holdfast.snapshot.repo.context import Archive
from holdfast.snapshot.repo.latest import BY_RESTORE, RESTORE_LABEL
from holdfast.snapshot.resolve import Named
from holdfast.snapshot.safety_snapshot import sealed_alike
from holdfast.snapshot.sources.capture import folders_of
from holdfast.snapshot.sources.change_check import is_changed
from holdfast.snapshot.sources.restore_plan import settle_folders
from holdfast.store.data_folder import DataFolder
from holdfast.store.lifecycle import Build, Home
from holdfast.store.port import is_damaged
from holdfast.store.tables import ANSWERS, AUDIT, TABLES, TOKENS

BEFORE_RESTORE = Wish(label=RESTORE_LABEL, made_by=BY_RESTORE)
ORIGIN = "origin"  # in a generation that was restored or merged: whose memory was


def live_of(archive: Archive) -> Home:
    """The memory that is live here.

    Raises:
        Conflict: none is.
    """
    if archive.live is None:
        raise Conflict("restore: no memory is open here")
    return archive.live


def wish_of(archive: Archive, wish: Wish, named: Named, manifest: Manifest | None) -> Wish:
    """How what is live is to be kept; nobody needs to know for whom if nothing will be."""
    return sealed_alike(archive, wish, named, manifest) if _will_be_kept(archive) else wish


def _will_be_kept(archive: Archive) -> bool:
    """Nothing is kept of a memory with nothing in it: as the newest snapshot it would only be taken for the memory."""
    live = live_of(archive)
    if "restore" not in archive.settings.snapshot_before or not live.is_open() or is_damaged(live.store):
        return False  # what is damaged is not sealed: its files are kept instead
    return not _is_empty(archive, live)


def _is_empty(archive: Archive, live: Home) -> bool:
    """Whether nothing is stored; tokens, kept answers and the log of what was done are no memory. Folders are."""
    try:
        reader = live.store.read()
        stored = any(reader.count(table, archive.tenant) for table in TABLES if table not in (AUDIT, TOKENS, ANSWERS))
    except DataDamaged:
        return False
    return not stored and not any(folder.path.exists() for folder in folders_of(archive))


def keep(archive: Archive, wish: Wish) -> str | None:
    """A snapshot of what is live, unless the settings want none or it cannot be opened; then its files stay."""
    if not _will_be_kept(archive):
        return None
    try:
        return create_locked(archive, wish).id
    except DataDamaged:  # it opens, and is damaged inside: that is what a restore is for, and its files are kept
        if _is_sound(
            archive
        ):  # what is damaged is the repository or a key, and a sound memory is not given up for that
            raise
        return None


def keep_last(archive: Archive, wish: Wish) -> str | None:
    """A snapshot of what the newest one does not hold, while nobody writes: what was acknowledged a moment ago must
    not be in the old generation alone, which the next restore removes. Nobody is told: that would be a write."""
    return keep(replace(archive, tell=_nobody), wish) if is_changed(archive) else None


def _nobody(kind: Lifecycle, body: Json) -> None:
    """Nobody is told."""


def _is_sound(archive: Archive) -> bool:
    try:
        return not live_of(archive).store.verify()
    except DataDamaged:
        return False


def give_up(folder: DataFolder, building: Path) -> None:
    """Remove what was begun; where the disk does not let us, the next start does it."""
    with suppress(Fault):
        folder.abandon(building)


def switched(archive: Archive, live: Home, build: Build) -> str:
    """Go over to the generation that `build` names, then let the folders follow, or take back what they were to do."""
    folder = DataFolder(archive.home)
    try:
        return live.exchange(build, archive.tenant)
    finally:
        settle_folders(folder)
