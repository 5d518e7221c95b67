"""Restoring: verify → snapshot of what is → build the next generation → check → switch → folders. And back again.

The switch of the pointer is the commit point: before it the live memory is untouched, after it the restored one
is live. Memory folders follow by a journal that the next start finishes if this process does not.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import disk_fault, user_path, write_durably
from holdfast.core.errors import Conflict, DataDamaged, DataTooNew, Fault, RestorePending
from holdfast.snapshot.browse import laid_out
from holdfast.snapshot.bundle.reader import unpack
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.create import CreateOptions
from holdfast.snapshot.damaged_generations import damaged_by_restore, keep_damaged, keep_rows, no_longer_copied
from holdfast.snapshot.diff import MemoryDiff, compared, live_side, readable_side, side_of
from holdfast.snapshot.journal.journal_layout import list_journal
from holdfast.snapshot.journal.journal_moment import Moment
from holdfast.snapshot.journal.journal_queue import journal_folder, note_origin
from holdfast.snapshot.journal.journal_replay import line_of, place_of_copy, replay
from holdfast.snapshot.journal.other_lines import last_of, note_held, note_known
from holdfast.snapshot.remote.colony import is_colony
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.key_warnings import note_opened
from holdfast.snapshot.repo.paths import repo_folder
from holdfast.snapshot.repo.repository import SnapshotRepository
from holdfast.snapshot.resolve import (
    LOCAL_REPOSITORY,
    ResolvedSnapshot,
    SnapshotSelector,
    highest_at,
    identities_of,
    sought,
    trusted,
)
from holdfast.snapshot.sources.capture import STORE
from holdfast.snapshot.sources.restore_plan import drop_kept, drop_staged, settle_folders, stage_folders
from holdfast.snapshot.sources.swap import FolderSwap, intend, pending
from holdfast.snapshot.switch import (
    BEFORE_RESTORE,
    ORIGIN,
    give_up,
    keep,
    keep_last,
    live_of,
    safety_options,
    switched,
)
from holdfast.snapshot.sync.queue import offer_waiting
from holdfast.store.data_folder import DATABASE, DataFolder, FolderLock
from holdfast.store.engine_port import FrozenStore, OpenMemory
from holdfast.store.portable import describe, note_followed, prepare, take_along
from holdfast.vault.restriction import ReadOnly

Rows = tuple[tuple[str, int], ...]
Names = tuple[str, ...]

_BUNDLE = "bundle"  # in a generation that is being built: the members as they were packed


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What is live now, and the way back to what was live before."""

    manifest: Manifest
    generation: str
    before: str | None  # the snapshot of what was live
    rows: dict[str, int]
    folders: tuple[str, ...]
    alone: bool = False  # not everything was taken along from what was live
    damaged: tuple[str, ...] = ()  # generations that were found damaged, and are kept aside
    waiting: str | None = None  # why the vault has not got the snapshot of what was live
    journal: Moment | None = None  # what the journal added to the snapshot

    @property
    def past(self) -> str:
        """The snapshot that the memory comes from, if it was restored from pieces of the journal alone."""
        return self.journal.past if self.journal is not None else ""


def restore(context: SnapshotContext, named: SnapshotSelector, *, alone: bool = False) -> RestoreResult:
    """Make the snapshot's memory the live one. Any failure before the switch leaves the live one untouched.

    After it memory folders may fail to follow; the next start or restore lets them.

    Tokens and other tenants' memory come along from what is live; if it is too damaged for that, only `alone` goes on
    without them.

    Raises:
        SnapshotDamaged, SnapshotUntrusted, SnapshotOlder, SnapshotTooNew, SnapshotForeign, IdentityNeeded: it may not
            be used.
        Conflict: what is live would have to be kept encrypted, and no recipient is configured.
        SnapshotsBusy: another process makes, restores or removes snapshots.
        DataDamaged: what was in it is not sound, or what is live cannot be read.
    """
    live = live_of(context)
    with context.locked("restore") as result, sought(context, named) as found:
        settle_folders(DataFolder(context.home))
        manifest = trusted(context, named, found)
        context.repo.begin_after(highest_at(context, named, manifest))
        options = safety_options(context, BEFORE_RESTORE, named, manifest)
        before = keep(context, options)
        context.moved("restore", manifest.bundle_size)
        damaged = damaged_by_restore(context, live)
        name, rows, folders, later, behind = _restored(context, live, named, found, manifest, options, alone, damaged)
        before = later or before
        result.about = name
    context.publish("restored", {"id": manifest.identity.id, "generation": name, "before": before})
    waiting = offer_waiting(context)
    return RestoreResult(manifest, name, before, dict(rows), folders, behind, damaged, waiting, found.journal)


