"""Capture: the store, the memory folders and the runtime state, in one staging folder."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import DataDamaged
from holdfast.ports import Home
from holdfast.snapshot.archive import Archive
from holdfast.snapshot.canonical import canonical
from holdfast.snapshot.redaction import redact_staged
from holdfast.snapshot.sources import sources_from
from holdfast.snapshot.values import Capture, Left, Staged
from holdfast.store.folder import disk_fault
from holdfast.store.sqlite.capture import capture_store
from holdfast.store.sqlite.state import runtime_state

STORE = "store/memory.db"
STATE = "state/runtime.json"


def capture_memory(archive: Archive, staging: Path, *, redact: bool) -> Capture:
    """The memory at one moment; text of memory folders redacted unless that is not wanted.

    The store is one moment of the database while writers go on. What was stored went through redaction before;
    memory folders never did.

    Raises:
        DataDamaged: the store is damaged, or cannot be opened.
    """
    store = staging / "store.db"
    captured = capture_store(_live(archive).database(), store, archive.tenant)
    state = staging / "runtime.json"
    _write(state, canonical(runtime_state(store, archive.tenant)))
    staged: list[Staged] = [Staged(STORE, "store", store), Staged(STATE, "state", state)]
    folders, left, redaction = captured_folders(archive, staging, redact=redact)
    staged += folders
    return Capture(tuple(staged), left, redaction, captured.schema)
