"""The lines of a journal in a vault: which follows which, and with which snapshot or line a moment begins.

A line is written by one data folder, from the start of a memory, or from when another took its place (a restore, an
undo, a merge, another machine), until the next one does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.core.errors import Fault, NotFound, SnapshotDamaged, SnapshotTooNew
from holdfast.core.ports import Vault
from holdfast.snapshot.bundle.types import Identity, Manifest
from holdfast.snapshot.journal.journal_layout import JournalObject, list_journal, read_object
from holdfast.snapshot.journal.piece import MOST_HEADER, PieceHeader, read_header
from holdfast.snapshot.remote.transfer import list_vault, vaulted_manifest

_POSITION = re.compile(r"([0-9]{13}-[0-9a-f]{12}):([0-9]{1,12}):([0-9a-f]{64}|)")
POSITION = "journal"  # in a manifest's tools: up to which piece of which line the vault had the journal


@dataclass(frozen=True, slots=True)
class JournalLine:
    """A line in a vault, and what its first readable piece says of it."""

    id: str
    objects: tuple[JournalObject, ...]
    header: PieceHeader | None  # None: none of its pieces can be read

    @property
    def begun(self) -> int:
        """By the clock of the host that began it."""
        return int(self.id.split("-")[0])

    @property
    def after(self) -> str:
        return self.header.after if self.header else ""

    @property
    def is_from_nothing(self) -> bool:
        """Whether its pieces alone make the memory."""
        return bool(self.objects) and self.objects[0].first == 1 and self.header is not None and self.header.seeded


@dataclass(frozen=True, slots=True)
class PlacedSnapshot:
    """A snapshot in a vault, and where it stands in the journal."""

    manifest: Manifest
    line: str  # "" if it was made without a journal
    number: int
    hash: str

    @property
    def identity(self) -> Identity:
        return self.manifest.identity


def placed(manifest: Manifest) -> PlacedSnapshot:
    found = _POSITION.fullmatch(dict(manifest.tools).get(POSITION, ""))
    if found is None:
        return PlacedSnapshot(manifest, "", 0, "")
    return PlacedSnapshot(manifest, found[1], int(found[2]), found[3])


def read_lines(vault: Vault, tenant: str, agent: str) -> dict[str, JournalLine]:
    """All lines of a memory's journal, in the order in which they were begun."""
    return {
        line: JournalLine(line, tuple(objects), header_in(vault, objects))
        for line, objects in list_journal(vault, tenant, agent).items()
    }


def header_in(vault: Vault, objects: Sequence[JournalObject]) -> PieceHeader | None:
    """What the first readable one of these objects says of itself."""
    for one in objects[:3]:
        try:
            return read_header(read_object(vault, one, MOST_HEADER))
        except (SnapshotDamaged, SnapshotTooNew, NotFound):
            continue
    return None


def orphans(lines: dict[str, JournalLine], since: int, moment: int | None) -> list[JournalLine]:
    """Lines begun in that time that follow one of which nothing reached the vault."""
    found = [one for one in lines.values() if one.after and one.after not in lines]
    return [one for one in found if one.begun >= since and _is_before(one, moment)]


def last_written(vault: Vault, line: JournalLine) -> int:
    """When the last object of a line was cut, by its host's clock; 0 if that cannot be read."""
    header = header_in(vault, line.objects[-1:])
    return header.at if header is not None else 0


def placed_snapshots(vault: Vault, tenant: str, agent: str) -> list[PlacedSnapshot]:
    """The snapshots of a memory in the vault whose manifests can be read, newest first."""
    found = []
    for one in list_vault(vault, tenant, agent):
        if not one.damaged:
            try:
                found.append(placed(vaulted_manifest(vault, tenant, agent, one.id)))
            except (SnapshotDamaged, SnapshotTooNew, NotFound):
                continue
    return found


def followers(lines: dict[str, JournalLine], line: str, moment: int | None) -> list[JournalLine]:
    """The lines that took this one's place one after the other, up to a moment; the last one first. A line that two
    others follow was followed by the later one."""
    found: list[JournalLine] = []
    seen = {line}
    while True:
        some = [one for one in lines.values() if one.after == line and _is_before(one, moment) and one.id not in seen]
        if not some:
            return found[::-1]
        found.append(max(some, key=lambda one: one.id))
        line = found[-1].id
        seen.add(line)


def _is_before(line: JournalLine, moment: int | None) -> bool:
    return moment is None or line.begun <= moment


def roots(lines: dict[str, JournalLine], since: int, moment: int | None) -> list[JournalLine]:
    """Lines begun in that time that follow none of the same time; the last one first."""
    found = {one.id: one for one in lines.values() if one.begun >= since and _is_before(one, moment)}
    return [one for _, one in sorted(found.items(), reverse=True) if one.after not in found]


def reason(fault: Fault) -> str:
    return fault.message.removeprefix("journal: ").removeprefix("vault: ")
