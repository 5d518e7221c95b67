"""A drill: choose → restore into a scratch folder → check every row → ask what was asked before → keep the record.

The live memory is not touched. Nothing is kept of a drill before all of it was checked, so a process that dies in the
middle leaves no record.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.core.errors import (
    Conflict,
    DataDamaged,
    DataTooNew,
    Fault,
    IdentityNeeded,
    NotFound,
    SnapshotDamaged,
    SnapshotForeign,
    SnapshotOlder,
    SnapshotTooNew,
    SnapshotUntrusted,
    StorageFull,
    VaultDamaged,
    VaultRefused,
    VaultUnauthorized,
)
from holdfast.core.metrics import Metrics
from holdfast.snapshot.bundle.types import Manifest
from holdfast.snapshot.drill.drill_moment import PickedMoment, moment_named, pick_moment
from holdfast.snapshot.drill.drill_records import DrillQuestions, DrillRecord, Outcome, keep_record
from holdfast.snapshot.drill.scratch import scratch_folder
from holdfast.snapshot.remote.colony import is_colony
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.entries import read_entry
from holdfast.snapshot.resolve import LATEST, SnapshotSelector
from holdfast.snapshot.restore import RestoreResult, plant
from holdfast.snapshot.sync.vault_target import target_of
from holdfast.store.data_folder import DataFolder, FolderLock
from holdfast.store.portable import PastStore, open_past

# What a bundle and what was unpacked from it take at once, times its size: databases shrink to a third or less.
ROOM = 8
LEAST_ROOM = 200_000_000
# With these a restore would end as well. Anything else, such as a vault that does not answer now, says nothing about
# the snapshot: it is raised, and the drill is repeated.
FAILURES = (
    SnapshotDamaged,
    SnapshotUntrusted,
    SnapshotOlder,
    SnapshotTooNew,
    SnapshotForeign,
    DataDamaged,
    DataTooNew,
    VaultDamaged,
    VaultRefused,
    VaultUnauthorized,
)
CHECK_OTHERS = (
    "Check the other snapshots: holdfast vault verify, holdfast snapshot list --check. Make a new one: holdfast "
    "snapshot create. Then repeat the drill: holdfast drill"
)
LOCKED = "The snapshot is encrypted, and no identity on this machine decrypts it, so it was not restored"
UNLOCK = "Run the drill where the identity is: holdfast drill --identity FILE, or set HOLDFAST_SNAPSHOT_IDENTITY."

Replay = Callable[[PastStore, Manifest, Callable[[], None]], DrillQuestions]
"""Asks a restored memory what was asked of it before; the last argument is to be called between two questions."""


@dataclass(frozen=True, slots=True)
class DrillOptions:
    """Which snapshot: by default any of the configured vault, without a vault any of the local repository."""

    name: str | None = None
    vault: str | None = None
    identity: str | None = None
    stop: Callable[[], bool] = lambda: False
    moment: int | None = None  # restore this one from the journal


@dataclass(frozen=True, slots=True)
class _Picked:
    id: str
    size: int
    moment: int | None = None  # the memory as it was then; `id` is the snapshot before it, or empty


def drill(context: SnapshotContext, options: DrillOptions, replay: Replay) -> DrillRecord:
    """Restore a snapshot beside the live memory, check it, and keep what came of it.

    Raises:
        NotFound: there is no snapshot, or none that is small enough.
        SnapshotsBusy: another drill goes on.
        Conflict: it was stopped, or took longer than it may; nothing is kept of it.
        Fault: of the vault or the disk, when nothing can be told of the snapshot.
    """
    vault = options.vault or context.settings.vault
    began, steady = context.clock.now_ms(), context.clock.steady()
    place, picked = "", _Picked(options.name or "", 0)
    try:
        with context.unlocked("drill") as result, scratch_folder(context.home) as folder:
            place = target_of(context, vault).place if vault else ""
            picked = _pick(context, options, vault)
            result.about = picked.id
            record = _restored(context, options, vault, picked, folder, replay)
    except IdentityNeeded as fault:
        record = _ended(picked, "locked", fault, LOCKED, UNLOCK)
    except FAILURES as fault:
        if options.vault and not picked.id and picked.moment is None:
            raise  # a place that was named for this once, and holds nothing that can be listed
        record = _ended(picked, "failed", fault, fault.message, _hint(fault))
    took = int(1000 * (context.clock.steady() - steady))
    named = replace(record, tenant=context.tenant, agent=context.agent)
    return keep_record(context, replace(named, place=place, began=began, took_ms=took))


def _pick(context: SnapshotContext, options: DrillOptions, vault: str) -> _Picked:
    at = _moment(context, options, vault)
    if at is not None:
        return _Picked(at.snapshot, at.size, at.at)
    found = _in_vault(context, vault) if vault else _here(context)
    if options.name:
        named = [one for one in found if one.id.startswith(options.name)]
        if options.name != "latest" and len(named) != 1:
            raise NotFound(
                "drill: there is no snapshot of that id, or several begin with it",
                hint="List snapshots with: holdfast snapshot list, holdfast vault list",
            )
        return named[0] if named else _first(found)
    small = [one for one in found if one.size <= context.settings.drill_bytes]
    if found and not small:
        raise NotFound(
            f"drill: every snapshot has more than {context.settings.drill_bytes} bytes",
            hint="Raise HOLDFAST_DRILL_BYTES, or name a snapshot: holdfast drill ID",
        )
    _first(small)
    return small[int(context.entropy.hex(8), 16) % len(small)]


def _moment(context: SnapshotContext, options: DrillOptions, vault: str) -> PickedMoment | None:
    if not vault or is_colony(vault):
        if options.moment is not None:
            raise NotFound("drill: only a vault with a journal has moments", hint="Pass a vault with --from.")
        return None
    place = context.vault(vault)
    if options.moment is not None:
        return moment_named(context, place, options.moment)
    return None if options.name else pick_moment(context, place)


def _first(found: Sequence[_Picked]) -> _Picked:
    if not found:
        raise NotFound("drill: there is no snapshot yet", hint="Create one: holdfast snapshot create")
    return found[0]


def _in_vault(context: SnapshotContext, vault: str) -> list[_Picked]:
    """Damaged ones among them: that they cannot be restored is what a drill is for."""
    return [_Picked(one.id, one.size) for one in target_of(context, vault).list()]


def _here(context: SnapshotContext) -> list[_Picked]:
    return [_Picked(one.id, one.size) for one in context.repo.each() if not one.damaged]


def _restored(
    context: SnapshotContext, options: DrillOptions, vault: str, picked: _Picked, folder: Path, replay: Replay
) -> DrillRecord:
    """The record of a snapshot that was restored, and found good or not."""
    _check_room(context, picked)
    pause = _patience(context, options)
    made = _planted(context, options, vault, picked, folder)
    pause()
    with closing(open_past(DataFolder(folder).database())) as store:
        if found := store.verify():
            raise DataDamaged(f"drill: what was restored is not sound ({found[0].table}: {found[0].message})")
        pause()
        # A compact snapshot holds no observations, and the prompts are among these. What the journal adds to a snapshot
        # changes its answers.
        alone = not (vault and is_colony(vault)) and not (made.journal is not None and made.journal.pieces)
        asked = replay(store, made.manifest, pause) if alone else DrillQuestions()
    return _judged(made, asked, picked)


def _same_content(one: Manifest, other: Manifest) -> bool:
    """Whether both seal the same bytes: in the vault they may lie as chunks, and whole here."""
    sealed = one.bundle_sha256 == other.bundle_sha256
    return sealed or (one.artifacts is not None and one.artifacts == other.artifacts)


def _planted(
    context: SnapshotContext, options: DrillOptions, vault: str, picked: _Picked, folder: Path
) -> RestoreResult:
    """What the snapshot gives in a data folder of its own, by the same way as a restore into a new folder."""
    known = None if is_colony(vault or "") or not picked.id else read_entry(context.repo.root, picked.id)
    own = known.manifest if known is not None else None
    # What was made here before there was a key is not signed; it counts if it is what lies here.
    named = SnapshotSelector(picked.id, vault or None, options.identity, allow_unsigned=own is not None)
    if picked.moment is not None:
        named = replace(named, name=LATEST, moment=picked.moment)
    scratch = DataFolder(folder)
    scratch.make()
    with FolderLock(folder):
        # Counts of restores are of those that a user asked for.
        made = plant(replace(context, metrics=Metrics()), named, scratch)
    if own is not None and made.manifest.signature is None and not _same_content(made.manifest, own):
        raise SnapshotUntrusted("drill: the snapshot is not signed, and is not the one that lies here")
    return made


def _judged(made: RestoreResult, asked: DrillQuestions, picked: _Picked) -> DrillRecord:
    manifest = made.manifest
    base = made.journal.snapshot if made.journal is not None else manifest.identity.id
    record = DrillRecord(
        id="",
        tenant="",
        agent="",
        outcome="restored",
        place="",
        snapshot=base or "",
        began=0,
        took_ms=0,
        moment=picked.moment,
        created_at=manifest.identity.created_at,
        sha256=manifest.bundle_sha256,
        size=manifest.bundle_size,
        rows=tuple(sorted(made.rows.items())),
        folders=made.folders,
        questions=asked,
    )
    if not asked.missing and not (asked.changed and asked.comparable):
        return record
    wrong = max(asked.missing, len(asked.changed))
    message = f"drill: {wrong} of {asked.asked} questions were answered differently by what was restored"
    return replace(record, outcome="failed", code="answers_differ", message=message, hint=CHECK_OTHERS)


def _ended(picked: _Picked, outcome: Outcome, fault: Fault, message: str, hint: str) -> DrillRecord:
    record = DrillRecord("", "", "", "failed", "", picked.id, 0, 0, size=picked.size)
    return replace(
        record, outcome=outcome, moment=picked.moment, code=fault.code, message=message[:1_000], hint=hint[:1_000]
    )


def _hint(fault: Fault) -> str:
    return fault.hint if isinstance(fault, SnapshotUntrusted | VaultRefused | VaultUnauthorized) else CHECK_OTHERS


def _check_room(context: SnapshotContext, picked: _Picked) -> None:
    if shutil.disk_usage(context.home).free < ROOM * picked.size + LEAST_ROOM:
        raise StorageFull(f"drill: there is not enough room to restore {picked.id} beside the live memory")


def _patience(context: SnapshotContext, options: DrillOptions) -> Callable[[], None]:
    """To be called now and then: raises once the drill is to end."""
    until = context.clock.steady() + context.settings.drill_seconds

    def pause() -> None:
        if options.stop():
            raise Conflict("drill: it was stopped", hint="The server repeats it when it is idle.")
        if context.clock.steady() > until:
            raise Conflict(
                f"drill: it took longer than {context.settings.drill_seconds} s",
                hint="Raise HOLDFAST_DRILL_SECONDS, or drill a smaller snapshot.",
            )

    return pause
