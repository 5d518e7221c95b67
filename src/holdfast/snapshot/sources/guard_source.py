"""The history of guarded files in a snapshot: its database, as one member, `state/guard.db`.

It is no memory folder: a restore of the memory adds what the snapshot has to the history that is there, and takes
nothing away. It was redacted when the files were taken.
"""

from __future__ import annotations

from pathlib import Path

from holdfast.core.model import DEFAULT_TENANT
from holdfast.snapshot.bundle.types import StagedFile
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.store.guard.guard_history import GuardHistory, history_path

MEMBER = "state/guard.db"


def stage_guarded(context: SnapshotContext, staging: Path) -> tuple[StagedFile, ...]:
    """The history as a staged file; nothing where no place was ever guarded. The files are the server's operator's.

    Raises:
        DataDamaged: it cannot be read.
        StorageFull, StorageFailed: it cannot be staged.
    """
    path = history_path(context.home)
    if context.tenant != DEFAULT_TENANT or not path.is_file():
        return ()
    with GuardHistory(path) as history:
        history.copy_to(staging / MEMBER)
    return (StagedFile(MEMBER, "state", staging / MEMBER),)


def guarded_tag(context: SnapshotContext) -> str:
    """What of it a snapshot would hold, as a tag that changes with it; "" if there is none."""
    path = history_path(context.home)
    if context.tenant != DEFAULT_TENANT or not path.is_file():
        return ""
    with GuardHistory(path) as history:
        return history.tag()
