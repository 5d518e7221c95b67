"""Verification of the vectors: each belongs to a row and its text, each has its code, and nothing else is stored.

A row without a vector is no fault: it may wait, or nothing follows. A row that was looked through and neither has a
vector nor waits is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw
import numpy as np

from holdfast.store.port import Finding
from holdfast.store.quantization import Seqs, code_of
from holdfast.store.rows import shape_of
from holdfast.store.sqlite.vectors.codes import CHUNK, CodeChunk, add_codes, each_chunk
from holdfast.store.sqlite.vectors.nearest import ALL, EMBEDDED, is_of_parts, unpack_vectors, vector_checksum
from holdfast.store.vector_values import text_hash

BATCH = 1_000

_VECTORS = (
    "SELECT v.seq, v.space, v.hash, v.vector, v.checksum, s.tenant, s.model, s.dims "
    "FROM vectors AS v LEFT JOIN vector_spaces AS s ON s.number = v.space WHERE v.seq > ? ORDER BY v.seq LIMIT ?"
)


def check_vectors(db: apsw.Connection) -> Iterator[Finding]:
    """What is wrong with the vectors and their codes."""
    for seq in wrong_vectors(db):
        yield _finding("vectors", seq, "a vector does not belong to its row")
    for source, seq in _forgotten(db):
        yield _finding(source, seq, "a row has no vector and is not queued for one")
    yield from _codes(db)


def _finding(table: str, id: Any, message: str) -> Finding:
    return Finding("index_out_of_step", table, str(id), f"{message}; repair it with --repair-index")


def wrong_vectors(db: apsw.Connection) -> Iterator[int]:
    """Vectors that were changed, or whose row is gone or has another text."""
    rows: Any = [(-ALL,)]
    while rows:
        rows = db.execute(_VECTORS, (rows[-1][0], BATCH)).fetchall()
        yield from (row[0] for row in rows if not _is_right(db, row))


def _is_right(db: apsw.Connection, row: Any) -> bool:
    seq, space, hash, vector, checksum, tenant, model, dims = row
    if tenant is None or not is_of_parts(len(vector), dims):
        return False
    if vector_checksum(seq, space, dims, hash, vector) != checksum:
        return False
    text = _passage_of(db, tenant, seq)
    return text is not None and text_hash(tenant, model, text) == hash


def _passage_of(db: apsw.Connection, tenant: str, seq: int) -> str | None:
    """The text of the row with that number, if it is this tenant's."""
    for table in EMBEDDED:
        columns = ", ".join((*shape_of(table).columns, "checksum"))
        try:
            row: Any = db.execute(f"SELECT {columns} FROM {table.name} WHERE seq = ?", (seq,)).get
            record = shape_of(table).decode(row) if row else None
        except (ValueError, TypeError):  # a changed row; the row check names it
            return None
        if record is not None and table.passage is not None:
            return table.passage(record) if record.tenant == tenant else None
    return None


def _forgotten(db: apsw.Connection) -> Iterator[tuple[str, int]]:
    """Rows that were looked through, have no vector and do not wait."""
    looked: Any = db.execute("SELECT source, upto FROM followed").fetchall()
    upto = dict(looked)
    for table in EMBEDDED:
        sql = (
            f"SELECT seq FROM {table.name} AS r WHERE seq <= ? AND NOT EXISTS (SELECT 1 FROM vectors WHERE "
            "seq = r.seq) AND NOT EXISTS (SELECT 1 FROM outbox WHERE seq = r.seq) LIMIT 1"
        )
        rows: Any = db.execute(sql, (upto.get(table.name, 0),)).fetchall()
        yield from ((table.name, seq) for (seq,) in rows)


def _codes(db: apsw.Connection) -> Iterator[Finding]:
    """Compare the codes of each space, in both directions, with its vectors."""
    strays = "SELECT DISTINCT space FROM vector_codes WHERE space NOT IN (SELECT number FROM vector_spaces)"
    for (space,) in db.execute(strays).fetchall():
        yield _finding("vector_codes", space, "stored codes belong to no model")
    spaces: Any = db.execute("SELECT number, dims FROM vector_spaces ORDER BY number").fetchall()
    for space, dims in spaces:
        coded = 0
        for number, live, chunk in each_chunk(db, space):
            coded += chunk.live
            if live != chunk.live or not _chunk_is_right(db, space, dims, number, chunk):
                yield _finding("vector_codes", f"{space}/{number}", "codes do not match their vectors")
        stored: Any = db.execute("SELECT count(*) FROM vectors WHERE space = ?", (space,)).get
        if coded != stored:
            yield _finding("vector_codes", space, f"{stored} vectors have {coded} codes")


def _chunk_is_right(db: apsw.Connection, space: int, dims: int, number: int, chunk: CodeChunk) -> bool:
    amounts = np.abs(chunk.seqs)
    if (np.diff(amounts) < 0).any():
        return False
    live = chunk.seqs > 0
    seqs, numbers = read_vectors(db, space, int(amounts[0]), int(amounts[-1]), dims)
    # Of another chunk's range, the vectors would not be found by their numbers.
    same = np.array_equal(seqs, chunk.seqs[live]) and amounts[0] // CHUNK == number == amounts[-1] // CHUNK
    return bool(same and np.array_equal(code_of(numbers), chunk.codes[live]) and not chunk.codes[~live].any())


def read_vectors(db: apsw.Connection, space: int, first: int, last: int, dims: int) -> tuple[Seqs, Any]:
    """The vectors of a space between two sequence numbers, a row for each part of a text."""
    sql = "SELECT seq, vector FROM vectors WHERE seq BETWEEN ? AND ? AND space = ? ORDER BY seq"
    rows: Any = db.execute(sql, (first, last, space)).fetchall()
    found = unpack_vectors(rows, dims)
    counts = np.diff([*found.first, len(found.rows)])
    return np.repeat(np.array(found.seqs, dtype=np.int64), counts), found.rows


def mend_vectors(db: apsw.Connection) -> None:
    """Drop what is wrong, rebuild the codes from the vectors, and have every row checked for its vector."""
    wrong = list(wrong_vectors(db))
    db.executemany("DELETE FROM vectors WHERE seq = ?", [(seq,) for seq in wrong])
    db.execute("DELETE FROM vector_codes")
    spaces: Any = db.execute("SELECT number, dims FROM vector_spaces").fetchall()
    for space, dims in spaces:
        after = 0
        while True:
            sql = "SELECT seq FROM vectors WHERE space = ? AND seq > ? ORDER BY seq LIMIT 1"
            first: Any = db.execute(sql, (space, after)).get
            if first is None:
                break
            after = first // CHUNK * CHUNK + CHUNK - 1
            seqs, numbers = read_vectors(db, space, first, after, dims)
            add_codes(db, space, seqs, code_of(numbers))
    db.execute("UPDATE followed SET upto = 0")
