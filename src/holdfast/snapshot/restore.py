"""Restoring: verify → snapshot of what is → build the next generation → check → switch → folders. And back again.

The switch of the pointer is the one moment of truth: before it the live memory is untouched, after it the restored one
is live. Memory folders follow by a journal that the next start finishes if this process does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import Conflict, Fault
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.difference import preview as preview  # restoring shows first what it would change
from holdfast.snapshot.finding import Found, Named, find, identities_of, trusted
from holdfast.snapshot.flow import Wish, create_locked
from holdfast.snapshot.unpack import unpack
from holdfast.snapshot.values import Manifest
from holdfast.store.folder import DATABASE, DataFolder, FolderLock
from holdfast.store.sqlite.graft import graft


@dataclass(frozen=True, slots=True)
class Restored:
    """What is live now, and what would bring back what was live before."""

    manifest: Manifest
    generation: str
    before: str | None  # the snapshot of what was live
    rows: dict[str, int]
    folders: tuple[str, ...]
