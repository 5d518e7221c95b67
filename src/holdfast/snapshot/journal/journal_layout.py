"""Where the journal lies in a vault, and what is there.

<tenant>/<agent>/journal/<line>/<first piece>                  as it was sent
<tenant>/<agent>/journal/<line>/<first piece>-<last piece>     several of these as one
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.core.disk import disk_faults
from holdfast.core.errors import SnapshotDamaged
from holdfast.core.ports import Vault
from holdfast.snapshot.journal.piece import read_pieces
from holdfast.snapshot.remote.transfer import prefix_of

JOURNAL = "journal"
MOST_OBJECT = 320 * 1024 * 1024
_LINE = re.compile(r"[0-9]{13}-[0-9a-f]{12}")
_NAME = re.compile(r"([0-9]{13}-[0-9a-f]{12})/([0-9]{12})(?:-([0-9]{12}))?")


@dataclass(frozen=True, slots=True)
class JournalObject:
    """Pieces in a vault, as far as the name shows."""

    name: str  # in the vault
    line: str
    first: int
    last: int | None  # None if only its content shows it
    size: int


def journal_prefix(tenant: str, agent: str, line: str = "") -> str:
    return f"{prefix_of(tenant, agent)}{JOURNAL}/{f'{line}/' if line else ''}"


def object_name(tenant: str, agent: str, line: str, first: int, last: int | None = None) -> str:
    end = "" if last is None else f"-{last:012d}"
    return f"{journal_prefix(tenant, agent, line)}{first:012d}{end}"


def is_line(text: str) -> bool:
    """Whether the text names a line."""
    return _LINE.fullmatch(text) is not None


def list_journal(vault: Vault, tenant: str, agent: str, line: str = "") -> dict[str, list[JournalObject]]:
    """What the vault has of the journal, by line in the order of pieces; of one line, or of all."""
    prefix = journal_prefix(tenant, agent)
    found: dict[str, list[JournalObject]] = {}
    for one in vault.list(journal_prefix(tenant, agent, line)):
        if parts := _NAME.fullmatch(one.name.removeprefix(prefix)):
            last = int(parts[3]) if parts[3] else None
            found.setdefault(parts[1], []).append(JournalObject(one.name, parts[1], int(parts[2]), last, one.size))
    return {line: sorted(objects, key=_order) for line, objects in sorted(found.items())}


def _order(one: JournalObject) -> tuple[int, int]:
    """By the first piece; of equal ones that with the most first."""
    return one.first, -(one.last or 0)


def read_object(vault: Vault, one: JournalObject, most: int = MOST_OBJECT) -> bytes:
    """Its bytes, or the first of them."""
    data = bytearray()
    with vault.open(one.name) as stream, disk_faults(f"vault: read {one.name}"):
        while len(data) < most and (part := stream.read(min(1 << 20, most - len(data)))):
            data += part
    if len(data) >= MOST_OBJECT:
        raise SnapshotDamaged(f"journal: {one.name} is too large")
    return bytes(data)


def last_number(vault: Vault, one: JournalObject) -> int:
    """The number of its last piece."""
    if one.last is not None:
        return one.last
    return max((piece.header.number for piece in read_pieces(read_object(vault, one))), default=0)


def total_size(found: Iterable[Iterable[JournalObject]]) -> int:
    return sum(one.size for objects in found for one in objects)
