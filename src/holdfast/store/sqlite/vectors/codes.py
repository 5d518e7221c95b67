"""The codes of the vectors: in chunks on disk, whole in memory, the second made from the first.

On disk a chunk holds the codes of a few sequence numbers, so a record that goes takes its codes along by one small
write. In memory all codes of a space lie side by side. They are read on first use (1,000,000 codes: 248 MB) and
follow each commit; a code that is not removed from memory yet only costs a look at a row that is gone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import apsw
import numpy as np

from holdfast.core.errors import DataDamaged
from holdfast.store.quantization import Codes, CodeTable, Seqs
from holdfast.store.sqlite.faults import as_faults

# Sequence numbers in a row. Of records in 32 parts that is half a megabyte to write anew for each few that come.
CHUNK = 64
READ_CHUNKS = 64  # put into memory at once: each call costs as much as some hundred codes
# So many codes of records that are gone may stay in memory, and this share of them all; then they are read anew.
GONE, GONE_SHARE = 2_000, 0.1


def damaged() -> DataDamaged:
    return DataDamaged("store: codes of vectors are damaged", hint="Repair them with: holdfast verify --repair-index")


@dataclass(frozen=True, slots=True)
class CodeChunk:
    """Sequence numbers, ascending by amount, negative where the record is gone, and their codes: one for each part of
    a record's text."""

    seqs: Seqs
    codes: Codes

    @property
    def live(self) -> int:
        """How many records."""
        return len(np.unique(self.seqs[self.seqs > 0]))


def unpack(seqs: bytes, codes: bytes) -> CodeChunk:
    """A chunk as it was stored.

    Raises:
        DataDamaged: its sizes do not fit together.
    """
    if not seqs or len(seqs) % 8 or len(codes) % len(seqs):
        raise damaged()
    numbers = np.frombuffer(seqs, dtype="<i8").astype(np.int64, copy=False)
    words = np.frombuffer(codes, dtype="<u8").astype(np.uint64, copy=False)
    return CodeChunk(numbers, words.reshape(len(numbers), -1))


