"""Merging two memories of one agent: verify → snapshot of what is → merge beside it → check → switch. Undo goes back.

Either may be the memory as it is now. What is written to that meanwhile is merged too, once writes are stopped. Memory
folders stay as they are.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import disk_faults, write_durably
from holdfast.core.errors import InvalidRequest
from holdfast.snapshot.browse import laid_out
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.create import CreateOptions
from holdfast.snapshot.diff import NOW
from holdfast.snapshot.journal.journal_replay import place_of_copy
from holdfast.snapshot.merge.conflict_rules import Prefer
from holdfast.snapshot.merge.records import MergedRecords, merge_into
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.latest import BY_RESTORE
from holdfast.snapshot.resolve import SnapshotSelector
from holdfast.snapshot.sources.capture import capture_around, live_memory
from holdfast.snapshot.sources.folder_diff import diff_folders
from holdfast.snapshot.sources.restore_plan import drop_kept, settle_folders
from holdfast.snapshot.sources.swap import intend
from holdfast.snapshot.switch import ORIGIN, give_up, keep, keep_last, live_of, safety_options, switched
from holdfast.snapshot.sync.queue import offer_waiting
from holdfast.store.data_folder import DATABASE, DataFolder
from holdfast.store.engine_port import FrozenStore
from holdfast.store.portable import open_file, open_past, prepare

BEFORE = CreateOptions(label="before merge", made_by=BY_RESTORE)
Choice = Literal["a", "b", "newest"]

# Other tenants go on writing until the switch, and their numbers must stay free. So many are never written meanwhile.
_ROOM = 1_000_000


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The result of a merge, or of its preview."""

    a: str
    b: str
    base: Literal["a", "b"]  # which of them the other was merged into
    done: MergedRecords
    folders: tuple[str, ...]  # that differ, and stay as they are here
    generation: str | None = None  # None: nothing was changed
    before: str | None = None
    waiting: str | None = None  # why the vault has not got the snapshot of what was live
    lines: tuple[str, ...] = ()  # of the journal, up to where it came in: line:number


@dataclass(frozen=True, slots=True)
class _MergeSide:
    name: str
    database: Path  # private: it may be written to
    folder: Path  # its other members lie under it
    manifest: Manifest | None  # None: the memory as it is now
    line: str = ""  # of the journal, and the last piece of it that is in it
    seq: int = 0  # how far the memory was written when it was captured


def merge(
    context: SnapshotContext,
    one: SnapshotSelector | None,
    other: SnapshotSelector | None,
    prefer: Choice = "newest",
    *,
    dry_run: bool = False,
) -> MergeResult:
    """Make one memory of two, and that the live one; None is the memory as it is now.

    Raises:
        SnapshotDamaged, SnapshotUntrusted, SnapshotTooNew, SnapshotForeign, IdentityNeeded: one may not be used.
        SnapshotsBusy: another process makes, restores or removes snapshots.
        DataDamaged: what was in one is not sound.
    """
    if one is None and other is None:
        raise InvalidRequest("merge: both sides are the live memory", hint="Name a snapshot.")
    with context.locked("merge") as result, ExitStack() as stack:
        folder = DataFolder(context.home)
        settle_folders(folder)
        sides = {at: stack.enter_context(_then(context, named)) for at, named in enumerate((one, other)) if named}
        for side in sides.values():
            if side.manifest is not None and not dry_run:
                context.repo.begin_after(side.manifest.identity.sequence)
        options = _options(context, sides.values(), one or other or SnapshotSelector(""))
        before = None if dry_run else keep(context, options)
        for at in {0, 1} - sides.keys():
            sides[at] = stack.enter_context(_now(context))
        work = _MergeFiles(context, sides[0], sides[1], prefer, stack.enter_context(context.repo.staging()))
        if dry_run:
            with context.repo.staging() as place:
                return work.told(work.merged(place))
        told = _made_live(context, folder, work, options, before)
        result.about = told.generation
    if told.generation is not None:
        context.publish("restored", {"id": None, "generation": told.generation, "before": told.before})
    return replace(told, waiting=offer_waiting(context))


def merge_file(
    context: SnapshotContext, name: str, database: Path, named: SnapshotSelector, *, dry_run: bool = False
) -> MergeResult:
    """Bring the memory of a private database file into the live one, for a caller that holds the lock of snapshots.
    `named` defines how what is live is kept.

    Raises:
        DataDamaged: one of the two is not sound.
    """
    with ExitStack() as stack:
        options = safety_options(context, BEFORE, named, None)
        before = None if dry_run else keep(context, options)
        now = stack.enter_context(_now(context))
        guest = _MergeSide(name, database, now.folder, None)  # without folders of its own
        work = _MergeFiles(context, guest, now, "newest", stack.enter_context(context.repo.staging()))
        if dry_run:
            return work.told(work.merged(stack.enter_context(context.repo.staging())))
        return _made_live(context, DataFolder(context.home), work, options, before)


