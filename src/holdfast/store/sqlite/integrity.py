"""Verification: is every row as it was written, and does the word index match the rows?

Reads only. It never deletes or repairs anything; `--repair-index` is its own step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import apsw
import orjson

from holdfast.core.errors import DataDamaged
from holdfast.store.port import Finding, Table
from holdfast.store.rows import shape_of
from holdfast.store.sqlite.database import migrate
from holdfast.store.sqlite.minhash_index import pack
from holdfast.store.sqlite.row_check import RowCheck
from holdfast.store.sqlite.vectors.check import check_vectors
from holdfast.store.sqlite.word_check import check_words, stored_rows
from holdfast.store.tables import MEMORIES, TABLES, memory_sketch

# More findings than this are of no use; the count is still reported.
MOST_FINDINGS = 1_000


Check = Callable[[apsw.Connection], Iterator[Finding]]


def verify(db: apsw.Connection) -> list[Finding]:
    """Findings over one moment of the database; an empty list is a sound store."""
    derived: list[tuple[str, Check]] = [
        ("words", check_words),
        ("sketches", _sketches),
        ("vectors", check_vectors),
    ]
    return _findings(db, [("database", _pages), *_record_checks(), *derived])


def verify_records(db: apsw.Connection) -> list[Finding]:
    """Findings over what cannot be rebuilt: every row, and that none is missing. Not over pages, for which there is
    `verify_pages`, nor over what is derived."""
    return _findings(db, _record_checks())


def verify_rows(db: apsw.Connection) -> list[Finding]:
    """Findings over the rows alone: each is as it was written, and none is missing."""
    return _findings(db, _row_checks())


def verify_pages(db: apsw.Connection) -> list[Finding]:
    """Findings over the file's structure, and over whether its indexes match its rows."""
    return _findings(db, [("database", _pages)])


def verify_schema(db: apsw.Connection) -> list[Finding]:
    """Findings over tables, indexes and triggers."""
    return _findings(db, [("schema", _schema)])


def _record_checks() -> list[tuple[str, Check]]:
    return [("schema", _schema), ("tallies", _counter), *_row_checks()]


def _row_checks() -> list[tuple[str, Check]]:
    return [(table.name, _row_check(table)) for table in TABLES]


def _findings(db: apsw.Connection, checks: list[tuple[str, Check]]) -> list[Finding]:
    findings: list[Finding] = []
    db.execute("BEGIN")
    try:
        for name, check in checks:
            try:
                for finding in check(db):
                    findings.append(finding)
                    if len(findings) >= MOST_FINDINGS:
                        return findings
            except (
                apsw.Error,
                ValueError,
                TypeError,
                DataDamaged,
            ) as error:  # a value of another type than was ever written
                message = f"{name} cannot be read to its end ({type(error).__name__})"
                findings.append(Finding("page_damaged", name, "", message))
    finally:
        if not db.get_autocommit():
            db.execute("ROLLBACK")
    return findings


def _pages(db: apsw.Connection) -> Iterator[Finding]:
    for (line,) in db.execute("PRAGMA integrity_check(100)"):
        if line != "ok":
            yield Finding("page_damaged", "database", "", str(line))


def _row_check(table: Table[Any]) -> Check:
    def check(db: apsw.Connection) -> Iterator[Finding]:
        walk = RowCheck(db, table)
        for _, id in walk.changed():
            yield Finding("row_changed", table.name, id[:100], "the row does not match its checksum")
        yield from _tally(db, table, walk.rows, walk.total)

    return check


def _counter(db: apsw.Connection) -> Iterator[Finding]:
    """A counter set back would give new records the numbers of old ones."""
    counted: Any = db.execute("SELECT rows FROM tallies WHERE source = 'seq'").get
    highest: Any = db.execute(" UNION ALL ".join(f"SELECT max(seq) FROM {table.name}" for table in TABLES)).fetchall()
    if counted is None or any(seq is not None and seq > counted for (seq,) in highest):
        yield Finding("counter_behind", "tallies", "seq", "the write counter is behind the records")


def _schema(db: apsw.Connection) -> Iterator[Finding]:
    """Compare with a freshly made schema: a trigger or a lost index changes what a write does."""
    fresh = apsw.Connection(":memory:")
    try:
        migrate(fresh)
        want, have = _statements(fresh), _statements(db)
    finally:
        fresh.close()
    for name in sorted(want.keys() | have.keys(), key=str):
        if want.get(name) != have.get(name):
            yield Finding("schema_changed", str(name), "", "the schema differs from that of this version of Holdfast")


def _statements(db: apsw.Connection) -> dict[str, str]:
    """What made each table, index and trigger."""
    rows: Any = db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
    return {str(name): _plain(str(text)) for name, text in rows}


def _plain(sql: str) -> str:
    return " ".join(sql.split())


def _tally(db: apsw.Connection, table: Table[Any], rows: int, total: int) -> Iterator[Finding]:
    known: Any = db.execute("SELECT rows, sum FROM tallies WHERE source = ?", (table.name,)).get
    have_rows, have_sum = known or (0, 0)
    if rows < have_rows:
        yield Finding("row_missing", table.name, "", f"{have_rows - rows} rows were removed by another program")
    elif rows > have_rows:
        yield Finding("row_added", table.name, "", f"{rows - have_rows} rows were added by another program")
    elif total != have_sum:
        yield Finding("row_changed", table.name, "", "rows were replaced by another program")


def sketch_rows(db: apsw.Connection) -> Iterator[tuple[int, str, bytes]]:
    """The sketches that the latest memories should have, by seq."""
    shape = shape_of(MEMORIES)
    at = {name: shape.columns.index(name) for name in ("tenant", "latest", "content", "project", "agent", "audience")}
    for seq, row in stored_rows(db, MEMORIES):
        if row and row[at["latest"]] == 1:
            audience = _names(row[at["audience"]])
            hashes = memory_sketch(str(row[at["content"]]), row[at["project"]], row[at["agent"]], audience)
            yield seq, row[at["tenant"]], pack(hashes)


def _names(text: Any) -> tuple[str, ...]:
    """The members of a stored list; none of a damaged one, which its row's checksum reports."""
    try:
        return tuple(str(one) for one in orjson.loads(text))
    except (TypeError, ValueError):
        return ()


def _sketches(db: apsw.Connection) -> Iterator[Finding]:
    want, have = sketch_rows(db), iter(db.execute("SELECT seq, tenant, hashes FROM sketches ORDER BY seq"))
    for one, other in zip_longest(want, have):
        if one != other:
            message = "the near-duplicate index does not match the memories; repair it with --repair-index"
            yield Finding("index_out_of_step", "sketches", str((one or other)[0]), message)
            return
