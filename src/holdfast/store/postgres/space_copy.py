"""A tenant's memory between its space and the portable file: streamed, with bounded memory.

Tables of words and of background work have the same columns in both, but that the file names the tenant where the
database has the space.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from holdfast.core.errors import DataDamaged
from holdfast.store.engine_port import CapturedFile
from holdfast.store.port import Table
from holdfast.store.portable import FileReader, FileVector, FileWriter, check_store, describe
from holdfast.store.postgres.batch import new_space
from holdfast.store.postgres.pool import EVERY_SPACE, Connection, View
from holdfast.store.postgres.vectors.code_cache import numbers_in
from holdfast.store.postgres.vectors.vector_rows import vector_rows
from holdfast.store.rows import shape_of
from holdfast.store.tables import ACCESS, PLACE, TABLES

AT_ONCE = 1_000  # rows
RECORDS = tuple(table for table in TABLES if table not in PLACE)  # those stay where they were made
DERIVED: dict[str, tuple[str, ...]] = {
    "word_rows": ("doc", "seq", "at", "length", "terms", "weights"),
    "word_gone": ("place", "doc"),
    "word_states": ("version", "folded"),
    "word_segments": ("segment", "docs", "seqs", "ats", "lengths"),
    "word_postings": ("segment", "term", "places", "weights"),
    "outbox": ("seq", "source", "ticket"),
    "recalls": ("seq", "count", "at"),
}
EVENT = ("tenant", "agent", "kind", "body")  # the place is given anew
# With their types: written as text, the numbers would take most of the time of a restore.
_VECTORS = {
    "seq": "int8", "part": "int8", "model": "text", "dims": "int8", "hash": "bytea",
    "numbers": "halfvec", "luck": "float8", "checksum": "int8",
}  # fmt: skip


def capture(view: View, into: Path, tenant: str, *, check: bool, whole: bool = False) -> CapturedFile:
    """Write the tenant's memory into a new file. The view has to be of one moment. `whole`: with what belongs to the
    place, for a move to another one."""
    found = (
        view.see(EVERY_SPACE)
        .execute(
            "SELECT s.space, s.last_seq FROM tenants AS t JOIN spaces AS s ON s.space = t.live WHERE t.tenant = %s",
            (tenant,),
        )
        .fetchone()
    )
    into.unlink(missing_ok=True)
    writer = FileWriter(into, tenant)
    try:
        if found is not None:
            _write(view.see(int(found[0])), writer, int(found[0]), tenant, TABLES if whole else RECORDS)
            if whole:
                writer.insert("events", EVENT, stream(view.db, "events", EVENT, int(found[0]), "place"))
        writer.finish(int(found[1]) if found is not None else 0)
    finally:
        writer.close()
    if check:
        check_store(into)
    return describe(into)


def _write(db: Connection, writer: FileWriter, space: int, tenant: str, tables: Sequence[Table[Any]]) -> None:
    for table in tables:
        columns = (*shape_of(table).columns, "checksum")
        writer.insert(table.name, columns, stream(db, table.name, columns, space, "seq"))
    for name, columns in DERIVED.items():
        rows = map((tenant,).__add__, stream(db, name, columns, space, columns[0]))
        writer.insert(name, ("tenant", *columns), rows)
    followed = ("source", "model", "upto")
    writer.insert("followed", followed, stream(db, "followed", followed, space, "source"))
    vectors = stream_vectors(db, space)
    while some := list(islice(vectors, AT_ONCE)):
        for _, alike in groupby(some, key=lambda one: (one.model, one.numbers.shape[1])):
            writer.insert_vectors(list(alike))


def stream(db: Connection, table: str, columns: Sequence[str], space: int, order: str) -> Iterator[tuple[Any, ...]]:
    sql = f"SELECT {', '.join(columns)} FROM {table} WHERE space = %s ORDER BY {order}"
    with db.cursor("holdfast_capture", binary=True) as cursor:
        cursor.execute(sql.encode(), (space,))
        while rows := cursor.fetchmany(AT_ONCE):
            yield from rows


def stream_vectors(db: Connection, space: int) -> Iterator[FileVector]:
    columns = ("seq", "model", "dims", "hash", "halfvec_send(numbers)")
    rows = stream(db, "vectors", columns, space, "seq, part")
    for (seq, model, dims, hash), parts in groupby(rows, key=itemgetter(0, 1, 2, 3)):
        yield FileVector(seq, model, hash, numbers_in([part[4] for part in parts], dims))


def load(view: View, path: Path, tenant: str, generation: str, *, whole: bool = False) -> int:
    """Fill a new space from a file that was prepared; its number. No reader sees it before it is live. `whole`: with
    what belongs to the place, of a file that was captured so.

    Raises:
        DataDamaged: what was stored is not what the file holds.
    """
    with FileReader(path) as reader:
        space, db = new_space(view, tenant, generation, reader.last_seq()), view.db
        for table in TABLES if whole else RECORDS:
            columns = (*shape_of(table).columns, "checksum")
            expected = _Sum()
            _copy(db, table.name, columns, space, expected.counting(reader.rows(table.name, columns)))
            _tally(db, table.name, space, expected)
        for name, columns in DERIVED.items():
            _copy(db, name, columns, space, reader.rows(name, columns))
        _copy(db, "followed", ("source", "model", "upto"), space, reader.rows("followed", ("source", "model", "upto")))
        sketches = ((hash, seq) for seq, hashes in reader.sketches() for hash in dict.fromkeys(hashes))
        _copy(db, "sketches", ("hash", "seq"), space, sketches)
        vectors = (
            row[1:] for one in reader.vectors() for row in vector_rows(space, one.seq, one.model, one.hash, one.numbers)
        )
        _copy(db, "vectors", tuple(_VECTORS), space, vectors, tuple(_VECTORS.values()))
        if whole:
            _copy(db, "events", EVENT, space, reader.rows("events", EVENT, "place"))
    return space


def _copy(
    db: Connection, table: str, columns: Sequence[str], space: int, rows: Iterable[Sequence[Any]],
    types: Sequence[str] = (),
) -> None:  # fmt: skip
    """Rows go through a table of this transaction: COPY does not write to one that has row security. With the types of
    their columns they are not written as text on the way."""
    names = ", ".join(columns)
    db.execute(f"CREATE TEMPORARY TABLE staged ON COMMIT DROP AS SELECT {names} FROM {table} WHERE false".encode())
    binary = " (FORMAT BINARY)" if types else ""
    with db.cursor() as cursor, cursor.copy(f"COPY staged ({names}) FROM STDIN{binary}".encode()) as copy:
        if types:
            copy.set_types(types)
        for row in rows:
            copy.write_row(row)
    db.execute(f"INSERT INTO {table} (space, {names}) SELECT %s, {names} FROM staged".encode(), (space,))
    db.execute("DROP TABLE staged")


class _Sum:
    """How many rows went by, and the sum of their checksums, which stand last."""

    def __init__(self) -> None:
        self.rows = 0
        self.total = 0

    def counting(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        for row in rows:
            self.rows += 1
            self.total += row[-1]
            yield row


def _tally(db: Connection, name: str, space: int, expected: _Sum) -> None:
    """Note what the table holds, once it is what the file held."""
    sql = f"SELECT count(*), coalesce(sum(checksum), 0) FROM {name} WHERE space = %s"
    found = db.execute(sql.encode(), (space,)).fetchone()
    if found is None or (found[0], int(found[1])) != (expected.rows, expected.total):
        raise DataDamaged(f"restore: {name} does not have the rows of the snapshot")
    if expected.rows:
        db.execute("INSERT INTO tallies VALUES (%s, %s, %s, %s)", (space, name, expected.rows, expected.total))


def carry_access(db: Connection, old: int, new: int) -> None:
    """Tokens belong to the place: a revoked one must not come back, a new one not be lost."""
    for table in ACCESS:
        name, columns = table.name, ", ".join((*shape_of(table).columns, "checksum"))
        db.execute(f"DELETE FROM {name} WHERE space = %s".encode(), (new,))
        db.execute("DELETE FROM tallies WHERE space = %s AND source = %s", (new, name))
        sql = f"INSERT INTO {name} (space, {columns}) SELECT %s, {columns} FROM {name} WHERE space = %s"
        db.execute(sql.encode(), (new, old))
        db.execute(
            "INSERT INTO tallies SELECT %s, source, rows, sum FROM tallies WHERE space = %s AND source = %s",
            (new, old, name),
        )


def remove_space(db: Connection, space: int) -> None:
    """Remove all rows of a space that no tenant needs any more."""
    names = [table.name for table in TABLES]
    for name in (
        *names,
        *DERIVED,
        "sketches",
        "vectors",
        "followed",
        "tallies",
        "usage",
        "leases",
        "rate_limits",
        "live_events",
        "spaces",
    ):
        db.execute(f"DELETE FROM {name} WHERE space = %s".encode(), (space,))
    db.execute("DELETE FROM damaged_spaces WHERE number = %s", (space,))
