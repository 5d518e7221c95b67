"""The mark of a data folder that waits for its memory in a vault.

An empty vault does not end the waiting by itself: the mount point of a disk that is not mounted is an empty folder. The
mark goes when the memory is there, or when the user confirms that nothing was ever kept in the vault.
"""

from __future__ import annotations

from pathlib import Path

from holdfast.core.disk import disk_faults, write_durably

MARK = "waiting-for-vault"
BEGIN_EMPTY = "holdfast vault init"


def begin_waiting(home: Path) -> None:
    """Set the mark.

    Raises:
        StorageFull, StorageFailed: it cannot be written.
    """
    if not is_waiting(home):
        write_durably(home / MARK, b"")


def is_waiting(home: Path) -> bool:
    return (home / MARK).exists()


def end_waiting(home: Path) -> None:
    """Remove the mark. Faults as of `begin_waiting`."""
    with disk_faults(f"remove {MARK}"):
        (home / MARK).unlink(missing_ok=True)