def preview(context: SnapshotContext, named: SnapshotSelector, limit: int, *, replaces: bool = True) -> MemoryDiff:
    """What restoring a snapshot would change: from now to then. What a restore would refuse is refused here too.

    Raises:
        Conflict: what is live would be replaced, and could not be kept as well sealed as the snapshots are.
    """
    with laid_out(context, named, reading=False) as laid:
        if replaces:
            safety_options(context, BEFORE_RESTORE, named, laid.manifest)
        try:
            with live_side(context) as now:
                return compared(context, now, side_of(laid), limit)
        except (DataDamaged, DataTooNew, RestorePending) as fault:
            with readable_side(context, laid.folder) as rest:
                found = compared(context, rest, side_of(laid), limit)
            return replace(found, notes=(_unread(fault), *found.notes))


def _unread(fault: Fault) -> str:
    """Why the comparison is not with the whole live memory."""
    if isinstance(fault, RestorePending):
        return "There is no live memory yet; the snapshot is compared with an empty one."
    if isinstance(fault, DataTooNew):
        return f"The live memory cannot be read: {fault.message}."
    return "The live memory is damaged; only its readable rows are compared."


def branch(context: SnapshotContext, named: SnapshotSelector, target: Path) -> RestoreResult:
    """Start a second memory from a snapshot in a new folder; the live one is not touched.

    Raises:
        Conflict: something is in that folder.
        SnapshotDamaged and others: as `restore`.
    """
    place = user_path(target, "into").resolve()
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise Conflict("into: the folder already exists", hint="Choose a folder that does not exist yet.")
    folder = DataFolder(place)
    folder.make()
    with FolderLock(place):
        if folder.generations():
            raise Conflict("into: another process created a memory there")
        # it was empty: all that is there now was begun here
        with OnFailure(shutil.rmtree, place, ignore_errors=True):
            return plant(context, named, folder)


def plant(context: SnapshotContext, named: SnapshotSelector, folder: DataFolder) -> RestoreResult:
    """Begin an empty data folder with a snapshot; call it with that folder's lock held."""
    past = _lines_in(context, named)
    with sought(context, named) as found:
        manifest = trusted(context, named, found)
        building = folder.new_generation()
        with OnFailure(give_up, folder, building):
            rows = _built(context, named, found, manifest, building)
            repo = SnapshotRepository(repo_folder(folder.home, context.tenant, context.agent))
            repo.begin_after(highest_at(context, named, manifest))
            exchanges = stage_folders(context, building / _BUNDLE, folder.home)
            shutil.rmtree(building / _BUNDLE)
            # A generation that is alone is live even before the pointer: what its folders are to become is noted first.
            intend(folder.home, folder.name_of(building), exchanges)
            _note_place(context, named, found, manifest, building)
            name = folder.finish(building)
        held = _held(manifest, found)
    note_origin(folder.home, context.tenant, context.agent, line_of(manifest, found.journal))
    if past is not None:
        note_known(journal_folder(folder.home, context.tenant, context.agent), {**past, **held})
    folder.switch(name)
    settle_folders(folder)
    swapped = tuple(one.live.name for one in exchanges)
    return RestoreResult(manifest, name, None, dict(rows), swapped, journal=found.journal)


