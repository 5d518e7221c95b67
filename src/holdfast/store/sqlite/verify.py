"""Verification: is every row as it was written, and does the word index say what the rows say?

Reads only. It never deletes or mends anything; `--repair-index` is its own step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

import apsw

from holdfast.store.port import Finding, IndexText, Table
from holdfast.store.sqlite.alike import pack
from holdfast.store.sqlite.rows import shape_of
from holdfast.store.sqlite.tx import signed64
from holdfast.store.sqlite.wordtables import add_words, list_words, make_words, tenants_with_words
from holdfast.store.tables import MEMORIES, TABLES, memory_sketch

# More findings than this help nobody; the count is still told.
MOST_FINDINGS = 1_000


def verify(db: apsw.Connection) -> list[Finding]:
    """Findings over one moment of the database; an empty list is a sound store."""
    findings: list[Finding] = []
    checks: list[tuple[str, Callable[[apsw.Connection], Iterator[Finding]]]] = [
        ("database", _pages),
        *((table.name, _row_check(table)) for table in TABLES),
        ("words", _words),
        ("sketches", _sketches),
    ]
    db.execute("BEGIN")
    try:
        for name, check in checks:
            try:
                for finding in check(db):
                    findings.append(finding)
                    if len(findings) >= MOST_FINDINGS:
                        return findings
            except (apsw.CorruptError, apsw.IOError, apsw.SQLError) as error:
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


def _row_check(table: Table[Any]) -> Callable[[apsw.Connection], Iterator[Finding]]:
    def check(db: apsw.Connection) -> Iterator[Finding]:
        shape = shape_of(table)
        rows = total = 0
        columns = ", ".join((*shape.columns, "checksum"))
        # NOT INDEXED: the rows themselves are read, not a copy of their columns in an index.
        for row in db.execute(f"SELECT {columns} FROM {table.name} NOT INDEXED"):
            rows += 1
            total += row[-1] if isinstance(row[-1], int) else 0
            if not _matches(shape, row):
                yield Finding("row_changed", table.name, str(row[1])[:100], "the row does not match its checksum")
        yield from _tally(db, table, rows, signed64(total))

    return check


def _matches(shape: Any, row: tuple[Any, ...]) -> bool:
    try:
        return bool(shape.checksum(row[:-1]) == row[-1])
    except (TypeError, ValueError):  # bytes or bad UTF-8 where text was: changed for certain
        return False


def _tally(db: apsw.Connection, table: Table[Any], rows: int, total: int) -> Iterator[Finding]:
    known: Any = db.execute("SELECT rows, sum FROM tallies WHERE source = ?", (table.name,)).get
    have_rows, have_sum = known or (0, 0)
    if rows < have_rows:
        yield Finding("row_missing", table.name, "", f"{have_rows - rows} rows were removed behind the store's back")
    elif rows > have_rows:
        yield Finding("row_added", table.name, "", f"{rows - have_rows} rows were added behind the store's back")
    elif total != have_sum:
        yield Finding("row_changed", table.name, "", "rows were exchanged behind the store's back")


def _words(db: apsw.Connection) -> Iterator[Finding]:
    """Compare each tenant's index with one built from the rows, entry by entry."""
    tables = tenants_with_words(db)
    fresh = apsw.Connection("")  # a temporary file, so that a large store needs no large memory
    try:
        fresh.execute("CREATE TABLE word_tables (tenant TEXT PRIMARY KEY, number INTEGER NOT NULL)")
        fresh.execute("BEGIN")
        fill_words(db, fresh)
        fresh.execute("COMMIT")
        built = tenants_with_words(fresh)
        for tenant in {**tables, **built}:
            mine = iter(list_words(db, tables[tenant])) if tenant in tables else iter(())
            true = iter(list_words(fresh, built[tenant])) if tenant in built else iter(())
            yield from _first_difference(mine, true)
    finally:
        fresh.close()


def _first_difference(mine: Iterator[Any], true: Iterator[Any]) -> Iterator[Finding]:
    for one, other in zip_longest(mine, true):
        if one != other:
            seq = min(entry[1] for entry in (one, other) if entry)
            message = "the word index does not say what the rows say; mend it with --repair-index"
            yield Finding("index_out_of_step", "words", str(seq), message)
            return


def fill_words(source: apsw.Connection, target: apsw.Connection) -> int:
    """Index every searchable row of `source` into the words of `target`; how many there were."""
    filled = 0
    for tenant, seq, text in _texts(source):
        add_words(target, make_words(target, tenant), seq, text)
        filled += 1
    return filled


def _texts(db: apsw.Connection) -> Iterator[tuple[str, int, IndexText]]:
    for table in TABLES:
        if table.index is None:
            continue
        shape = shape_of(table)
        for row in db.execute(f"SELECT {', '.join(shape.columns)} FROM {table.name} NOT INDEXED"):
            try:
                record = shape.decode(row)
                yield record.tenant, record.seq, table.index(record)
            except (ValueError, TypeError):  # a changed row; the row check names it
                continue


def sketch_rows(db: apsw.Connection) -> Iterator[tuple[int, str, bytes]]:
    """The sketches that the latest memories should have, by seq."""
    sql = f"SELECT tenant, seq, content, project, agent FROM {MEMORIES.name} WHERE latest = 1 ORDER BY seq"
    rows: Any = db.execute(sql)
    for tenant, seq, content, project, agent in rows:
        yield seq, tenant, pack(memory_sketch(str(content), project, agent))


def _sketches(db: apsw.Connection) -> Iterator[Finding]:
    want, have = sketch_rows(db), iter(db.execute("SELECT seq, tenant, hashes FROM sketches ORDER BY seq"))
    for one, other in zip_longest(want, have):
        if one != other:
            message = "the near-duplicate index does not match the memories; mend it with --repair-index"
            yield Finding("index_out_of_step", "sketches", str((one or other)[0]), message)
            return
