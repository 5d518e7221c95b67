"""Damage that was found in a generation, noted beside its database: it outlives the process that met it.

A generation with this note takes no writes, is never removed by the next restore and is not what undo goes back to.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson

from holdfast.core.disk import disk_faults, sync_folder, write_durably
from holdfast.core.errors import DataReadOnly, Fault
from holdfast.store.data_folder import DAMAGED
from holdfast.store.port import Finding

log = logging.getLogger("holdfast")

_MOST_BYTES = 4_096
LOGGED = 10  # findings of one verification

Extent = Literal["unknown", "index", "records", "copied"]
"""unknown: a read or a write met it, and nothing was verified since. index: only what follows from the records. copied:
what can be read of it is in the live memory."""

REPAIR = "holdfast verify --repair-index"
RESTORE = "holdfast snapshot restore latest --yes"
RECOVER = "holdfast recover --yes"

# The same whatever is damaged: the command finds out what that is, and what there is to restore.
REMEDY = f"Bring back all that is sound: {RECOVER}"

# What follows from the records, and the file as a whole: if records are on its damaged pages, their own table shows it.
_DERIVED = frozenset({"database", "words", "sketches", "vectors"})


@dataclass(frozen=True, slots=True)
class Damage:
    """What is known of it. `why` never holds memory text."""

    extent: Extent
    why: str
    into: str = ""  # the generation that what can be read was copied into

    def fault(self) -> DataReadOnly:
        """The refusal of a write."""
        return DataReadOnly(f"the memory is damaged and read-only: {self.why}", hint=REMEDY)


def damage_of(findings: Iterable[Finding]) -> Damage | None:
    """The damage that findings of a verification report. An index that is only out of step is none: it is sound data,
    and writes to it do no harm."""
    broken = [one for one in findings if one.kind != "index_out_of_step"]
    if not broken:
        return None
    records = [one for one in broken if one.table not in _DERIVED]
    worst = (records or broken)[0]
    return Damage("records" if records else "index", _plain(worst))


def _plain(finding: Finding) -> str:
    """A finding in words for everybody; what SQLite reports of pages is for the log."""
    if finding.table == "database":
        return "pages of the database file are damaged"
    if finding.kind == "page_damaged":
        return f"{finding.table}: some rows cannot be read"
    return f"{finding.table}: {finding.message}"


def read_damage(generation: Path) -> Damage | None:
    """What was noted of a generation. A note that cannot be read still counts."""
    try:
        with (generation / DAMAGED).open("rb") as file:
            said = orjson.loads(file.read(_MOST_BYTES))
        extent: Extent = said["extent"] if said["extent"] in ("index", "records", "copied") else "unknown"
        return Damage(extent, str(said["why"]), str(said.get("into", "")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return Damage("unknown", "damaged (found earlier)")


def note_damage(generation: Path, damage: Damage) -> None:
    """Note it, durably.

    Raises:
        StorageFull, StorageFailed: the note could not be written.
    """
    said = {"extent": damage.extent, "why": damage.why[:1_000], **({"into": damage.into} if damage.into else {})}
    write_durably(generation / DAMAGED, orjson.dumps(said))


def clear_damage(generation: Path) -> None:
    """The generation was verified and is sound."""
    with disk_faults(f"remove {DAMAGED}"), suppress(FileNotFoundError):
        (generation / DAMAGED).unlink()
        sync_folder(generation)


class DamageWatch:
    """Whether one generation is known to be damaged; any thread may report it."""

    def __init__(self, generation: Path):
        self._generation = generation
        self._lock = threading.Lock()
        self._damage = read_damage(generation)

    def refusal(self) -> DataReadOnly | None:
        """The fault of every write, or None while nothing is known to be damaged."""
        damage = self._damage
        return None if damage is None else damage.fault()

    @property
    def hint(self) -> str | None:
        """What to do about the damage that is known."""
        return None if self._damage is None else REMEDY

    def met(self, why: str) -> None:
        """A read or a write met damage: from now on nothing is written, in this process and the next."""
        with self._lock:
            if self._damage is None:
                self._set(Damage("unknown", why))

    def verified(self, findings: Iterable[Finding]) -> None:
        """What a verification of the whole generation found: it may end a suspicion as well."""
        known = list(findings)
        found = damage_of(known)
        with self._lock:
            if found is not None and found != self._damage:
                for one in known[:LOGGED]:
                    log.error("damaged: %s: %s", one.table, " ".join(one.message.split()))
                self._set(found)
            elif found is None and self._damage is not None:
                clear_damage(self._generation)
                self._damage = None

    def _set(self, damage: Damage) -> None:
        self._damage = damage
        log.error("the memory is damaged and now read-only: %s", damage.why)
        try:
            note_damage(self._generation, damage)
        except Fault as fault:  # a disk that is full: this process knows it, and the next one meets it again
            log.error("damage could not be recorded: %s", fault.message)
