"""Capture: the store, the memory folders and the runtime state, in one staging folder laid out like the bundle."""

from __future__ import annotations

from pathlib import Path

from holdfast.core.disk import disk_fault
from holdfast.core.errors import DataDamaged
from holdfast.core.model import DEFAULT_TENANT
from holdfast.snapshot.bundle import canonical
from holdfast.snapshot.bundle.types import Capture, SkippedItem, StagedFile
from holdfast.snapshot.repo.context import SnapshotContext
from holdfast.snapshot.sources.config import MemoryFolder, sources_from
from holdfast.snapshot.sources.redact import redact_staged
from holdfast.store.engine_port import OpenMemory
from holdfast.store.guard.guard_copy import copy_history
from holdfast.store.portable import runtime_state

STORE = "store/memory.db"
STATE = "state/runtime.json"
GUARDED = "state/guard.db"


def capture_memory(context: SnapshotContext, staging: Path, *, redact: bool, check: bool = True) -> Capture:
    """The memory at one moment; text of memory folders is redacted unless that is not wanted.

    The store is one moment of the database while writers go on. What is in it went through redaction before; memory
    folders never did. Without `check` the caller checks the staged store before it may be used.

    Raises:
        DataDamaged: the store is damaged, or cannot be opened.
        StorageFull, StorageFailed: it cannot be staged.
    """
    store = _place(staging, STORE)
    captured = live_memory(context).capture(store, context.tenant, check=check)
    around = capture_around(context, staging, store, redact=redact)
    staged = (StagedFile(STORE, "store", store), *around.staged)
    journal = captured.journal.text if captured.journal else ""
    return Capture(staged, around.left, around.redaction, captured.schema, journal)


def capture_around(context: SnapshotContext, staging: Path, database: Path, *, redact: bool) -> Capture:
    """The memory folders, the history of guarded files, and the runtime state as that database has it."""
    state = _place(staging, STATE)
    try:
        state.write_bytes(canonical.dumps(runtime_state(database, context.tenant)))
    except OSError as error:
        raise disk_fault(error, "stage the runtime state") from error
    staged: list[StagedFile] = []
    left: list[SkippedItem] = []
    for source in folders_of(context):
        captured = source.capture(staging)
        staged += captured.staged
        left += captured.left
    limit = context.settings.snapshot_file_limit
    clean = redact_staged(staged, staging, left, apply=redact, limit=limit).capture
    own = [StagedFile(STATE, "state", state)]
    # Redacted when the files were taken, and no text: it is not looked through once more.
    if copy_history(context.home, context.tenant, staging / GUARDED):
        own.append(StagedFile(GUARDED, "state", staging / GUARDED))
    return Capture((*own, *clean.staged), clean.left, clean.redaction)


def folders_of(context: SnapshotContext) -> tuple[MemoryFolder, ...]:
    """The memory folders that belong to this tenant: they are on the disk of the server's operator."""
    return sources_from(context.settings) if context.tenant == DEFAULT_TENANT else ()


def live_memory(context: SnapshotContext) -> OpenMemory:
    """The memory that is live here.

    Raises:
        DataDamaged: there is none.
    """
    if context.live is None:
        raise DataDamaged("snapshots: there is no live memory here")
    return context.live


def _place(staging: Path, path: str) -> Path:
    """Where a member is staged: under the path that it has in the bundle."""
    place = staging / path
    try:
        place.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise disk_fault(error, f"stage {path}") from error
    return place