def _options(context: SnapshotContext, sides: Iterable[_MergeSide], named: SnapshotSelector) -> CreateOptions:
    """The snapshot of what is live is encrypted if what is merged into it is."""
    manifests = [one.manifest for one in sides]
    sealed = next((one for one in manifests if one is not None and one.encrypted), None)
    return safety_options(context, BEFORE, named, sealed)


@contextmanager
def _then(context: SnapshotContext, named: SnapshotSelector) -> Iterator[_MergeSide]:
    with laid_out(context, named, reading=False) as laid:
        place = place_of_copy(laid.manifest, laid.journal)
        line = f"{place.line}:{place.number}" if place else ""
        yield _MergeSide(laid.manifest.identity.id, laid.database, laid.folder, laid.manifest, line)


@contextmanager
def _now(context: SnapshotContext) -> Iterator[_MergeSide]:
    with context.repo.staging() as staging:
        database = staging / DATABASE
        captured = live_memory(context).capture(database, context.tenant)
        capture_around(context, staging, database, redact=context.settings.snapshot_redact)
        yield _MergeSide(NOW, database, staging, None, seq=captured.last_seq)


class _MergeFiles:
    """The two sides, and the file in which they become one."""

    def __init__(self, context: SnapshotContext, a: _MergeSide, b: _MergeSide, prefer: Choice, scratch: Path):
        self._context, self._scratch = context, scratch
        self._a, self._b = a, b
        self._base, self._guest = (b, a) if b.manifest is None else (a, b)
        chosen: dict[Choice, Prefer] = {
            "newest": "newest",
            "a": "base" if self._base is a else "other",
            "b": "base" if self._base is b else "other",
        }
        self._prefer = chosen[prefer]

    @property
    def into_now(self) -> bool:
        """The other side comes into the memory as it is now."""
        return self._base.manifest is None

    def merged(self, place: Path) -> MergedRecords:
        """The merged store in a folder, every row of both sides checked before."""
        tenant = self._context.tenant
        with disk_faults("merge"):
            place.mkdir(mode=0o700, exist_ok=True)
            shutil.move(self._base.database, place / DATABASE)
        prepare(place / DATABASE, tenant)
        prepare(self._guest.database, tenant)
        done = self._bring(place / DATABASE, self._guest.database)
        prepare(place / DATABASE, tenant)
        return done

    def catch_up(self, merged: Path, old: FrozenStore) -> None:
        """Merge what was written to the live memory since it was captured; writes are stopped now."""
        if not self.into_now or old.last_seq() == self._base.seq:
            return
        late = self._scratch / "late.db"
        old.capture(late, self._context.tenant)
        self._bring(merged, late)

    def _bring(self, into: Path, guest: Path) -> MergedRecords:
        store, other = open_file(into), open_past(guest)
        try:
            store.skip_to(store.last_seq() + _ROOM)
            return merge_into(store, other.read(), self._context.tenant, self._prefer)
        finally:
            other.close()
            store.close()

    def told(self, done: MergedRecords, generation: str | None = None, before: str | None = None) -> MergeResult:
        with self._context.repo.staging() as scratch:
            folders = tuple(one.name for one in diff_folders(self._a.folder, self._b.folder, scratch))
        base: Literal["a", "b"] = "a" if self._base is self._a else "b"
        lines = tuple(one.line for one in (self._a, self._b) if one.line)
        return MergeResult(self._a.name, self._b.name, base, done, folders, generation, before, lines=lines)


def _made_live(
    context: SnapshotContext, folder: DataFolder, work: _MergeFiles, options: CreateOptions, before: str | None
) -> MergeResult:
    """The merged memory as the live one. Any failure before the switch leaves what is live untouched; and so does a
    merge that brings nothing, for a switch would take away what undo goes back to."""
    building = folder.new_generation()
    later: list[str | None] = [None]
    with OnFailure(give_up, folder, building):
        done = work.merged(building)
        if work.into_now and not done.any:
            give_up(folder, building)
            return work.told(done, None, before)
        write_durably(building / ORIGIN, context.tenant.encode())

        def build(old: FrozenStore | None) -> str:
            if old is not None:
                later[0] = keep_last(context, options)
                work.catch_up(building / DATABASE, old)
                old.take_along(building / DATABASE, context.tenant)
            name = folder.finish(building)
            intend(context.home, name, ())
            return name

        generation = switched(context, live_of(context), build)
        told = work.told(done, generation, later[0] or before)
    if folder.previous() is not None:
        drop_kept(context, folder.drop_old())
    return told
