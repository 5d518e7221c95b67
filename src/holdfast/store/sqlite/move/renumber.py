"""A tenant's file with later numbers, in the same order.

Numbers are part of a row's checksum and of the words, so that every row is written anew. What a record says of others
it says by their ids. The cursors of background work stay behind: that work reads the records once more and finds
nothing new.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from holdfast.store.port import Table
from holdfast.store.rows import shape_of
from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.files.copy_rows import open_private
from holdfast.store.sqlite.files.derived_data import make_derived
from holdfast.store.sqlite.files.row_transfer import FileReader, FileWriter
from holdfast.store.tables import TABLES

AT_ONCE = 1_000  # vectors
# Tables beside the records: their columns, the number first, or none.
_NUMBERED = {"recalls": ("seq", "tenant", "count", "at"), "outbox": ("seq", "tenant", "source", "ticket")}
_PLAIN = {"events": ("tenant", "agent", "kind", "body"), "followed": ("source", "model", "upto")}


def renumber(file: Path, into: Path, tenant: str, add: int) -> None:
    """Write a new file that has every number of the first, and so much more."""
    into.unlink(missing_ok=True)
    with FileReader(file) as reader:
        writer = FileWriter(into, tenant)
        try:
            for table in TABLES:
                columns = (*shape_of(table).columns, "checksum")
                writer.insert(table.name, columns, _records(reader, table, add))
            for name, columns in _NUMBERED.items():
                writer.insert(name, columns, ((seq + add, *rest) for seq, *rest in reader.rows(name, columns)))
            for name, columns in _PLAIN.items():
                writer.insert(name, columns, reader.rows(name, columns))
            _copy_vectors(reader, writer, add)
            writer.finish(reader.last_seq() + add)
        finally:
            writer.close()
    _make_words(into)


def _records(reader: FileReader, table: Table[Any], add: int) -> Iterator[list[Any]]:
    shape = shape_of(table)
    at = shape.columns.index("seq")
    for row in reader.rows(table.name, shape.columns):
        values = [*row[:at], row[at] + add, *row[at + 1 :]]
        yield [*values, shape.checksum(values)]


def _copy_vectors(reader: FileReader, writer: FileWriter, add: int) -> None:
    vectors = (one._replace(seq=one.seq + add) for one in reader.vectors())
    while some := list(islice(vectors, AT_ONCE)):
        for _, alike in groupby(some, key=lambda one: (one.model, one.numbers.shape[1])):
            writer.insert_vectors(list(alike))


def _make_words(path: Path) -> None:
    db = open_private(path)
    try:
        with as_faults(), db:
            make_derived(db)
    finally:
        db.close()
