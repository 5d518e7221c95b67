"""Memory folders repaired when a restore cannot finish with them: its journal is damaged, or something is in its way.

Nothing is removed. The live folder stays the live one; what was built to take its place goes aside, and so does the
journal, and the caller gets their paths. Only a live folder that is not there is replaced by the built one.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from holdfast.core.disk import disk_faults, sync_folder
from holdfast.core.errors import Conflict, DataDamaged, Fault
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.sources.capture import folders_of
from holdfast.snapshot.sources.folder_restore import mark_of
from holdfast.snapshot.sources.restore_plan import settle_folders
from holdfast.snapshot.sources.swap import JOURNAL, pending, place_of_new, place_of_old
from holdfast.store.data_folder import DataFolder

How = Literal["finished", "put in place", "moved aside"]


@dataclass(frozen=True, slots=True)
class RecoveredFolder:
    """What was done with one folder or file, and where it is now."""

    name: str
    how: How
    path: Path


def mend_folders(context: SnapshotContext) -> tuple[RecoveredFolder, ...]:
    """Finish what is pending, or put it aside if it cannot be finished; nothing if nothing is pending.

    Raises:
        SnapshotsBusy: a restore is at work with them.
        StorageFull, StorageFailed: the disk refuses; everything is still there.
    """
    with context.locked("mend"):
        try:
            found = pending(context.home)
            settle_folders(DataFolder(context.home))
        except (DataDamaged, Conflict):
            with disk_faults("mend memory folders"):
                return tuple(_put_aside(context))
    return tuple(RecoveredFolder(one.live.name, "finished", one.live) for one in found.exchanges) if found else ()


def _put_aside(context: SnapshotContext) -> Iterator[RecoveredFolder]:
    for source in folders_of(context):
        yield from _mend(source.path)
    journal = context.home / JOURNAL
    aside = _free(journal, "damaged")
    journal.rename(aside)  # last: until then the repair can be repeated
    sync_folder(context.home)
    yield RecoveredFolder(JOURNAL, "moved aside", aside)


def _mend(live: Path) -> Iterator[RecoveredFolder]:
    staged = place_of_new(live)
    if os.path.lexists(staged):
        if os.path.lexists(live):
            aside = _aside(live)
            staged.rename(aside)
            yield RecoveredFolder(live.name, "moved aside", aside)
        else:
            staged.rename(live)
            yield RecoveredFolder(live.name, "put in place", live)
        sync_folder(live.parent)
    mark_of(staged).unlink(missing_ok=True)


def _aside(live: Path) -> Path:
    places = (place_of_old(live, f"mended-{number}") for number in itertools.count(1))
    return next(place for place in places if not os.path.lexists(place))


def _free(path: Path, word: str) -> Path:
    places = (path.with_name(f"{path.name}.{word}-{number}") for number in itertools.count(1))
    return next(place for place in places if not os.path.lexists(place))


def unfinished(home: Path) -> str | None:
    """Why memory folders are not as the live memory wants them; None if nothing is pending."""
    try:
        found = pending(home)
    except Fault as fault:
        return fault.message
    return f"a restore has not finished for {len(found.exchanges)} of them" if found else None
