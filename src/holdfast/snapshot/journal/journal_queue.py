"""Pieces that were cut and are not in the vault yet, as files of the data folder.

They are not synced: what they hold is in the store, and what the disk lost of them is cut again. So only a piece that
follows the one before, byte for byte as it was written, counts.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from holdfast.core.disk import disk_faults, make_folder, write_durably
from holdfast.core.errors import SnapshotDamaged, SnapshotTooNew
from holdfast.core.ports import Entropy
from holdfast.snapshot.journal.piece import Piece, PieceHeader, read_pieces
from holdfast.snapshot.repo.paths import place_of

FOLDER = "journal"  # in the data folder
_FILE = re.compile(r"([0-9]{13}-[0-9a-f]{12})\.([0-9]{12})\.piece")
_STATE = "line.json"
_HOST = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class QueuedPiece:
    """A piece in a file."""

    path: Path
    header: PieceHeader
    hash: str
    size: int


def journal_folder(home: Path, tenant: str, agent: str) -> Path:
    return home.joinpath(FOLDER, *place_of(tenant, agent))


def host_id(home: Path, entropy: Entropy) -> str:
    """What this data folder calls itself in its journal; made at first use."""
    path = home / FOLDER / "host"
    with disk_faults("read the journal's host"):
        make_folder(path.parent)
        found = path.read_text(errors="replace").strip() if path.exists() else ""
    return found if _HOST.fullmatch(found) else new_host_id(home, entropy)


def new_host_id(home: Path, entropy: Entropy) -> str:
    """Another one than before."""
    made = entropy.hex(16)
    write_durably(home / FOLDER / "host", f"{made}\n".encode())
    return made


@dataclass(frozen=True, slots=True)
class LineNote:
    """The line that this folder writes, or was restored from, and the one that it follows."""

    line: str = ""
    after: str = ""


def read_note(folder: Path) -> LineNote:
    try:
        value: Any = orjson.loads((folder / _STATE).read_bytes())
        return LineNote(str(value["line"]), str(value["after"]))
    except (OSError, ValueError, KeyError, TypeError):
        return LineNote()


def write_note(folder: Path, note: LineNote) -> None:
    with disk_faults("note the journal's line"):
        make_folder(folder)
    write_durably(folder / _STATE, orjson.dumps({"line": note.line, "after": note.after}))


def note_origin(home: Path, tenant: str, agent: str, line: str) -> None:
    """A folder whose memory comes from a line of another one: its own will follow that."""
    folder = journal_folder(home, tenant, agent)
    if line and not read_note(folder).line:
        write_note(folder, LineNote(line))


class JournalQueue:
    """The waiting pieces of one memory, in order. One thread adds, another removes."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._lock = threading.Lock()
        self._waiting: list[QueuedPiece] = _load(folder)

    def all(self) -> list[QueuedPiece]:
        with self._lock:
            return list(self._waiting)

    @property
    def size(self) -> int:
        with self._lock:
            return sum(one.size for one in self._waiting)

    def add(self, piece: Piece) -> None:
        header = piece.header
        path = self._folder / f"{header.line}.{header.number:012d}.piece"
        temporary = path.with_suffix(".new")
        with disk_faults("queue a piece of the journal"):
            make_folder(self._folder)
            temporary.write_bytes(piece.data)
            temporary.chmod(0o600)
            temporary.replace(path)
        with self._lock:
            self._waiting.append(QueuedPiece(path, header, piece.hash, len(piece.data)))

    def remove(self, sent: list[QueuedPiece]) -> None:
        """What the vault has by now."""
        with self._lock:
            self._waiting = [one for one in self._waiting if one not in sent]
        with disk_faults("empty the journal's queue"):
            for one in sent:
                one.path.unlink(missing_ok=True)


def _load(folder: Path) -> list[QueuedPiece]:
    """What another process left, as far as it follows from piece to piece; the rest is cut again."""
    found: list[QueuedPiece] = []
    with disk_faults("read the journal's queue"):
        for path in sorted(one for one in folder.glob("*") if one.suffix in (".piece", ".new")):
            one = _read(path)
            if one is None or not _follows(found, one):
                path.unlink()
            else:
                found.append(one)
    return found


def _read(path: Path) -> QueuedPiece | None:
    parts = _FILE.fullmatch(path.name)
    if parts is None:
        return None
    try:
        pieces = list(read_pieces(path.read_bytes()))
    except (SnapshotDamaged, SnapshotTooNew):
        return None
    if len(pieces) != 1 or (pieces[0].header.line, pieces[0].header.number) != (parts[1], int(parts[2])):
        return None
    return QueuedPiece(path, pieces[0].header, pieces[0].hash, len(pieces[0].data))


def _follows(before: list[QueuedPiece], one: QueuedPiece) -> bool:
    last = next((each for each in reversed(before) if each.header.line == one.header.line), None)
    return last is None or (one.header.number, one.header.previous) == (last.header.number + 1, last.hash)
