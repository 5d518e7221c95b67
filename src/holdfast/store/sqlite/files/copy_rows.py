"""Memory on its way from one database file to another: which rows are whose, and how they are copied.

A tenant's memory is its records and what is derived from them. Tokens, answers and events belong to the place
where they were made and stay there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import disk_fault
from holdfast.core.errors import DataDamaged, StorageFailed
from holdfast.store.rows import signed64
from holdfast.store.sqlite.database import BUSY_MS, check_ours, open_reader
from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.vectors.nearest import vector_checksum
from holdfast.store.tables import PLACE as PLACE_TABLES, TABLES

# Of the place, not of the memory: who has access, what was answered, what has still to be published or sent.
CHANGE_LOG = ("changes", "journal")
PLACE = (*(table.name for table in PLACE_TABLES), "events", *CHANGE_LOG)
RECORDS = tuple(table.name for table in TABLES if table.name not in PLACE)
# Derived rows that name their tenant, and those whose tenant another table knows.
DERIVED = (
    "word_rows", "word_gone", "word_states", "word_segments", "word_postings", "sketches", "outbox", "recalls",
    "vector_spaces",
)  # fmt: skip
BELONGING = ("word_again", "vectors", "vector_codes")
# Of the whole file.
COMMON = ("tallies", "followed")

FAR = "far"  # the name under which a second database is attached
_READ_WRITE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI

# By schema: no setting here may reach a live database that is attached later.
_PRIVATE = ("main.synchronous = OFF", "main.journal_mode = OFF", "main.cache_size = -16000", "main.secure_delete = ON")


def open_private(path: Path) -> apsw.Connection:
    """A file that no other process knows yet, to be written without a journal: after a failure it is thrown away.

    It may come from anywhere: its schema is not trusted, and broken cells are noticed. Afterwards it is whole without
    a log beside it.

    Raises:
        DataTooNew: a newer Holdfast wrote it, or another program.
        DataDamaged: it is no database.
    """
    if not path.is_file():
        raise StorageFailed(f"store: {path.name} does not exist")
    if not path.stat().st_size:
        raise DataDamaged(f"store: {path.name} is empty")
    with as_faults():
        db = apsw.Connection(str(path.absolute()), flags=_READ_WRITE, statementcachesize=200)
    with OnFailure(db.close):
        _prepare(db)
        with as_faults():
            check_ours(db)
    return db


def make_private(path: Path) -> apsw.Connection:
    """A new, empty file, to be written without a journal, readable by its owner only."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise disk_fault(error, f"make {path.name}") from error
    with as_faults():
        db = apsw.Connection(str(path.absolute()), flags=_READ_WRITE | apsw.SQLITE_OPEN_CREATE, statementcachesize=200)
    _prepare(db)
    return db


def _prepare(db: apsw.Connection) -> None:
    with as_faults():
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        for pragma in ("cell_size_check = ON", *_PRIVATE):
            db.execute(f"PRAGMA {pragma}").fetchall()


def attach(db: apsw.Connection, path: Path) -> None:
    """Let the connection read a second database, whether a process writes it or not."""
    db.set_busy_timeout(BUSY_MS)
    db.create_scalar_function("moved_checksum", _moved_checksum, 7, deterministic=True)
    db.execute(f"ATTACH ? AS {FAR}", (f"file:{quote(str(path.absolute()))}?mode=ro",))


def has_table(db: apsw.Connection, name: str, schema: str = "main") -> bool:
    sql = f"SELECT 1 FROM {schema}.sqlite_schema WHERE type = 'table' AND name = ?"
    return db.execute(sql, (name,)).get is not None


def has_others(db: apsw.Connection, tenant: str) -> bool:
    """Whether anything in the file but what belongs to the place is another tenant's."""
    for name in (*RECORDS, *DERIVED):
        # Two ranges of the key instead of one inequality, for which SQLite would read every row.
        for side in ("<", ">"):
            if db.execute(f"SELECT 1 FROM {name} WHERE tenant {side} ? LIMIT 1", (tenant,)).get is not None:
                return True
    return False


def other_tenants(db: apsw.Connection, tenant: str, schema: str = "main") -> list[str]:
    """All other tenants that have rows in the file."""
    names = (*RECORDS, "answers", *DERIVED)
    sql = " UNION ".join(f"SELECT tenant FROM {schema}.{name} WHERE tenant != ?1" for name in names)
    return [other for (other,) in db.execute(f"{sql} ORDER BY 1", (tenant,))]


def copy_tenants(db: apsw.Connection, tenants: Iterable[str], names: Iterable[str] = RECORDS) -> None:
    """Copy all rows of some tenants from the attached database into one that holds none of theirs.

    Raises:
        apsw.ConstraintError: a number or a key is taken here.
    """
    db.execute("CREATE TEMP TABLE going (tenant TEXT PRIMARY KEY) WITHOUT ROWID")
    db.executemany("INSERT INTO temp.going VALUES (?)", [(tenant,) for tenant in tenants])
    for name in (*names, *DERIVED):
        if name != "vector_spaces":
            db.execute(f"INSERT INTO main.{name} SELECT * FROM {FAR}.{name} WHERE tenant IN (SELECT tenant FROM going)")
    # A record whose words were stored again is one whose words have another number than its own.
    again = "SELECT seq, doc FROM main.word_rows WHERE doc != seq AND tenant IN (SELECT tenant FROM going) ORDER BY seq"
    db.execute(f"INSERT INTO main.word_again {again}")
    _copy_vectors(db)
    db.execute("DROP TABLE temp.going")


