"""Reading a line of the journal: its pieces are fetched, checked one by one and kept in a private folder.

A piece counts only if it follows the one before: the same line, the next number, the hash of what went before. It must
be of this memory and, where there is a key, signed with one that is trusted. The first that is not ends what can be
restored; the caller decides whether that is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.core.disk import disk_faults
from holdfast.core.errors import (
    Fault,
    NotFound,
    SnapshotDamaged,
    SnapshotForeign,
    SnapshotTooNew,
    SnapshotUntrusted,
)
from holdfast.core.ports import Vault
from holdfast.snapshot.journal.journal_layout import JournalObject, read_object
from holdfast.snapshot.journal.journal_lines import JournalLine
from holdfast.snapshot.journal.piece import Piece, PieceHeader, is_signed_rightly, read_pieces
from holdfast.snapshot.keys.keyring import Keyring

_READABLE: tuple[type[Fault], ...] = (SnapshotDamaged, SnapshotTooNew, SnapshotForeign, SnapshotUntrusted, NotFound)
# Clocks jump: a moment may come again after a piece that is later by its clock. Further ahead no piece is looked at.
AHEAD_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose pieces count."""

    tenant: str
    agent: str
    keyring: Keyring
    allow_unsigned: bool = False
    signer: str | None = None  # a key that the caller trusts for this one

    def check(self, header: PieceHeader, line: str) -> None:
        """Refuse a piece of another memory, or of somebody else.

        Raises:
            SnapshotForeign, SnapshotUntrusted, SnapshotDamaged: it does not count.
        """
        if (header.tenant, header.agent, header.line) != (self.tenant, self.agent, line):
            raise SnapshotForeign("journal: a piece belongs to another memory or line")
        if header.signer is None:
            if self.keyring.demands() and not self.allow_unsigned:
                raise SnapshotUntrusted("journal: a piece is not signed")
            return
        if not is_signed_rightly(header):
            raise SnapshotDamaged("journal: the signature of a piece does not match it")
        if header.signer != self.signer and not self.keyring.accepts(header.signer):
            raise SnapshotUntrusted(
                f"journal: a piece is signed by {header.signer}, which is not trusted here",
                hint=f"If you know whose key this is, trust it: holdfast key trust {header.signer}",
                details={"signer": header.signer},
            )


@dataclass(frozen=True, slots=True)
class Base:
    """The last piece that what the journal is applied to holds already."""

    number: int = 0
    hash: str = ""


@dataclass(frozen=True, slots=True)
class FetchedPiece:
    """A piece in a private file."""

    file: Path
    start: int
    size: int
    number: int
    at: int
    since: int
    whole: bool
    signer: str | None

    def read(self) -> Piece:
        with disk_faults("read the journal"), open(self.file, "rb") as file:
            file.seek(self.start)
            return next(read_pieces(file.read(self.size)))


@dataclass(slots=True)
class FetchedLine:
    """The pieces of a line from one on, up to the last that leaves the memory as it was at one moment."""

    line: str
    pieces: list[FetchedPiece] = field(default_factory=list)
    problem: Fault | None = None  # why later ones cannot be used, if there are any
    lost: int = 0  # how many pieces at least are known to be beyond it
    next: FetchedPiece | None = None  # the first one that is later than the moment

    @property
    def signers(self) -> set[str]:
        return {one.signer for one in self.pieces if one.signer is not None}

    @property
    def upto(self) -> int | None:
        """The moment that the last piece stands for."""
        return self.pieces[-1].at if self.pieces else None


def fetch_line(
    vault: Vault, line: JournalLine, base: Base, moment: int | None, trust: Trust, into: Path
) -> FetchedLine:
    """The pieces of the line after the one at its base, up to a moment, or to its end."""
    fetched, after = FetchedLine(line.id), base.number
    found: list[FetchedPiece] = []
    expected = ExpectedPieces(base)
    try:
        for number, (file, pieces) in enumerate(_objects(vault, line, after, into)):
            if _is_past(pieces, moment) and number:
                break
            for start, piece in pieces:
                if piece.header.number <= expected.last:
                    expected.again(piece)
                    continue
                trust.check(piece.header, line.id)
                expected.follow(piece, fetched.line)
                found.append(_fetched(file, start, piece))
    except _READABLE as fault:
        fetched.problem = fault
        fetched.lost = max(0, _last_of(line) - (found[-1].number if found else after))
    _cut(fetched, found, moment)
    return fetched