def _restored(
    context: SnapshotContext,
    live: OpenMemory,
    named: SnapshotSelector,
    found: ResolvedSnapshot,
    manifest: Manifest,
    options: CreateOptions,
    alone: bool,
    damaged: Names,
) -> tuple[str, Rows, Names, str | None, bool]:
    folder = DataFolder(context.home)
    later: list[str | None] = []
    whole: list[bool] = []  # whether all that is to come along could be read
    building = folder.new_generation()
    exchanges: tuple[FolderSwap, ...] = ()
    try:
        rows = _built(context, named, found, manifest, building)
        exchanges = stage_folders(context, building / _BUNDLE, context.home)
        shutil.rmtree(building / _BUNDLE)

        note_origin(context.home, context.tenant, context.agent, line_of(manifest, found.journal))

        def build(old: FrozenStore | None) -> str:
            if old is not None:
                later.append(keep_last(context, options))
            if not alone:
                whole.extend(_take_along(context, building / DATABASE, old, damaged))
            _note_place(context, named, found, manifest, building)
            for name in damaged:
                keep_rows(context, live, name)
            keep_damaged(context.home, damaged)
            no_longer_copied(context.home)
            name = folder.finish(building)
            intend(context.home, name, exchanges)
            for line, number in _held(manifest, found).items():
                note_held(journal_folder(context.home, context.tenant, context.agent), line, number)
            return name

        name = switched(context, live, build)
    except BaseException:
        give_up(folder, building)
        if pending(context.home) is None:  # what is intended is put in place or taken back, now or at the next start
            drop_staged(exchanges)
        raise
    if folder.previous() is not None:  # otherwise nothing records which of the others was live: all of them stay
        drop_kept(context, folder.drop_old())
    behind = alone or (bool(damaged) and whole != [True])
    return name, rows, tuple(one.live.name for one in exchanges), next(iter(later), None), behind


def _lines_in(context: SnapshotContext, named: SnapshotSelector) -> dict[str, int] | None:
    """The lines of the journal that are in the vault, each with its last piece: what comes later is not in what is
    restored now, and will be noticed."""
    if not named.vault or is_colony(named.vault):
        return None
    vault = ReadOnly(context.vault(named.vault))
    return {line: last_of(objects) for line, objects in list_journal(vault, context.tenant, context.agent).items()}


def _held(manifest: Manifest, found: ResolvedSnapshot) -> dict[str, int]:
    place = place_of_copy(manifest, found.journal)
    return {place.line: place.number} if place else {}


def _note_place(
    context: SnapshotContext, named: SnapshotSelector, found: ResolvedSnapshot, manifest: Manifest, building: Path
) -> None:
    """A copy that follows goes on from the last piece that it has."""
    if named.follows and (place := place_of_copy(manifest, found.journal)) is not None:
        note_followed(building / DATABASE, context.tenant, place)


def _take_along(context: SnapshotContext, database: Path, old: FrozenStore | None, damaged: Names) -> Iterator[bool]:
    """Bring along what is not the tenant's memory, from what was live; whether all of it was read, if there is any."""
    if old is not None:
        yield old.take_along(database, context.tenant)
    elif (left := _left(context.home, damaged)) is not None:
        yield take_along(database, left, context.tenant)


def _left(home: Path, damaged: Names) -> Path | None:
    """The database of the one generation that cannot be opened, if there is something to read."""
    if len(damaged) != 1 or not (home / damaged[0] / DATABASE).is_file():
        return None
    return home / damaged[0] / DATABASE


def _built(
    context: SnapshotContext, named: SnapshotSelector, found: ResolvedSnapshot, manifest: Manifest, building: Path
) -> Rows:
    """The snapshot's store in the folder of the next generation, checked; its other members beside it."""
    identities = identities_of(context, named)
    # The store becomes durable with its generation, and on its way there while its rows are checked.
    unpack(found.folder / manifest.bundle_name, manifest, building / _BUNDLE, identities, hasty=STORE.__eq__)
    note_opened(context, manifest, identities)
    try:
        (building / _BUNDLE / STORE).rename(building / DATABASE)
    except OSError as error:
        raise disk_fault(error, "restore the store") from error
    owner = manifest.identity.agent
    renamed = (owner, context.agent) if named.take_over and owner != context.agent else None
    rows, _ = prepare(building / DATABASE, context.tenant, agent=renamed, own=found.place == LOCAL_REPOSITORY)
    if found.journal is not None:
        replay(building / DATABASE, context.tenant, found.journal, identities, named.take_over)
        rows = describe(building / DATABASE).rows
    write_durably(building / ORIGIN, context.tenant.encode())
    return rows
