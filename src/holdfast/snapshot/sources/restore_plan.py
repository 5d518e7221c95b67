"""Memory folders in a restore: built beside the live ones, put in their place once the generation is live.

What was live goes aside under the name of the generation it belonged to, and comes back when that one does.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from holdfast.core.cleanup import OnFailure
from holdfast.core.errors import Conflict, DataDamaged
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.sources.capture import folders_of
from holdfast.snapshot.sources.folder_restore import mark_of, stage_folder
from holdfast.snapshot.sources.swap import (
    FolderSwap,
    abandon_pending,
    finish_pending,
    pending,
    place_of_new,
    place_of_old,
)
from holdfast.store.data_folder import DataFolder


def stage_folders(context: SnapshotContext, extracted: Path, home: Path) -> tuple[FolderSwap, ...]:
    """Build the folders that the snapshot holds and this memory has, beside where they belong.

    In another home only those are built that lie in the home itself: the others are the first memory's own.
    """
    leaving = _leaving(DataFolder(home))
    exchanges: list[FolderSwap] = []
    with OnFailure(drop_staged, exchanges):
        for source in folders_of(context):
            live = _place(source.path, context.home, home)
            if live is None or not (extracted / "folders" / f"{source.name}.json").exists():
                continue
            staged = place_of_new(live)
            stage_folder(extracted, source.name, staged)
            exchanges.append(FolderSwap(live, staged, _free(_aside(live, leaving))))
    return tuple(exchanges)


def _leaving(folder: DataFolder) -> str | None:
    """The live generation; none if there is none yet, or nothing records which it is."""
    try:
        return folder.current()
    except DataDamaged:
        return None


def _aside(live: Path, leaving: str | None) -> Path:
    """Where the live folder goes. Of no known generation there may be several over time, and each is kept."""
    if leaving is not None:
        return place_of_old(live, leaving)
    places = (place_of_old(live, f"unknown-{number}") for number in itertools.count(1))
    return next(place for place in places if not os.path.lexists(place))


def _free(place: Path) -> Path:
    """Checked before the switch: after it the folders could neither follow nor go back."""
    if os.path.lexists(place):
        raise Conflict(f"memory folders: {place.name} already exists", hint="Move it and retry.")
    return place


def _place(path: Path, old: Path, new: Path) -> Path | None:
    old = old.resolve()
    if new.resolve() == old:
        return path
    return new / path.relative_to(old) if path.is_relative_to(old) else None


def folders_of_generation(context: SnapshotContext, name: str, leaving: str) -> tuple[FolderSwap, ...]:
    """What has to be put in place for a generation that was live before."""
    return tuple(
        FolderSwap(source.path, place_of_old(source.path, name), _free(place_of_old(source.path, leaving)))
        for source in folders_of(context)
        if place_of_old(source.path, name).is_dir()
    )


def settle_folders(folder: DataFolder) -> None:
    """Finish what the live generation intends with its folders; what another one intended is dropped, as is the plan
    of one that never came to be."""
    found = pending(folder.home)
    if found is None:
        return
    if folder.generations() and found.goal == folder.opened():
        finish_pending(folder.home)
    else:
        abandon_pending(folder.home)


def sweep_staged(context: SnapshotContext) -> None:
    """Remove folders that a dead process built and never decided to put in place.

    Call it with the lock of the data folder. Only those inside are removed: beside others another memory may be
    building its own.
    """
    if pending(context.home) is not None:
        return
    for source in folders_of(context):
        staged = place_of_new(source.path)
        if source.path.is_relative_to(context.home.resolve()) and not mark_of(staged).exists():
            shutil.rmtree(staged, ignore_errors=True)


def drop_staged(exchanges: Iterable[FolderSwap]) -> None:
    """Remove folders that were built and are not wanted."""
    for one in exchanges:
        shutil.rmtree(one.staged, ignore_errors=True)


def drop_kept(context: SnapshotContext, generations: Sequence[str]) -> None:
    """Remove what folders were in generations that are gone for good."""
    for source in folders_of(context):
        for name in generations:
            shutil.rmtree(place_of_old(source.path, name), ignore_errors=True)
