"""Reading a snapshot without restoring it: its store is unpacked privately. Recently read plain ones stay unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.core.disk import disk_faults
from holdfast.core.errors import DataDamaged, Fault
from holdfast.snapshot.bundle.reader import unpack
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.journal.journal_moment import Moment
from holdfast.snapshot.journal.journal_replay import replay, restate
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.orphans import changing_names
from holdfast.snapshot.repo.store_cache import drop, keep, place_of_opened, reading_kept
from holdfast.snapshot.resolve import (
    LOCAL_REPOSITORY,
    ResolvedSnapshot,
    SnapshotSelector,
    identities_of,
    sought,
    trusted,
)
from holdfast.snapshot.sources.capture import STORE
from holdfast.store.portable import PastStore, open_past, reopen_past, store_schema


@dataclass(frozen=True, slots=True)
class ExtractedSnapshot:
    """A verified snapshot's members in a folder of this process alone."""

    manifest: Manifest
    folder: Path
    journal: Moment | None = None  # what the journal added to it

    @property
    def database(self) -> Path:
        return self.folder / STORE


@dataclass(frozen=True, slots=True)
class PastMemory:
    """The memory of a snapshot, to be read, and which snapshot that is."""

    manifest: Manifest
    store: PastStore
    journal: Moment | None = None


@contextmanager
def laid_out(context: SnapshotContext, named: SnapshotSelector, *, reading: bool = True) -> Iterator[ExtractedSnapshot]:
    """All of the snapshot as files for the length of a block, in which it is not removed. Without `reading` it has to
    be one that may become live, though it is only read now.

    Raises:
        SnapshotDamaged, SnapshotUntrusted, SnapshotOlder, SnapshotTooNew, SnapshotForeign, IdentityNeeded: it may not
            be used.
    """
    named = replace(named, reading=reading)
    with context.repo.staging() as staging, sought(context, named) as found:
        manifest = trusted(context, named, found)
        unpack(
            found.folder / manifest.bundle_name,
            manifest,
            staging,
            identities_of(context, named),
            hasty=lambda path: True,
        )
        if found.journal is not None:
            replay(staging / STORE, context.tenant, found.journal, identities_of(context, named), named.take_over)
            restate(staging, context.tenant)
        yield ExtractedSnapshot(manifest, staging, found.journal)


@contextmanager
def past(context: SnapshotContext, named: SnapshotSelector) -> Iterator[PastMemory]:
    """The memory of that moment. Faults as of `laid_out`."""
    named = replace(named, reading=True)
    with sought(context, named) as found:
        place = _place(context, found)
        if place is not None:
            try:
                with reading_kept(place) as is_kept:
                    if is_kept and (store := _reopened(place)):
                        # The bytes it came from were verified then; signer and owner are checked again.
                        with closing(store):
                            yield PastMemory(trusted(context, named, found, raw=False), store)
                            return
            except DataDamaged:  # the snapshot itself may be whole: the next query unpacks it again
                drop(place)
                raise
        with _unpacked(context, named, found, place) as then:
            yield then


def _place(context: SnapshotContext, found: ResolvedSnapshot) -> Path | None:
    """Where the store of the snapshot is kept, or would be; None if it is not to be."""
    if found.place != LOCAL_REPOSITORY:
        return None
    manifest = context.repo.find(found.id).manifest
    return place_of_opened(found.folder, manifest, store_schema()) if manifest and not manifest.encrypted else None


def _reopened(place: Path) -> PastStore | None:
    try:
        return reopen_past(place)
    except DataDamaged:
        return None  # what is unpacked instead takes its place


@contextmanager
def _unpacked(
    context: SnapshotContext, named: SnapshotSelector, found: ResolvedSnapshot, place: Path | None
) -> Iterator[PastMemory]:
    with context.repo.staging() as staging:
        manifest = trusted(context, named, found)
        bundle, identities = found.folder / manifest.bundle_name, identities_of(context, named)
        unpack(bundle, manifest, staging, identities, lambda path: path == STORE)
        replay(staging / STORE, context.tenant, found.journal, identities)
        with closing(open_past(staging / STORE)) as store:
            yield PastMemory(manifest, store, found.journal)
        # Kept once no process reads it under its first name. If the disk refuses it, the next reader unpacks it again.
        if place == place_of_opened(found.folder, manifest, store_schema()):
            with suppress(Fault), disk_faults(f"keep {found.id} unpacked"), changing_names(found.folder):
                keep(staging / STORE, place)
