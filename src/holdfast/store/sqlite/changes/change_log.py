"""The changes that the journal in the vault still lacks, and the rows they stand for; fulfils `ChangeLog`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol, TypeVar

import apsw
import numpy as np
import orjson

from holdfast.core.errors import DataDamaged
from holdfast.store.journal.journal_port import Changes, JournalPlace, Values
from holdfast.store.rows import shape_of
from holdfast.store.sqlite.changes.change_rows import (
    ANY,
    JOURNALED,
    count_rows,
    merge,
    note_place,
    noted_place,
    place_in,
    seed,
)
from holdfast.store.sqlite.database import open_reader
from holdfast.store.sqlite.faults import as_faults

T = TypeVar("T")

MOST_ROWS = 2_000  # in one piece
MOST_BYTES = 8_000_000  # of their text, unless one commit has more
MOST_RECORDS = 5_000  # while the vault takes nothing; then each row is recorded once

_TABLES = {table.name: table for table in JOURNALED}


class Commits(Protocol):
    """The one writer of the store."""

    recording: bool

    @property
    def last_seq(self) -> int: ...

    def next_seq(self) -> int: ...

    def skip_to(self, seq: int) -> None: ...

    def write(self, run: Callable[[Any], T]) -> T: ...


class SqliteChangeLog:
    """Reads through a connection of its own; writes are commits like any other."""

    def __init__(self, path: Path, writer: apsw.Connection, commits: Commits):
        self._path = path
        self._writer = writer
        self._commits = commits

    def is_on(self) -> bool:
        return self._commits.recording

    def begin(self, tenant: str, line: str, seed_most: int) -> JournalPlace:
        db, next_seq = self._writer, self._commits.next_seq

        def job(_: Any) -> JournalPlace:
            db.execute("DELETE FROM changes WHERE tenant = ?", (tenant,))
            made = JournalPlace(line, 0, "", next_seq(), count_rows(db, tenant, seed_most) <= seed_most)
            if made.seeded:
                seed(db, tenant, next_seq)
            note_place(db, ANY, JournalPlace("", 0, "", 0, False))
            note_place(db, tenant, made)
            self._commits.recording = True  # a commit that fails reads it again
            return made

        return self._commits.write(job)

    def end(self) -> None:
        db = self._writer

        def job(_: Any) -> None:
            db.execute("DELETE FROM changes")
            db.execute("DELETE FROM journal")
            self._commits.recording = False

        self._commits.write(job)

    def place(self, tenant: str) -> JournalPlace | None:
        with closing(open_reader(self._path)) as db, as_faults():
            return place_in(db, tenant)

    def waiting(self) -> list[str]:
        with closing(open_reader(self._path)) as db, as_faults():
            return [str(tenant) for (tenant,) in db.execute("SELECT DISTINCT tenant FROM changes ORDER BY 1")]

    def take(self, tenant: str, after: int) -> Changes | None:
        with closing(open_reader(self._path)) as db, as_faults():
            db.execute("BEGIN")
            most = MOST_ROWS
            while True:
                found = _taken(db, tenant, after, most)
                if found is None or most <= 1 or _size(found) <= MOST_BYTES:
                    return found
                most //= 4

    def followed(self, tenant: str) -> JournalPlace | None:
        with closing(open_reader(self._path)) as db, as_faults():
            return noted_place(db, tenant)

    def follow(self, tenant: str, place: JournalPlace, seq: int, apply: Callable[[Any], None]) -> None:
        commits = self._commits

        def job(tx: Any) -> None:
            tx.follow(commits.last_seq)
            commits.skip_to(seq)
            commits.next_seq()  # by which readers notice that something was written
            apply(tx)
            note_place(self._writer, tenant, place)

        commits.write(job)

    def confirm(self, tenant: str, place: JournalPlace) -> None:
        db = self._writer

        def job(_: Any) -> None:
            note_place(db, tenant, place)
            db.execute("DELETE FROM changes WHERE tenant = ? AND place <= ?", (tenant, place.place))

        self._commits.write(job)

    def bound(self, tenant: str) -> None:
        """Keep what waits small."""
        with closing(open_reader(self._path)) as db, as_faults():
            count: Any = db.execute("SELECT count(*) FROM changes WHERE tenant = ?", (tenant,)).get
        if count > MOST_RECORDS:
            self._commits.write(lambda _: merge(self._writer, tenant, self._commits.next_seq))


def _taken(db: apsw.Connection, tenant: str, after: int, most: int) -> Changes | None:
    numbers: dict[str, set[int]] = {}
    upto, count, whole = after, 0, True
    sql = "SELECT place, rows FROM changes WHERE tenant = ? AND place > ? ORDER BY place"
    for place, text in db.execute(sql, (tenant, after)):
        if count >= most:
            whole = False
            break
        for table, some in orjson.loads(text).items():
            numbers.setdefault(table, set()).update(some)
            count += len(some)
        upto = place
    if upto == after:
        return None
    put: dict[str, list[Values]] = {}
    gone: dict[str, list[int]] = {}
    for name, wanted in numbers.items():
        rows = _rows(db, tenant, name, sorted(wanted))
        if rows:
            put[name] = rows
        at = shape_of(_TABLES[name]).columns.index("seq")
        if missing := wanted.difference(row[at] for row in rows):
            gone[name] = sorted(missing)
    seq: Any = db.execute("SELECT rows FROM tallies WHERE source = 'seq'").get
    return Changes(upto, whole, int(seq), put, gone)


def _rows(db: apsw.Connection, tenant: str, name: str, numbers: list[int]) -> list[Values]:
    shape = shape_of(_TABLES[name])
    columns = ", ".join((*shape.columns, "checksum"))
    sql = f"SELECT {columns} FROM {name} WHERE seq IN carray(?) AND +tenant = ? ORDER BY seq"
    found: Any = db.execute(sql, (apsw.carray(np.array(numbers, np.int64)), tenant)).fetchall()
    if not all(map(shape.is_sound, found)):
        raise DataDamaged(f"journal: a row of {name} does not match its checksum")
    return list(found)


def _size(found: Changes) -> int:
    return sum(len(value) for rows in found.put.values() for row in rows for value in row if isinstance(value, str))
