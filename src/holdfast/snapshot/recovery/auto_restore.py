"""The record of a restore that no caller requested: an empty data folder was filled from the vault.

What was written after that snapshot is not in the memory, and no caller was there to see it. So it is noted, and
reported later: with the answers of the first hour in which there are any, and for a week by status and doctor.
"""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from holdfast.core.disk import write_durably
from holdfast.core.times import DAY_MS, iso
from holdfast.snapshot.bundle.types import Identity
from holdfast.snapshot.repo.paths import is_nothing

NOTE = "restored.json"
TOLD_MS = 3_600_000
SHOWN_MS = 7 * DAY_MS
_MOST_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class FirstRestore:
    """Which snapshot, of when, restored when, and when it was first reported to a caller."""

    id: str
    created_at: int
    restored_at: int
    told_at: int | None = None
    upto: int = 0  # the moment to which the journal brought it; 0: there was none

    @property
    def message(self) -> str:
        begin = "The data folder was empty, so it was restored from the vault"
        upto = f"the journal up to {iso(self.upto)[:19].replace('T', ' ')} UTC."
        if is_nothing(self.id):
            return f"{begin}: {upto}"
        snapshot = f"{begin}: snapshot {self.id} of {iso(self.created_at)[:16].replace('T', ' ')} UTC"
        return f"{snapshot}, and {upto}" if self.upto else f"{snapshot}. Later writes are not included."

    def is_shown(self, now_ms: int) -> bool:
        """Whether status and doctor still report it."""
        return now_ms < self.restored_at + SHOWN_MS

    def is_news(self, now_ms: int) -> bool:
        """Whether answers report it."""
        return self.is_shown(now_ms) and (self.told_at is None or now_ms < self.told_at + TOLD_MS)


def note_restore(home: Path, identity: Identity, now_ms: int, upto: int = 0) -> FirstRestore:
    """Note a restore.

    Raises:
        StorageFull, StorageFailed: the note cannot be written.
    """
    return _write(home, FirstRestore(identity.id, identity.created_at, now_ms, upto=upto))


def note_reported(home: Path, found: FirstRestore, now_ms: int) -> FirstRestore:
    """Note that it was reported to a caller. Faults as of `note_restore`."""
    return _write(home, dataclasses.replace(found, told_at=now_ms))


def first_restore(home: Path) -> FirstRestore | None:
    """The last one that is noted; None if there is none."""
    with suppress(OSError, ValueError, TypeError):
        with (home / NOTE).open("rb") as file:
            found = FirstRestore(**orjson.loads(file.read(_MOST_BYTES)))
        numbers = (found.created_at, found.restored_at, found.told_at or 0, found.upto)
        if isinstance(found.id, str) and all(isinstance(one, int) for one in numbers):
            return found
    return None


def _write(home: Path, found: FirstRestore) -> FirstRestore:
    write_durably(home / NOTE, orjson.dumps(dataclasses.asdict(found)))
    return found