class ExpectedPieces:
    """What the next piece must be."""

    def __init__(self, base: Base):
        self.last = base.number
        self._known = {base.number: base.hash}  # hashes of the pieces that were read, the last ones

    def follow(self, piece: Piece, line: str) -> None:
        header = piece.header
        if header.number != self.last + 1:
            raise SnapshotDamaged(f"journal: piece {self.last + 1} of line {line} is missing")
        if header.previous != self._known.get(self.last):
            raise SnapshotDamaged(f"journal: piece {header.number} of line {line} does not follow the one before")
        self.last = header.number
        self._known = {header.number: piece.hash, **dict(list(self._known.items())[:4095])}

    def again(self, piece: Piece) -> None:
        """A piece that lies there twice must be the same."""
        known = self._known.get(piece.header.number)
        if known is not None and known != piece.hash:
            raise SnapshotDamaged(f"journal: piece {piece.header.number} exists twice with different content")


def _objects(vault: Vault, line: JournalLine, after: int, into: Path) -> Iterator[tuple[Path, list[tuple[int, Piece]]]]:
    """The objects of the line with pieces after that number. One that is damaged or gone is passed over as long as
    others hold its pieces too."""
    reached = after
    broken: SnapshotDamaged | None = None
    awaited = 0  # the first piece of what is broken
    for at, one in enumerate(needed(line.objects, after)):
        if one.last is not None and one.last <= reached:
            continue
        if one.first > reached + 1:
            break
        try:
            data = read_object(vault, one)
            pieces = list(_located(data))
            if not pieces or pieces[0][1].header.number != one.first:
                raise SnapshotDamaged(f"journal: {one.name} holds other pieces than its name says")
        except NotFound:
            broken, awaited = SnapshotDamaged(f"journal: {one.name} is missing"), one.first
            continue
        except SnapshotDamaged as fault:
            broken, awaited = fault, one.first
            continue
        file = into / f"{line.id}.{at:06d}"
        with disk_faults("keep the journal"):
            file.write_bytes(data)
        reached = max(reached, pieces[-1][1].header.number)
        yield file, pieces
    if broken is not None and awaited > reached:
        raise broken
    if any(one.first > reached + 1 for one in line.objects):
        raise SnapshotDamaged(f"journal: piece {reached + 1} of line {line.id} is missing")


def needed(objects: Sequence[JournalObject], after: int) -> list[JournalObject]:
    """Without those whose pieces all come before: of one that does not say where it ends, the next one does."""
    starts = [one.first for one in objects]
    begin = max((start for start in starts if start <= after + 1), default=0)
    return [one for one in objects if one.first >= begin or (one.last is not None and one.last > after)]


def _located(data: bytes) -> Iterator[tuple[int, Piece]]:
    at = 0
    for piece in read_pieces(data):
        yield at, piece
        at += len(piece.data)


def _fetched(file: Path, start: int, piece: Piece) -> FetchedPiece:
    header = piece.header
    return FetchedPiece(
        file, start, len(piece.data), header.number, header.at, header.since, header.whole, header.signer
    )


def _is_past(pieces: list[tuple[int, Piece]], moment: int | None) -> bool:
    return moment is not None and pieces[0][1].header.at > moment + AHEAD_MS


def _cut(fetched: FetchedLine, found: list[FetchedPiece], moment: int | None) -> None:
    """Keep what leads to the last moment that is meant; what breaks off later does not matter then."""
    end = 0
    for at, one in enumerate(found, 1):
        if one.whole and (moment is None or one.at <= moment):
            end = at
    fetched.pieces = found[:end]
    later = [one for one in found[end:] if moment is not None and one.at > moment and one.whole]
    if later:
        fetched.next, fetched.problem, fetched.lost = later[0], None, 0


def _last_of(line: JournalLine) -> int:
    """The highest number that the names show."""
    return max((one.last or one.first for one in line.objects), default=0)
