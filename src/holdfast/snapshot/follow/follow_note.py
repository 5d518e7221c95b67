"""What a data folder notes of the vault that it follows, or followed until it took over.

<home>/follow.json is there before anything is copied, so that no process takes the folder for a memory of its own.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from holdfast.core.disk import disk_faults, write_durably
from holdfast.core.errors import DataDamaged
from holdfast.settings import Settings

FILE = "follow.json"


@dataclass(frozen=True, slots=True)
class FollowNote:
    """Which vault a folder follows, and how it is opened."""

    vault: str
    identity: str = ""  # a file with the age identity that decrypts it
    host: str = ""  # of the journal that is followed; "" until it was seen
    ended: int = 0  # when this folder took over; 0: it follows

    def applied(self, settings: Settings) -> Settings:
        """The settings of this folder's server. Once it took over they are its own again, with the vault as usual."""
        identity = settings.snapshot_identity or self.identity
        vault = settings.vault or self.vault if self.ended else self.vault
        return replace(settings, vault=vault, snapshot_identity=identity)


def read_follow(home: Path) -> FollowNote | None:
    """None for a folder that never followed.

    Raises:
        DataDamaged: what it noted cannot be read: whether it may be written to is not known.
    """
    path = home / FILE
    with disk_faults(f"read {FILE}"):
        if not path.exists():
            return None
        data = path.read_bytes()
    try:
        value: Any = orjson.loads(data)
        return FollowNote(str(value["vault"]), str(value["identity"]), str(value["host"]), int(value["ended"]))
    except (ValueError, KeyError, TypeError):
        raise DataDamaged(
            f"follow: {FILE}, which names the vault that this folder follows, is damaged",
            hint="Remove the data folder and follow again: holdfast follow VAULT",
        ) from None


def write_follow(home: Path, note: FollowNote) -> None:
    with disk_faults(f"write {FILE}"):
        write_durably(home / FILE, orjson.dumps(asdict(note)))