def _copy_vectors(db: apsw.Connection) -> None:
    """A space keeps its number if that is free here; its vectors' checksums cover it."""
    db.execute("CREATE TEMP TABLE spaces (old INTEGER PRIMARY KEY, new INTEGER NOT NULL, dims INTEGER NOT NULL)")
    found: Any = db.execute(
        f"SELECT number, tenant, model, dims FROM {FAR}.vector_spaces WHERE tenant IN (SELECT tenant FROM going) "
        "ORDER BY number"
    ).fetchall()
    for number, *space in found:
        taken = db.execute("SELECT 1 FROM main.vector_spaces WHERE number = ?", (number,)).get
        sql = "INSERT INTO main.vector_spaces (number, tenant, model, dims) VALUES (?, ?, ?, ?)"
        db.execute(sql, (None if taken else number, *space))
        db.execute("INSERT INTO temp.spaces VALUES (?, ?, ?)", (number, db.last_insert_rowid(), space[-1]))
    if found:
        db.execute(
            "INSERT INTO main.vectors SELECT v.seq, s.new, v.hash, v.vector, CASE WHEN s.new = s.old THEN v.checksum "
            "ELSE moved_checksum(v.seq, s.old, s.new, s.dims, v.hash, v.vector, v.checksum) END "
            f"FROM {FAR}.vectors AS v JOIN temp.spaces AS s ON s.old = v.space ORDER BY v.seq"
        )
        db.execute(
            f"INSERT INTO main.vector_codes SELECT s.new, c.chunk, c.live, c.seqs, c.codes FROM {FAR}.vector_codes "
            "AS c JOIN temp.spaces AS s ON s.old = c.space ORDER BY s.new, c.chunk"
        )
    db.execute("DROP TABLE temp.spaces")


def _moved_checksum(*values: Any) -> int:
    """The checksum under another space; one that was wrong stays wrong."""
    seq, old, new, dims, hash, vector, checksum = values
    right = vector_checksum(seq, old, dims, hash, vector) == checksum
    return vector_checksum(seq, new, dims, hash, vector) if right else int(checksum)


def drop_tenants(db: apsw.Connection, tenants: Iterable[str]) -> None:
    """Remove all rows of some tenants, those of the place but for answers excepted."""
    db.execute("CREATE TEMP TABLE leaving (tenant TEXT PRIMARY KEY) WITHOUT ROWID")
    db.executemany("INSERT INTO temp.leaving VALUES (?)", [(tenant,) for tenant in tenants])
    theirs = "tenant IN (SELECT tenant FROM temp.leaving)"
    again = f"SELECT seq FROM word_rows WHERE doc != seq AND {theirs}"
    db.execute(f"DELETE FROM word_again WHERE seq IN ({again})")
    for name in ("vectors", "vector_codes"):
        db.execute(f"DELETE FROM {name} WHERE space IN (SELECT number FROM vector_spaces WHERE {theirs})")
    for name in (*RECORDS, "answers", *DERIVED):
        db.execute(f"DELETE FROM main.{name} WHERE {theirs}")
    db.execute("DROP TABLE temp.leaving")


def drop_place(db: apsw.Connection) -> None:
    """Remove what belongs to the place where the file comes from."""
    for name in PLACE:
        if has_table(db, name):
            db.execute(f"DELETE FROM {name}")
            db.execute("DELETE FROM tallies WHERE source = ?", (name,))


def counted(db: apsw.Connection, name: str) -> tuple[int, int]:
    """How many rows a table has and the sum of their checksums, by reading them.

    The sum in two halves: SQLite does not add past 63 bits.
    """
    sql = f"SELECT count(*), sum(checksum >> 32), sum(checksum & 4294967295) FROM main.{name} NOT INDEXED"
    found: Any = db.execute(sql).fetchall()
    rows, high, low = found[0]
    return rows, signed64(((high or 0) << 32) + (low or 0))


def tally_again(db: apsw.Connection) -> None:
    """Recount every table."""
    for table in TABLES:
        rows, total = counted(db, table.name)
        if rows:
            db.execute("INSERT OR REPLACE INTO tallies VALUES (?, ?, ?)", (table.name, rows, total))
        else:
            db.execute("DELETE FROM tallies WHERE source = ?", (table.name,))


def counter(db: apsw.Connection, schema: str = "main") -> int:
    """The last place given in the order of all writes."""
    found: Any = db.execute(f"SELECT rows FROM {schema}.tallies WHERE source = 'seq'").get
    return int(found or 0)


def count_of(path: Path) -> int:
    """The same of a file that may be a live store."""
    db = open_reader(path)
    try:
        with as_faults():
            return counter(db)
    finally:
        db.close()


def set_counter(db: apsw.Connection, seq: int) -> None:
    db.execute("INSERT OR REPLACE INTO tallies VALUES ('seq', ?, 0)", (seq,))
