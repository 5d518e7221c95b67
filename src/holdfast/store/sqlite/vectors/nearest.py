"""Vectors: stored with the rows they belong to, found by nearness, made from the outbox.

What a thread reads and what a job writes stand here; `reader.py` and `tx.py` take them over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from holdfast.core.errors import DataDamaged
from holdfast.store.port import Candidates, MadeVector, Missing, R, Table, Waiting
from holdfast.store.quantization import Seqs, code_of
from holdfast.store.sqlite.vectors.codes import CodeChange, VectorCodes, add_codes, count_codes, erase_code
from holdfast.store.tables import TABLES
from holdfast.store.vector_values import StoredVectors, VectorHit, nearest_first

# So many of the nearest codes are scored by their vectors, at least, and so many times as many as are wanted. Of
# 1,000,000, scoring 600 found no more of the true ten nearest than scoring 100.
RESCORED, RESCORED_SHARE = 150, 1.25
# Up to so many allowed records all vectors are read and scored: no codes are needed.
FEW = 200
# Past so many of the nearest, a search with conditions reads the records that meet them instead.
MOST_LOOKED = 3_000
# With fewer records than this share of the nearest codes, as some are gone or have several, more codes are read.
ENOUGH = 0.75
ALL = 2**63 - 1

_KNOWN = (
    "SELECT v.vector, s.dims FROM vectors AS v JOIN vector_spaces AS s ON s.number = v.space WHERE hash = ? LIMIT 1"
)

Query = NDArray[np.float32]

# Every table whose records have a vector.
EMBEDDED: tuple[Table[Any], ...] = tuple(table for table in TABLES if table.passage is not None)


def vector_checksum(seq: int, space: int, dims: int, hash: bytes, vector: bytes) -> int:
    """64 bits over a row of vectors and into how many numbers its parts are cut; signed, as SQLite keeps integers."""
    head = f"{seq} {space} {dims} {len(hash)} ".encode()
    return int.from_bytes(blake2b(head + hash + vector, digest_size=8).digest(), "big", signed=True)


def is_of_parts(size: int, dims: int) -> bool:
    """Whether so many bytes are the vectors of one part of a text, or of several."""
    return dims > 0 and size > 0 and size % (2 * dims) == 0


def unpack_vectors(rows: Sequence[tuple[int, bytes]], dims: int) -> StoredVectors:
    """Vectors as they were stored, with the numbers of their records.

    Raises:
        DataDamaged: one is no vector of so many numbers.
    """
    packed = [vector for _, vector in rows]
    sizes = np.array(list(map(len, packed)), dtype=np.intp)
    if not all(is_of_parts(size, dims) for size in set(sizes.tolist())):  # nearly all are of one size
        raise DataDamaged("store: a vector is damaged", hint="Repair it with: holdfast verify --repair-index")
    numbers = np.frombuffer(b"".join(packed), dtype="<f2").reshape(-1, dims)
    parts = sizes // (2 * dims)
    return StoredVectors([seq for seq, _ in rows], numbers, np.cumsum(parts) - parts)


def space_of(db: apsw.Connection, tenant: str, model: str, dims: int) -> int | None:
    """The number of the vectors that may be compared, or None if there are none yet."""
    sql = "SELECT number FROM vector_spaces WHERE tenant = ? AND model = ? AND dims = ?"
    found: Any = db.execute(sql, (tenant, model, dims)).get
    return None if found is None else int(found)


def _seq(record: Any) -> int:
    return int(record.seq)


def make_space(db: apsw.Connection, tenant: str, model: str, dims: int) -> int:
    number = space_of(db, tenant, model, dims)
    if number is None:
        db.execute("INSERT INTO vector_spaces (tenant, model, dims) VALUES (?, ?, ?)", (tenant, model, dims))
        number = db.last_insert_rowid()
    return number


class VectorReads:
    """What a reader knows of vectors; fulfils its part of `port.Reader`."""

    _db: apsw.Connection
    _codes: VectorCodes
    _faults: AbstractContextManager[None]

    def nearest(
        self,
        tenant: str,
        model: str,
        query: Query,
        limit: int,
        allowed: Seqs | None = None,
        among: Candidates | None = None,
    ) -> list[VectorHit]:
        if limit < 1 or (allowed is not None and not len(allowed)):
            return []
        if allowed is not None and len(allowed) <= FEW:
            return nearest_first(self.vectors(tenant, model, len(query), allowed).cosines(query), limit)
        with self._faults:
            space = space_of(self._db, tenant, model, len(query))
        return [] if space is None else self._by_codes(space, query, limit, allowed, among)

    def _by_codes(
        self,
        space: int,
        query: Query,
        limit: int,
        allowed: Seqs | None,
        among: Candidates | None,
    ) -> list[VectorHit]:
        with self._faults:
            table = self._codes.of(space, len(query))
        count = max(RESCORED, int(RESCORED_SHARE * limit))
        looked = count if among is None else count + count // 4  # most are the latest of their line
        while True:
            near = table.nearest(query, looked, allowed)
            if among is not None:
                met = among.meeting(near.tolist())
                near = np.array([seq for seq in near.tolist() if seq in met][:count], dtype=np.int64)
            found = self._vectors(space, len(query), near).cosines(query)
            if looked >= min(len(table), MOST_LOOKED if among else ALL) or len(found) >= max(limit, count * ENOUGH):
                return nearest_first(found, limit)
            looked *= 2 if among is None else 4

    def vectors(self, tenant: str, model: str, dims: int, seqs: Sequence[int] | Seqs) -> StoredVectors:
        with self._faults:
            space = space_of(self._db, tenant, model, dims)
        return self._vectors(space, dims, np.asarray(seqs, dtype=np.int64))

    def _vectors(self, space: int | None, dims: int, seqs: Seqs) -> StoredVectors:
        rows: Any = []
        with self._faults:
            if space is not None and len(seqs):
                sql = "SELECT seq, vector FROM vectors WHERE seq IN carray(?) AND space = ?"
                rows = self._db.execute(sql, (apsw.carray(np.sort(seqs)), space)).fetchall()
        return unpack_vectors(rows, dims)

    def with_vector(self, tenant: str, model: str) -> int:
        sql = "SELECT number FROM vector_spaces WHERE tenant = ? AND model = ?"
        with self._faults:
            spaces: Any = self._db.execute(sql, (tenant, model)).fetchall()
            return sum(count_codes(self._db, space) for (space,) in spaces)

    def pending(self, tenant: str | None = None) -> int:
        with self._faults:
            found: Any = self._db.execute("SELECT count(*) FROM outbox WHERE ?1 IS NULL OR tenant = ?1", (tenant,)).get
        return int(found)

    def index_work(
        self, limit: int, after: int = 0, *, newest: bool = False, without: Collection[str] = ()
    ) -> list[Waiting]:
        order = "DESC" if newest else "ASC"
        others = f"AND tenant NOT IN ({', '.join('?' * len(without))})" if without else ""
        sql = f"SELECT tenant, source, seq, ticket FROM outbox WHERE seq > ? {others} ORDER BY seq {order} LIMIT ?"
        with self._faults:
            rows: Any = self._db.execute(sql, (after, *without, limit)).fetchall()
        return [Waiting(*row) for row in rows]

    def known_vectors(self, hashes: Sequence[bytes]) -> dict[bytes, Query]:
        known: dict[bytes, Query] = {}
        with self._faults:
            for hash in dict.fromkeys(hashes):
                found: Any = self._db.execute(_KNOWN, (hash,)).get
                if found is not None:
                    vector, dims = found
                    known[hash] = unpack_vectors([(0, vector)], dims).rows.astype(np.float32)
        return known

    def followed_model(self) -> str | None:
        with self._faults:
            rows: Any = self._db.execute("SELECT source, model FROM followed").fetchall()
        models = {model for source, model in rows}
        whole = {source for source, _ in rows} >= {table.name for table in EMBEDDED}
        return models.pop() if whole and len(models) == 1 else None

    def missing(self, model: str, limit: int) -> Missing | None:
        with self._faults:
            rows: Any = self._db.execute("SELECT source, upto FROM followed WHERE upto < ? ORDER BY source", (ALL,))
            for source, upto in rows.fetchall():
                if any(table.name == source for table in EMBEDDED):
                    return self._missing(source, upto, model, limit)
        return None

    def _missing(self, source: str, after: int, model: str, limit: int) -> Missing:
        some = f"SELECT seq, tenant FROM {source} WHERE seq > ? ORDER BY seq LIMIT ?"
        sql = (
            f"SELECT r.seq, r.tenant, s.model IS ? FROM ({some}) AS r LEFT JOIN vectors AS v ON v.seq = r.seq "
            "LEFT JOIN vector_spaces AS s ON s.number = v.space ORDER BY r.seq"
        )
        rows: Any = self._db.execute(sql, (model, after, limit)).fetchall()
        lacking = tuple((seq, tenant) for seq, tenant, has in rows if not has)
        return Missing(source, rows[-1][0] if len(rows) == limit else ALL, lacking)


class VectorWrites:
    """What a job does to vectors; fulfils its part of `port.Tx`."""

    _db: apsw.Connection
    code_changes: list[CodeChange]  # for the codes in memory, once the job is on disk
    _next_seq: Callable[[], int]

    def put_vectors(self, model: str, made: Sequence[MadeVector]) -> int:
        current = [one for one in made if self._still_waits(one.waiting)]
        for tenant in dict.fromkeys(one.waiting.tenant for one in current):
            self._put(tenant, model, [one for one in current if one.waiting.tenant == tenant])
        self.done([one.waiting for one in current])
        return len(current)

    def _still_waits(self, one: Waiting) -> bool:
        """Not once the record is gone; nor once it has another text, for which another ticket waits."""
        sql = "SELECT 1 FROM outbox WHERE seq = ? AND ticket = ?"
        return self._db.execute(sql, (one.seq, one.ticket)).get is not None

    def _put(self, tenant: str, model: str, made: list[MadeVector]) -> None:
        space = make_space(self._db, tenant, model, made[0].numbers.shape[1])
        rounded = [one.numbers.astype("<f2") for one in made]
        for one, numbers in zip(made, rounded, strict=True):
            seq, data = one.waiting.seq, numbers.tobytes()
            self._drop_vector(seq)  # another model's
            row = (seq, space, one.hash, data, vector_checksum(seq, space, numbers.shape[1], one.hash, data))
            self._db.execute("INSERT INTO vectors VALUES (?, ?, ?, ?, ?)", row)
        seqs = np.repeat(np.array([one.waiting.seq for one in made], dtype=np.int64), [len(one) for one in rounded])
        codes = code_of(np.concatenate(rounded))  # of the rounded numbers: what verification reads
        add_codes(self._db, space, seqs, codes)
        self.code_changes.append(CodeChange(space, seqs, codes))

    def follow_vector(self, table: Table[R], old: R | None, new: R | None) -> None:
        """After a record came, changed or went: its vector goes unless the text is the same, and the new text waits."""
        if table.passage is None:
            return
        before, after = (None if one is None else (_seq(one), table.passage(one)) for one in (old, new))
        if before == after:
            return
        if before is not None:
            self._db.execute("DELETE FROM outbox WHERE seq = ?", (before[0],))
            self._drop_vector(before[0])
        if after is not None:
            tenant = new.tenant  # type: ignore[union-attr]
            ticket = after[0] if before is None else self._next_seq()
            self._db.execute("INSERT INTO outbox VALUES (?, ?, ?, ?)", (after[0], tenant, table.name, ticket))

    def _drop_vector(self, seq: int) -> None:
        space: Any = self._db.execute("SELECT space FROM vectors WHERE seq = ?", (seq,)).get
        if space is None:
            return
        self._db.execute("DELETE FROM vectors WHERE seq = ?", (seq,))
        gone = erase_code(self._db, space, seq)
        none = np.empty((0, 0), dtype=np.uint64)
        self.code_changes.append(CodeChange(space, np.empty(0, dtype=np.int64), none, gone))

    def done(self, work: Sequence[Waiting]) -> None:
        for one in work:
            self._db.execute("DELETE FROM outbox WHERE seq = ? AND ticket = ?", (one.seq, one.ticket))

    def follow_model(self, model: str | None) -> None:
        self._db.execute("DELETE FROM followed")
        for table in EMBEDDED if model is not None else ():
            self._db.execute("INSERT INTO followed VALUES (?, ?, 0)", (table.name, model))

    def queue(self, model: str, missing: Missing) -> None:
        for seq, tenant in missing.rows:
            self._db.execute("INSERT OR IGNORE INTO outbox VALUES (?, ?, ?, ?)", (seq, tenant, missing.source, seq))
        sql = "UPDATE followed SET upto = ? WHERE source = ? AND model = ?"
        self._db.execute(sql, (missing.upto, missing.source, model))
