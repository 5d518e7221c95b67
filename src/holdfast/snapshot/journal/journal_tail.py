"""The end of a line in a vault: what comes after the last piece that is known, as soon as it is there.

The name of the next object follows from the last piece, so asking for it is one request, however long the journal is.
Only where objects were put together it has another name, which a list of the line shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.errors import NotFound, SnapshotDamaged
from holdfast.core.ports import Vault
from holdfast.snapshot.journal.journal_layout import JournalObject, object_name, read_object
from holdfast.snapshot.journal.journal_reader import Base, ExpectedPieces, Trust, needed
from holdfast.snapshot.journal.piece import Piece, read_pieces


def read_next(vault: Vault, trust: Trust, line: str, base: Base) -> list[Piece]:
    """The pieces that the object right after the base holds; none if it is not there.

    Raises:
        SnapshotDamaged, SnapshotTooNew, SnapshotForeign, SnapshotUntrusted: they may not be used.
    """
    name = object_name(trust.tenant, trust.agent, line, base.number + 1)
    try:
        data = read_object(vault, JournalObject(name, line, base.number + 1, None, 0))
    except NotFound:
        return []
    found = _checked(data, trust, line, base)
    if not found:
        raise SnapshotDamaged(f"journal: {name} holds other pieces than its name says")
    return found


def find_next(vault: Vault, trust: Trust, line: str, base: Base, objects: Sequence[JournalObject]) -> list[Piece]:
    """The same, looked for among the objects of the line; none if they hold nothing after the base. Faults as of
    `read_next`; also if what comes next is missing, and later pieces are there."""
    broken: SnapshotDamaged | None = None
    for one in needed(objects, base.number):
        if one.first > base.number + 1:
            broken = broken or SnapshotDamaged(f"journal: piece {base.number + 1} of line {line} is missing")
            break
        try:
            if found := _checked(read_object(vault, one), trust, line, base):
                return found
        except NotFound:  # put together with others meanwhile
            continue
        except SnapshotDamaged as fault:  # others may hold its pieces too
            broken = fault
    if broken is not None:
        raise broken
    return []


def _checked(data: bytes, trust: Trust, line: str, base: Base) -> list[Piece]:
    """The pieces after the base, each of which follows the one before."""
    expected, found = ExpectedPieces(base), []
    for piece in read_pieces(data):
        if piece.header.number <= expected.last:
            expected.again(piece)
            continue
        trust.check(piece.header, line)
        expected.follow(piece, line)
        found.append(piece)
    return found