def add_codes(db: apsw.Connection, space: int, seqs: Seqs, codes: Codes) -> None:
    """Put codes into their chunks, in the place of older ones of the same records."""
    for number in np.unique(seqs // CHUNK).tolist():
        mine = seqs // CHUNK == number
        _merge(db, space, number, CodeChunk(seqs[mine], codes[mine]))


def _merge(db: apsw.Connection, space: int, number: int, new: CodeChunk) -> None:
    row: Any = db.execute("SELECT seqs, codes FROM vector_codes WHERE space = ? AND chunk = ?", (space, number)).get
    if row is not None:
        old = unpack(*row)
        kept = (old.seqs > 0) & ~np.isin(old.seqs, new.seqs)
        new = CodeChunk(np.concatenate([old.seqs[kept], new.seqs]), np.concatenate([old.codes[kept], new.codes]))
    order = np.argsort(new.seqs, kind="stable")  # the parts of a record stay in order
    write_chunk(db, space, number, CodeChunk(new.seqs[order], new.codes[order]))


def write_chunk(db: apsw.Connection, space: int, number: int, chunk: CodeChunk) -> None:
    """Store a chunk; SQLite writes only those of its pages that changed when its size stays the same."""
    values = (chunk.live, chunk.seqs.astype("<i8").tobytes(), chunk.codes.astype("<u8").tobytes(), space, number)
    db.execute("UPDATE vector_codes SET live = ?, seqs = ?, codes = ? WHERE space = ? AND chunk = ?", values)
    if not db.changes():
        sql = "INSERT INTO vector_codes (live, seqs, codes, space, chunk) VALUES (?, ?, ?, ?, ?)"
        db.execute(sql, values)


def erase_code(db: apsw.Connection, space: int, seq: int) -> int:
    """Overwrite the codes of a record that goes; how many they were."""
    key = (space, seq // CHUNK)
    row: Any = db.execute("SELECT seqs, codes FROM vector_codes WHERE space = ? AND chunk = ?", key).get
    if row is None:
        return 0
    chunk = unpack(*row)
    mine = chunk.seqs == seq
    if not mine.any():
        return 0
    seqs, codes = np.where(mine, -chunk.seqs, chunk.seqs), np.where(mine[:, None], np.uint64(0), chunk.codes)
    left = CodeChunk(seqs, codes)
    if left.live:
        write_chunk(db, *key, left)
    else:
        db.execute("DELETE FROM vector_codes WHERE space = ? AND chunk = ?", key)
    return int(np.count_nonzero(mine))


def each_chunk(db: apsw.Connection, space: int) -> Iterator[tuple[int, int, CodeChunk]]:
    """Every chunk of a space with its number and how many live records it claims to have."""
    sql = "SELECT chunk, live, seqs, codes FROM vector_codes WHERE space = ? ORDER BY chunk"
    rows: Any = db.execute(sql, (space,))
    for number, live, seqs, codes in rows:
        yield number, live, unpack(seqs, codes)


def count_codes(db: apsw.Connection, space: int) -> int:
    """How many records of a space have their code."""
    found: Any = db.execute("SELECT coalesce(sum(live), 0) FROM vector_codes WHERE space = ?", (space,)).get
    return int(found)


@dataclass(frozen=True, slots=True)
class CodeChange:
    """What a write did to the codes of a space: added some, or removed so many."""

    space: int
    seqs: Seqs
    codes: Codes
    gone: int = 0


def _append(table: CodeTable, chunks: Sequence[tuple[bytes, bytes]]) -> None:
    """What is live of some chunks.

    Raises:
        DataDamaged: the sizes of one do not fit together.
    """
    if not all(len(codes) == table.words * len(seqs) for seqs, codes in chunks):
        raise damaged()
    chunk = unpack(*map(b"".join, zip(*chunks, strict=True)))
    live = chunk.seqs > 0
    if live.all():
        table.append(chunk.seqs, chunk.codes)
    else:
        table.append(chunk.seqs[live], chunk.codes[live])


class VectorCodes:
    """The codes in memory, by space, shared by all threads."""

    def __init__(self, connect: Callable[[], apsw.Connection]):
        """`connect` opens a reader of its own: a thread's reader may be in an older transaction."""
        self._connect = connect
        self._reading = threading.Lock()  # held by the thread that brings the codes up to date; the others wait for it
        self._mutex = threading.Lock()  # guards the lists below; never held for long, for a commit waits for it
        self._late: dict[int, list[CodeChange]] = {}  # committed since the codes of a space were read last
        self._tables: dict[int, CodeTable] = {}
        self._gone: dict[int, int] = {}

    def of(self, space: int, dims: int) -> CodeTable:
        """All committed codes of the space, whose vectors have `dims` numbers; read now if not in memory yet."""
        table = self._tables.get(space)
        if table is None or self._late.get(space):
            with self._reading:
                table = self._tables.get(space)
                if table is None:  # an empty one is read: what was committed since comes after it
                    table = self._read(space, dims)
                self._catch_up(space, table)
        return table

    def _read(self, space: int, dims: int) -> CodeTable:
        with self._mutex:
            self._late[space] = []  # before the first look: what is committed from now on comes this way
        try:
            with as_faults():
                table = self._read_chunks(space, dims)
        except BaseException:
            with self._mutex:
                del self._late[space]
            raise
        self._tables[space], self._gone[space] = table, 0
        return table

    def _catch_up(self, space: int, table: CodeTable) -> None:
        with self._mutex:
            changes, self._late[space] = self._late[space], []
        for change in changes:
            if len(change.seqs):
                table.append(change.seqs, change.codes)
            self._gone[space] += change.gone
        if self._gone[space] > max(GONE, GONE_SHARE * len(table)):
            del self._tables[space]  # the next search reloads them

    def _read_chunks(self, space: int, dims: int) -> CodeTable:
        db = self._connect()
        try:
            db.execute("BEGIN")  # one transaction for both reads
            room: Any = db.execute("SELECT total(length(seqs)) / 8 FROM vector_codes WHERE space = ?", (space,)).get
            table = CodeTable(dims, int(room))
            sql = "SELECT seqs, codes FROM vector_codes WHERE space = ? ORDER BY chunk"
            chunks: Any = db.execute(sql, (space,))
            while some := list(islice(chunks, READ_CHUNKS)):
                _append(table, some)
        finally:
            db.close()
        return table

    def follow(self, changes: Iterable[CodeChange]) -> None:
        """Note what was committed; the next search takes it over, so that no writer waits for that."""
        with self._mutex:
            for change in changes:
                if change.space in self._late:
                    self._late[change.space].append(change)

    def forget(self) -> None:
        """Reload everything at the next use."""
        with self._reading, self._mutex:
            self._tables.clear()
            self._late.clear()
