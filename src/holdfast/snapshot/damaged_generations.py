"""Damaged generations: kept aside after a restore until the user removes them, since something in them may be newer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from holdfast.core.disk import disk_faults, sync_folder
from holdfast.core.errors import Conflict, DataDamaged, Fault, NotFound
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.sources.restore_plan import drop_kept
from holdfast.store.damage import Damage, note_damage, read_damage
from holdfast.store.data_folder import DATABASE, DataFolder
from holdfast.store.engine_port import OpenMemory

SEE = "holdfast snapshot salvage --dry-run"


@dataclass(frozen=True, slots=True)
class DamagedGeneration:
    """One that is damaged, live or kept aside."""

    name: str
    path: Path
    size: int
    why: str
    live: bool
    copied: bool  # what can be read of it is in the live memory

    @property
    def next(self) -> str:
        """What to do with one that is kept aside."""
        if self.copied:
            return f"Remove it: {self.removal}"
        return f"Its readable rows are not in the live memory. Preview what they would add: {SEE}"

    @property
    def removal(self) -> str:
        """The command that removes it."""
        return f"holdfast snapshot discard {self.name} --yes"


def damaged_generations(home: Path) -> list[DamagedGeneration]:
    """All of a data folder, the newest first."""
    folder = DataFolder(home)
    live = live_name(folder)
    found = [(name, read_damage(home / name)) for name in reversed(folder.generations())]
    return [
        DamagedGeneration(
            name, home / name, _bytes_in(home / name), damage.why, name == live, damage.extent == "copied"
        )
        for name, damage in found
        if damage is not None
    ]


def all_damaged(context: SnapshotContext, live: OpenMemory) -> list[DamagedGeneration]:
    """The same, with the live one where the engine notes its damage elsewhere."""
    found = damaged_generations(context.home)
    names = [] if any(one.live for one in found) else damaged_by_restore(context, live)
    fault = live.store.failure(context.tenant)
    why = fault.message if fault is not None else ""
    noted = [DamagedGeneration(name, context.home / name, 0, why, True, False) for name in names]
    return [*noted, *found]


def live_name(folder: DataFolder) -> str | None:
    """The generation that the folder points to; None if there is none, or nothing records which."""
    try:
        return folder.opened() if folder.generations() else None
    except Fault:
        return None


def _bytes_in(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.glob("*") if one.is_file())


def damaged_by_restore(context: SnapshotContext, live: OpenMemory) -> tuple[str, ...]:
    """The generations that a restore leaves damaged behind: the live one if it is, all where nothing records which."""
    if not isinstance(live.store.failure(context.tenant), DataDamaged):
        return ()
    folder = DataFolder(context.home)
    name = live_name(folder)
    return (name,) if name is not None else tuple(folder.generations())


def keep_damaged(home: Path, names: Iterable[str]) -> None:
    """Let no later restore remove them."""
    for name in names:
        if read_damage(home / name) is None:
            note_damage(home / name, Damage("unknown", "it could not be opened"))


def keep_rows(context: SnapshotContext, live: OpenMemory, name: str) -> None:
    """Have the rows of the damaged live memory in the folder of its generation, sound or not, where the engine keeps
    them elsewhere: they do not outlast the next restore there, and salvage reads them here."""
    fault = live.store.failure(context.tenant) if live.is_open() else None
    if fault is None:
        return
    folder = context.home / name
    rows = live.as_file(folder, context.tenant, check=False)
    if rows != folder / DATABASE:
        with disk_faults(f"keep {name}"):
            rows.replace(folder / DATABASE)
            sync_folder(folder)
        note_damage(folder, Damage("unknown", fault.message))


def note_copied(home: Path, name: str, into: str) -> None:
    """What can be read of a generation is in the live one now; its files may go once the user wants it."""
    note_damage(home / name, Damage("copied", "its readable rows were copied into the live memory", into))


def no_longer_copied(home: Path, leaving: str | None = None) -> None:
    """The live memory is left that what can be read of damaged generations was copied into: that is not live any more.
    With a name only what was copied into that generation; None is for a restore, which leaves all of it."""
    for name in DataFolder(home).generations():
        damage = read_damage(home / name)
        if damage is not None and damage.extent == "copied" and leaving in (None, damage.into or leaving):
            note_damage(
                home / name, Damage("records", "its readable rows were copied into a memory that was replaced later")
            )


def discard(context: SnapshotContext, name: str) -> DamagedGeneration:
    """Remove a damaged generation for good.

    Raises:
        NotFound: there is no damaged generation of that name.
        Conflict: it is the live one.
        SnapshotsBusy: another process makes, restores or removes snapshots.
    """
    with context.locked("discard") as result:
        found = next((one for one in damaged_generations(context.home) if one.name == name), None)
        if found is None:
            raise NotFound(
                f"discard: there is no damaged generation {name[:40]!r}", hint="List them: holdfast snapshot damaged"
            )
        if found.live:
            raise Conflict(f"discard: {name} is the live memory", hint="Restore a snapshot first.")
        DataFolder(context.home).remove(name)
        drop_kept(context, [name])
        result.about = name
    return found
