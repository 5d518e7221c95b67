"""The history of guarded files as a file of its own, for a snapshot."""

from __future__ import annotations

from pathlib import Path

from holdfast.core.model import DEFAULT_TENANT
from holdfast.store.guard.guard_history import GuardHistory, history_path


def copy_history(home: Path, tenant: str, into: Path) -> bool:
    """Write the history at one moment into a new file; False where no place was ever guarded, or for another tenant
    than the server's operator.

    Raises:
        DataDamaged: it cannot be read.
        StorageFull, StorageFailed: it cannot be written.
    """
    if not _has_history(home, tenant):
        return False
    with GuardHistory(history_path(home)) as history:
        history.copy_to(into)
    return True


def history_tag(home: Path, tenant: str) -> str:
    """What of it a snapshot would hold, as a tag that changes with it; "" if there is none."""
    if not _has_history(home, tenant):
        return ""
    with GuardHistory(history_path(home)) as history:
        return history.tag()


def _has_history(home: Path, tenant: str) -> bool:
    return tenant == DEFAULT_TENANT and history_path(home).is_file()
