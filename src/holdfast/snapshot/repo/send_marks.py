"""Which snapshots the vault is still to get: a mark stands beside each, from before it is put until the vault has it.

    .<id>.unsent

A mark without a snapshot is of one that was never put or is gone; it counts for nothing and is swept.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from holdfast.core.bundle_names import MANIFEST
from holdfast.core.disk import disk_fault, disk_faults, make_folder, sync_folder, write_new
from holdfast.snapshot.repo.paths import split_name

_UNSENT = ".unsent"


def unsent_mark(id: str) -> str:
    return f".{id}{_UNSENT}"


def note_unsent(root: Path, id: str) -> None:
    """Mark a snapshot that is about to be put; durable, so that no crash lets the vault go without it."""
    with disk_faults(f"put {id}"):
        make_folder(root)
        with suppress(FileExistsError):
            write_new(root / unsent_mark(id), b"")
        sync_folder(root)


def note_sent(root: Path, id: str) -> None:
    """The vault has it. Should the mark come back after a crash, it is looked for there once more."""
    with disk_faults(f"send {id}"):
        (root / unsent_mark(id)).unlink(missing_ok=True)


def unsent(root: Path) -> list[str]:
    """Snapshots that wait, the newest first."""
    return [id for id in _marked(root) if os.path.lexists(root / f"{id}{MANIFEST}")]


def stale_marks(root: Path) -> list[str]:
    """Names of marks that have lost their snapshot. Call with the repository's lock held and nothing being put."""
    return [unsent_mark(id) for id in _marked(root) if not os.path.lexists(root / f"{id}{MANIFEST}")]


def _marked(root: Path) -> list[str]:
    try:
        names = os.listdir(root)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise disk_fault(error, "list what waits for the vault") from error
    marks = (name[1:].removesuffix(_UNSENT) for name in names if name.startswith(".") and name.endswith(_UNSENT))
    ids = [id for id in marks if split_name(f"{id}{MANIFEST}")]
    return sorted(ids, key=lambda id: (len(id), id), reverse=True)
