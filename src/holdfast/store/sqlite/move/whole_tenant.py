"""All of a tenant on its way to another store: its memory, and what otherwise stays at its place (tokens, answers,
events).

A snapshot leaves those out; a move to another store takes them along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from holdfast.core.disk import disk_faults
from holdfast.core.errors import DataDamaged
from holdfast.store.sqlite.database import migrate, open_reader
from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.files.capture import capture_store, check_store
from holdfast.store.sqlite.files.copy_rows import (
    CHANGE_LOG,
    FAR,
    PLACE,
    RECORDS,
    attach,
    copy_tenants,
    counter,
    make_private,
    open_private,
    set_counter,
    tally_again,
)
from holdfast.store.sqlite.files.derived_data import is_complete, make_derived
from holdfast.store.sqlite.files.row_transfer import FileVector
from holdfast.store.sqlite.integrity import verify_records
from holdfast.store.sqlite.move.renumber import renumber
from holdfast.store.sqlite.vectors.nearest import unpack_vectors
from holdfast.store.tables import TABLES

_EVENT = "tenant, agent, kind, body"  # the place is given anew
_KEPT = tuple(name for name in PLACE if name not in ("events", *CHANGE_LOG))
# Where numbers of the tenant's order stand; words that were stored again have one of their own.
_NUMBERS = (*((table.name, "seq") for table in TABLES), ("word_rows", "doc"))


def capture_whole(source: Path, into: Path, tenant: str) -> None:
    """All of a tenant from a file that no process writes, in a new file, which is not checked yet."""
    capture_store(source, into, tenant, check=False)
    db = open_private(into)
    try:
        with as_faults():
            attach(db, source)
            with db:
                _copy_place(db, tenant)
                tally_again(db)
    finally:
        db.close()


def check_whole(path: Path) -> None:
    """Compare every row with its checksum, and make words that are missing.

    Raises:
        DataDamaged: rows are not as they were written.
    """
    check_store(path)
    db = open_private(path)
    try:
        if found := verify_records(db):
            raise DataDamaged(
                f"move: the source is damaged ({found[0].table}: {found[0].message})",
                hint="Check it with holdfast verify, or move a snapshot of it.",
            )
        with as_faults(), db:
            if not is_complete(db):
                make_derived(db)
    finally:
        db.close()


def _copy_place(db: apsw.Connection, tenant: str) -> None:
    for name in _KEPT:
        db.execute(f"INSERT INTO main.{name} SELECT * FROM {FAR}.{name} WHERE tenant = ?", (tenant,))
    _copy_events(db, tenant)


def _copy_events(db: apsw.Connection, tenant: str) -> None:
    sql = f"INSERT INTO main.events ({_EVENT}) SELECT {_EVENT} FROM {FAR}.events WHERE tenant = ? ORDER BY place"
    db.execute(sql, (tenant,))


class WholeReader:
    """A tenant's rows in a file, in the order of their numbers."""

    def __init__(self, path: Path):
        self._db = open_reader(path)
        with as_faults():
            self._db.execute("PRAGMA mmap_size = 0").fetchall()  # every page is read once: mapped, they would be held

    def tenants(self) -> list[str]:
        """All that have a record, a token or an event."""
        names = (*(table.name for table in TABLES), "events")
        with as_faults():
            sql = " UNION ".join(f"SELECT tenant FROM {name}" for name in names)
            return [tenant for (tenant,) in self._db.execute(f"{sql} ORDER BY 1")]

    def records(self, tenant: str) -> int:
        sql = " + ".join(f"(SELECT count(*) FROM {table.name} WHERE tenant = ?1)" for table in TABLES)
        with as_faults():
            found: Any = self._db.execute(f"SELECT {sql}", (tenant,)).get
        return int(found)

    def rows(self, tenant: str, table: str, columns: Sequence[str], order: str) -> Iterator[tuple[Any, ...]]:
        sql = f"SELECT {', '.join(columns)} FROM {table} WHERE tenant = ? ORDER BY {order}"
        with as_faults():
            yield from self._db.execute(sql, (tenant,))

    def vectors(self, tenant: str) -> Iterator[FileVector]:
        sql = (
            "SELECT v.seq, s.model, s.dims, v.hash, v.vector FROM vectors AS v JOIN vector_spaces AS s "
            "ON s.number = v.space WHERE s.tenant = ? ORDER BY v.seq"
        )
        with as_faults():
            rows: Any = self._db.execute(sql, (tenant,))
            for seq, model, dims, hash, vector in rows:
                yield FileVector(seq, model, hash, unpack_vectors([(seq, vector)], dims).rows)

    def close(self) -> None:
        self._db.close()


class Assembly:
    """A new file of many tenants, filled with one file after the other. It is whole once it was closed without a
    fault; after one, throw it away."""

    def __init__(self, path: Path):
        with disk_faults(f"make {path.name}"):
            path.unlink(missing_ok=True)
        self._db = make_private(path)
        migrate(self._db)
        self._db.execute("CREATE TEMP TABLE held (seq INTEGER PRIMARY KEY)")

    def add(self, file: Path, tenant: str) -> None:
        """Take all of a tenant over from its file. In one file every record has a number of its own: a tenant whose
        numbers are taken gets later ones, in the same order."""
        shifted = file.with_suffix(".renumbered")
        try:
            with as_faults():
                self._take(file, tenant, shifted)
        finally:
            shifted.unlink(missing_ok=True)

    def _take(self, file: Path, tenant: str, shifted: Path) -> None:
        attach(self._db, file)
        if self._meets():
            self._db.execute(f"DETACH {FAR}")
            renumber(file, shifted, tenant, counter(self._db))
            attach(self._db, shifted)
        with self._db:
            self._hold()
            copy_tenants(self._db, [tenant], (*RECORDS, *_KEPT))
            _copy_events(self._db, tenant)
            # Which rows were checked for a vector is not the same for all: they are checked once more.
            self._db.execute(f"INSERT OR REPLACE INTO main.followed SELECT source, model, 0 FROM {FAR}.followed")
            set_counter(self._db, max(counter(self._db), counter(self._db, FAR)))
        self._db.execute(f"DETACH {FAR}")

    def _meets(self) -> bool:
        sql = "SELECT 1 FROM {0}.{1} WHERE {2} IN (SELECT seq FROM temp.held) LIMIT 1"
        return any(self._db.execute(sql.format(FAR, *one)).get is not None for one in _NUMBERS)

    def _hold(self) -> None:
        for name, column in _NUMBERS:
            self._db.execute(f"INSERT OR IGNORE INTO temp.held SELECT {column} FROM {FAR}.{name}")

    def finish(self) -> None:
        with as_faults(), self._db:
            tally_again(self._db)
        self.close()

    def close(self) -> None:
        self._db.close()
