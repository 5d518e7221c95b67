"""What can still be read of a damaged database, as a sound file of its own. Every row's checksum decides.

The damaged file is only read. What is derived from the records is rebuilt; vectors are copied as far as they can be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import apsw

from holdfast.core.errors import DataDamaged, Fault
from holdfast.store.port import Table
from holdfast.store.rows import Row, RowCodec, shape_of
from holdfast.store.sqlite.database import check_ours, migrate, open_reader
from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.files.copy_rows import FAR, PLACE, attach, counter, make_private, set_counter, tally_again
from holdfast.store.sqlite.files.derived_data import make_derived
from holdfast.store.sqlite.files.page_reader import Fields, Pages
from holdfast.store.sqlite.vectors.check import mend_vectors
from holdfast.store.tables import TABLES

_RANGE = 1_000  # vectors copied at once: one damaged page costs no more than these

Tallies = dict[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class SalvagedRows:
    """Sound rows by table, and how many there should be; None where the damaged file does not show it."""

    rows: dict[str, int]
    expected: dict[str, int] | None
    whole: bool  # the new file holds every record of the damaged one, by number and by checksum

    @property
    def lost(self) -> dict[str, int] | None:
        """Rows that were stored and cannot be read, by table."""
        if self.expected is None:
            return None
        missing = {name: count - self.rows.get(name, 0) for name, count in self.expected.items()}
        return {name: count for name, count in missing.items() if count > 0}


def salvage(source: Path, into: Path, tenant: str | None = None) -> SalvagedRows:
    """Write every sound row into a new file. With a tenant, only its memory: no tokens, and nothing of others.

    Raises:
        DataDamaged: there is nothing that could be read.
        StorageFull, StorageFailed: the file cannot be read or written.
    """
    if not source.is_file():
        raise DataDamaged(
            f"salvage: {source} is missing",
            hint="Restore the file from a backup, or start with a new folder: --data DIR",
        )
    expected, last = _recorded_tallies(source)
    db = make_private(into)
    try:
        migrate(db)
        with as_faults():
            found, highest = _fill(db, source, tenant)
            with db:
                set_counter(db, max(last, highest))
                tally_again(db)
                make_derived(db)
            _copy_rest(db, source, tenant)
            whole = tenant is None and _tallies(db) == expected
    finally:
        db.close()
    counts = None if expected is None else {name: rows for name, (rows, _) in expected.items()}
    return SalvagedRows(dict(found), counts, whole)


def make_empty(path: Path) -> None:
    """A new file with nothing in it."""
    db = make_private(path)
    try:
        migrate(db)
    finally:
        db.close()


def unreadable(database: Path) -> str | None:
    """Why a database cannot be opened, or its tables not begun to be read; None if they can."""
    if not database.is_file() or not database.stat().st_size:
        return "its database is missing"
    try:
        db = open_reader(database)
    except Fault as fault:
        return fault.message
    try:
        with as_faults():
            check_ours(db)
            for table in TABLES:
                db.execute(f"SELECT 1 FROM {table.name} LIMIT 1").fetchall()
    except Fault as fault:
        return fault.message
    finally:
        db.close()
    return None


def _recorded_tallies(source: Path) -> tuple[Tallies | None, int]:
    """How many rows each table should have, with the sum of their checksums, and the last number that was given."""
    try:
        db = open_reader(source)
    except Fault:
        return None, 0
    try:
        return _tallies(db), counter(db)
    except (apsw.Error, ValueError, TypeError):
        return None, 0
    finally:
        db.close()


def _tallies(db: apsw.Connection) -> Tallies:
    rows: Any = db.execute("SELECT source, rows, sum FROM main.tallies WHERE source != 'seq' AND rows != 0").fetchall()
    return {name: (count, total) for name, count, total in rows}


def _fill(db: apsw.Connection, source: Path, tenant: str | None) -> tuple[Counter[str], int]:
    """Store every sound row; how many by table, of all tenants, and the highest number of a row."""
    layouts = [_Layout(db, table) for table in TABLES]
    found: Counter[str] = Counter()
    highest = 0
    with Pages(source) as pages, db:
        for layout, row, seq in _sound_rows(pages, layouts):
            found[layout.name] += layout.insert(row) if layout.is_of(row, tenant) else 1
            highest = max(highest, seq)
    return found, highest


def _sound_rows(pages: Pages, layouts: list[_Layout]) -> Iterator[tuple[_Layout, Row, int]]:
    for seq, fields in pages.rows():
        for layout in layouts:
            row = layout.sound(seq, fields)
            if row is not None:
                yield layout, row, seq
                break


class _Layout:
    """How the rows of one table lie on its pages."""

    def __init__(self, db: apsw.Connection, table: Table[Any]):
        self.name = table.name
        self._db = db
        self._shape: RowCodec = shape_of(table)
        info: Any = db.execute(f"PRAGMA table_info({table.name})").fetchall()
        self._columns = [name for _, name, *_ in info]
        # Columns that came later stand behind the checksum; a row that was written before has none of them.
        self._least = self._columns.index("checksum") + 1
        later = [default for _, _, _, _, default, _ in info[self._least :]]
        self._later = [db.execute(f"SELECT {default or 'NULL'}").get for default in later]

    @cached_property
    def _statement(self) -> str:
        columns = (*self._shape.columns, "checksum")
        marks = ", ".join("?" * len(columns))
        return f"INSERT OR IGNORE INTO main.{self.name} ({', '.join(columns)}) VALUES ({marks})"

    def sound(self, seq: int, fields: Fields) -> Row | None:
        """The row in the order of its record with its checksum, if it is one of this table and as it was written."""
        if not self._least <= len(fields) <= len(self._columns):
            return None
        fields = fields + self._later[len(fields) - self._least :]
        named = dict(zip(self._columns, fields, strict=True)) | {"seq": seq}
        values = [named[name] for name in self._shape.columns]
        for at in self._shape.floats:  # SQLite stores a number without a fraction as an integer
            values[at] = float(values[at]) if isinstance(values[at], int) else values[at]
        try:
            matches = self._shape.checksum(values) == named["checksum"]
        except (TypeError, ValueError):
            return None
        return (*values, named["checksum"]) if matches else None

    def is_of(self, row: Row, tenant: str | None) -> bool:
        return tenant is None or (row[0] == tenant and self.name not in PLACE)

    def insert(self, row: Row) -> int:
        """Store it; how many rows came: none if its number or its id is there already."""
        before = self._db.total_changes()
        self._db.execute(self._statement, row)
        return self._db.total_changes() - before


def _copy_rest(db: apsw.Connection, source: Path, tenant: str | None) -> None:
    """Vectors and counts of recalls, as far as the damaged file gives them; of a whole copy events that wait as well.

    Nothing depends on the first two but time: a vector that is missing is made again.
    """
    with suppress(apsw.Error, Fault):
        attach(db, source)
        tables = ["recalls", *(["events"] if tenant is None else [])]
        for name in tables:
            with suppress(apsw.Error):
                owned = "1" if tenant is None else "tenant = ?1"
                with db:
                    db.execute(
                        f"INSERT OR IGNORE INTO main.{name} SELECT * FROM {FAR}.{name} WHERE {owned}",
                        () if tenant is None else (tenant,),
                    )
        with suppress(apsw.Error):
            _copy_vectors(db, tenant)
    with db:
        mend_vectors(db)


def _copy_vectors(db: apsw.Connection, tenant: str | None) -> None:
    with db:
        db.execute(
            f"INSERT INTO main.vector_spaces SELECT * FROM {FAR}.vector_spaces WHERE ?1 IS NULL OR tenant = ?1",
            (tenant,),
        )
    spaces = "space IN (SELECT number FROM main.vector_spaces)"
    for first in range(0, counter(db) + 1, _RANGE):
        with suppress(apsw.Error), db:
            db.execute(
                f"INSERT INTO main.vectors SELECT * FROM {FAR}.vectors WHERE seq BETWEEN ? AND ? AND {spaces}",
                (first, first + _RANGE - 1),
            )
