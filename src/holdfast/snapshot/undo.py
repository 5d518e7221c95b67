"""Taking the last restore back: what was live before it is live again, if it is still whole."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import disk_fault
from holdfast.core.errors import Conflict, DataDamaged, Fault, NotFound
from holdfast.snapshot.create import CreateOptions
from holdfast.snapshot.damaged_generations import SEE, no_longer_copied
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.repo.latest import BY_RESTORE, UNDO_LABEL
from holdfast.snapshot.resolve import LATEST, SnapshotSelector
from holdfast.snapshot.sources.change_check import forget_seen
from holdfast.snapshot.sources.restore_plan import folders_of_generation, settle_folders
from holdfast.snapshot.sources.swap import intend
from holdfast.snapshot.switch import ORIGIN, keep, keep_last, live_of, safety_options, switched
from holdfast.snapshot.sync.queue import offer_waiting
from holdfast.store.damage import read_damage
from holdfast.store.data_folder import DataFolder
from holdfast.store.engine_port import FrozenStore

BEFORE_UNDO = CreateOptions(label=UNDO_LABEL, made_by=BY_RESTORE)
LAST = SnapshotSelector(LATEST)


@dataclass(frozen=True, slots=True)
class UndoResult:
    """What is live again, and the snapshot of what was left."""

    generation: str
    before: str | None
    waiting: str | None


def undo(context: SnapshotContext, named: SnapshotSelector = LAST) -> UndoResult:
    """Make the generation live again that was live before the last switch; `named` defines how what is left is kept.

    Raises:
        NotFound: there is none.
        DataDamaged: it is damaged; nothing was changed, and no snapshot made.
        Conflict: what is left would have to be encrypted, and no recipient is configured.
        SnapshotsBusy: another process makes, restores or removes snapshots.
    """
    live, folder = live_of(context), DataFolder(context.home)
    with context.locked("undo") as result:
        settle_folders(folder)
        name, now = live.undo_target(context.tenant), folder.current()
        if name is None:
            raise NotFound(
                "undo: there is no earlier memory to return to",
                hint="Restore a snapshot instead: holdfast snapshot list",
            )
        if name == folder.previous():  # otherwise what was replaced is this tenant's alone
            _check_origin(context, now)
        _check_whole(context, name)
        # The next restore removes the generation that is left, with what was remembered in it since it became live.
        options = safety_options(context, BEFORE_UNDO, named, None)
        before = keep(context, options)
        later: list[str | None] = [None]

        def build(old: FrozenStore | None) -> str:
            if old is not None:
                later[0] = keep_last(context, options)
                old.give_back(name, context.tenant)
            intend(context.home, name, folders_of_generation(context, name, now))
            no_longer_copied(context.home, leaving=now)
            return name

        with OnFailure(lambda: _take_back(context, before, later[0])):
            switched(context, live, build)
        before = later[0] or before
        result.about = name
    context.publish("restored", {"id": None, "generation": name, "before": before})
    return UndoResult(name, before, offer_waiting(context))


def can_undo(context: SnapshotContext) -> bool:
    """Whether there is an earlier memory to return to, as far as that is known without looking into it."""
    with suppress(Fault):  # of a database that does not answer it is not known
        name = context.live.undo_target(context.tenant) if context.live is not None else None
        return name is not None and read_damage(context.home / name) is None
    return False


def _check_whole(context: SnapshotContext, name: str) -> None:
    """Refuse to go back to a damaged generation, before anything is kept for it.

    Raises:
        DataDamaged: it is damaged, or cannot be opened.
    """
    damage = read_damage(context.home / name)
    why = damage.why if damage is not None else live_of(context).unreadable(name, context.tenant)
    if why is not None:
        raise DataDamaged(
            f"undo: the previous memory is damaged ({why})",
            hint=f"Preview what can be recovered from it: {SEE}",
        )


def _take_back(context: SnapshotContext, *made: str | None) -> None:
    """Remove the snapshots that an undo made and does not need: it changed nothing. They were sent nowhere yet."""
    for id in made:
        if id is not None:
            with suppress(Fault):  # the fault that ended the undo reports what is wrong
                context.repo.delete(id, last_too=True)
                forget_seen(context)


def _check_origin(context: SnapshotContext, leaving: str) -> None:
    """Refuse to take another tenant's restore back: it would bring this tenant's memory back to that time as well."""
    try:
        origin = (context.home / leaving / ORIGIN).read_text("utf-8")
    except FileNotFoundError:  # it was not restored: an undo is taken back
        return
    except OSError as error:
        raise disk_fault(error, f"read {ORIGIN}") from error
    if origin != context.tenant:
        raise Conflict("undo: the last restore was made by another tenant", hint="Restore a snapshot instead.")
