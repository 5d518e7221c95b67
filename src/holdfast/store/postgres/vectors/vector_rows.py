"""Vectors: a row for each part of a record's text, made from the outbox. In a small space the nearest are found by an
exact scan, in a large one by codes (code_cache.py).

What a reader and a write know of vectors stands here; `reader.py` and `tx.py` take them over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pgvector import HalfVector

from holdfast.store.port import Candidates, MadeVector, Missing, R, Table, Waiting
from holdfast.store.postgres.batch import Batch
from holdfast.store.postgres.pool import EVERY_SPACE
from holdfast.store.postgres.session import Session
from holdfast.store.postgres.vectors.code_cache import CodeCache, numbers_in
from holdfast.store.quantization import CodeTable
from holdfast.store.tables import TABLES
from holdfast.store.vector_values import StoredVectors, VectorHit, luck, nearest_first

Query = NDArray[np.float32]
Seqs = NDArray[np.int64]

ALL = 2**63 - 1
COMMON = 0  # the space that stands for all
# So many parts are scored again by their vectors, at least: a record may hold several of the nearest.
RESCORED, RESCORED_SHARE = 150, 1.5
# Of the nearest codes fewer have to be scored again; those of vectors that are gone take a place among them.
BY_CODES_SHARE, ENOUGH = 1.25, 0.75
FEW_ALLOWED = 2_000  # up to so many allowed records are scanned exactly
MOST_LOOKED = 3_000  # past so many of the nearest only the records that meet the conditions are read
EMBEDDED: tuple[Table[Any], ...] = tuple(table for table in TABLES if table.passage is not None)

_NEAREST = "SELECT seq FROM vectors WHERE space = %s AND model = %s AND dims = %s"


def part_checksum(seq: int, part: int, model: str, hash: bytes, numbers: bytes) -> int:
    """64 bits over one part of a record's vector; signed."""
    head = f"{seq} {part} {len(model)} {model} {len(hash)} ".encode()
    return int.from_bytes(blake2b(head + hash + numbers, digest_size=8).digest(), "big", signed=True)


def vector_rows(space: int, seq: int, model: str, hash: bytes, numbers: NDArray[np.float16]) -> list[tuple[Any, ...]]:
    """The rows of one record's vector, in the order of the table's columns."""
    worth = float(luck(np.array([len(numbers)], np.int64))[0])
    return [
        (space, seq, part, model, len(row), hash, half(row), worth, part_checksum(seq, part, model, hash, le(row)))
        for part, row in enumerate(numbers)
    ]


def half(row: NDArray[Any]) -> HalfVector:
    return HalfVector(row.astype(np.float16))


def le(row: NDArray[Any]) -> bytes:
    return row.astype("<f2").tobytes()


def numbers_of(vector: HalfVector) -> NDArray[np.float16]:
    return np.asarray(vector.to_numpy(), dtype=np.float16)


def stored(rows: Sequence[tuple[int, bytes]], dims: int) -> StoredVectors:
    """Vectors as the database sends them, in the order of record and part."""
    seqs, first = np.unique(np.array([seq for seq, _ in rows], dtype=np.int64), return_index=True)
    return StoredVectors(seqs.tolist(), numbers_in([sent for _, sent in rows], dims), first.astype(np.intp))


def array_of(seqs: Iterable[int]) -> str:
    """Numbers as PostgreSQL reads an array: psycopg takes ten times as long for a list."""
    return "{" + ",".join(map(str, seqs)) + "}"


class VectorReads(Session):
    """What a reader knows of vectors; fulfils its part of `port.Reader`."""

    _codes: CodeCache | None  # none inside a transaction, which may see other vectors than are committed now

    def nearest(
        self,
        tenant: str,
        model: str,
        query: Query,
        limit: int,
        allowed: Seqs | None = None,
        among: Candidates | None = None,
    ) -> list[VectorHit]:
        space = self.space_of(tenant)
        if space is None or limit < 1 or (allowed is not None and not len(allowed)):
            return []
        codes = None
        if self._codes is not None and (allowed is None or len(allowed) > FEW_ALLOWED):
            codes = self._codes.of(self.rows, space, model, len(query))
        if codes is not None:
            return self._by_codes(codes, space, model, query, limit, allowed, among)
        return self._by_scan(space, model, query, limit, allowed, among)

    def _by_codes(
        self,
        codes: CodeTable,
        space: int,
        model: str,
        query: Query,
        limit: int,
        allowed: Seqs | None,
        among: Candidates | None,
    ) -> list[VectorHit]:
        """The nearest by their codes, scored by their vectors."""
        assert self._codes is not None
        looked = count = max(RESCORED, int(BY_CODES_SHARE * limit))
        while True:
            near = codes.nearest(query, looked, allowed).tolist()
            meeting = set(near) if among is None else among.meeting(near)
            met = [seq for seq in near if seq in meeting]
            found = self._vectors(space, model, len(query), met)
            if len(found.seqs) < ENOUGH * len(met):
                self._codes.forget(space, model, len(query))
            whole = looked >= len(codes) or (among is not None and looked >= MOST_LOOKED)
            if whole or len(found.seqs) >= max(limit, ENOUGH * count):
                return nearest_first(found.cosines(query), limit)
            looked *= 4

    def _by_scan(
        self, space: int, model: str, query: Query, limit: int, allowed: Seqs | None, among: Candidates | None
    ) -> list[VectorHit]:
        """The nearest by an exact scan."""
        looked = max(RESCORED, int(RESCORED_SHARE * limit))
        while True:
            rows = self._near(space, model, query, looked, allowed)
            cosines = stored([row[:2] for row in rows], len(query)).cosines(query)
            if among is not None:
                met = among.meeting(list(cosines))
                cosines = {seq: one for seq, one in cosines.items() if seq in met}
            whole = not rows or rows[0][2] < looked or (among is not None and looked >= MOST_LOOKED)
            if whole or len(cosines) >= limit:
                return nearest_first(cosines, limit)
            looked *= 4

    def _near(
        self, space: int, model: str, query: Query, looked: int, allowed: Seqs | None
    ) -> list[tuple[int, bytes, int]]:
        """All vectors of the records of the nearest parts, and of how many parts: fewer than `looked` if there are no
        more. In one statement: a second one would look for the same rows again."""
        nearest, of_model = _NEAREST, [space, model, len(query)]
        values = list(of_model)
        if allowed is not None:
            nearest += " AND seq = ANY(%s::bigint[])"
            values.append(array_of(allowed.tolist()))
        sql = (
            # Without the 0 an index of nearness could be taken, which knows nothing of luck.
            f"WITH near AS ({nearest} ORDER BY (numbers <#> %s::halfvec) + luck + 0, seq DESC LIMIT %s) "
            "SELECT seq, halfvec_send(numbers), (SELECT count(*) FROM near) FROM vectors "
            "WHERE space = %s AND model = %s AND dims = %s AND seq = ANY(ARRAY(SELECT seq FROM near)) "
            "ORDER BY seq, part"
        )
        return self.rows(sql, [*values, half(query), looked, *of_model], space)

    def vectors(self, tenant: str, model: str, dims: int, seqs: Sequence[int] | Seqs) -> StoredVectors:
        space = self.space_of(tenant)
        found = np.asarray(seqs, dtype=np.int64).tolist()
        return stored((), dims) if space is None else self._vectors(space, model, dims, found)

    def _vectors(self, space: int, model: str, dims: int, seqs: Sequence[int]) -> StoredVectors:
        sql = (
            "SELECT seq, halfvec_send(numbers) FROM vectors WHERE space = %s AND seq = ANY(%s::bigint[]) "
            "AND model = %s AND dims = %s ORDER BY seq, part"
        )
        return stored(self.rows(sql, (space, array_of(seqs), model, dims), space), dims)

    def with_vector(self, tenant: str, model: str) -> int:
        sql = "SELECT count(*) FROM vectors WHERE space = %s AND model = %s AND part = 0"
        space = self.space_of(tenant)
        return 0 if space is None else int(self.rows(sql, (space, model), space)[0][0])

    def pending(self, tenant: str | None = None) -> int:
        if tenant is None:
            sql = "SELECT count(*) FROM outbox WHERE space IN (SELECT live FROM tenants)"
            return int(self.rows(sql, (), EVERY_SPACE)[0][0])
        space = self.space_of(tenant)
        sql = "SELECT count(*) FROM outbox WHERE space = %s"
        return 0 if space is None else int(self.rows(sql, (space,), space)[0][0])

    def index_work(
        self, limit: int, after: int = 0, *, newest: bool = False, without: Collection[str] = ()
    ) -> list[Waiting]:
        order = "DESC" if newest else "ASC"
        sql = (
            "SELECT t.tenant, o.source, o.seq, o.ticket FROM outbox AS o JOIN tenants AS t ON t.live = o.space "
            f"WHERE o.seq > %s AND t.tenant <> ALL(%s::text[]) ORDER BY o.seq {order}, o.space LIMIT %s"
        )
        return [Waiting(*row) for row in self.rows(sql, (after, list(without), limit), EVERY_SPACE)]

    def known_vectors(self, hashes: Sequence[bytes]) -> dict[bytes, Query]:
        sql = "SELECT space, seq, numbers FROM vectors WHERE hash = %s ORDER BY space, seq, part"
        known: dict[bytes, Query] = {}
        for hash in dict.fromkeys(hashes):
            rows = self.rows(sql, (hash,), EVERY_SPACE)
            first = [numbers_of(vector) for space, seq, vector in rows if (space, seq) == rows[0][:2]]
            if first:
                known[hash] = np.array(first, dtype=np.float32)
        return known

    def followed_model(self) -> str | None:
        rows = self.rows("SELECT model FROM followed WHERE space = %s", (COMMON,), COMMON)
        return str(rows[0][0]) if rows else None

    def missing(self, model: str, limit: int) -> Missing | None:
        if self.followed_model() != model:
            return None
        sql = (
            "SELECT t.tenant, t.live, source.name, coalesce(f.upto, 0) FROM tenants AS t "
            "CROSS JOIN unnest(%s::text[]) AS source(name) LEFT JOIN followed AS f ON f.space = t.live "
            "AND f.source = source.name AND f.model = %s WHERE coalesce(f.upto, 0) < %s ORDER BY t.live LIMIT 1"
        )
        rows = self.rows(sql, ([table.name for table in EMBEDDED], model, ALL), EVERY_SPACE)
        if not rows:
            return None
        tenant, space, source, after = rows[0]
        return self._missing(tenant, space, source, after, model, limit)

    def _missing(self, tenant: str, space: int, source: str, after: int, model: str, limit: int) -> Missing:
        some = f"SELECT seq FROM {source} WHERE space = %s AND seq > %s ORDER BY seq LIMIT %s"
        sql = (
            "SELECT r.seq, EXISTS (SELECT 1 FROM vectors AS v WHERE v.space = %s AND v.seq = r.seq AND v.model = %s) "
            f"FROM ({some}) AS r ORDER BY r.seq"
        )
        rows = self.rows(sql, (space, model, space, after, limit), space)
        lacking = tuple((seq, tenant) for seq, has in rows if not has)
        return Missing(source, rows[-1][0] if len(rows) == limit else ALL, lacking, tenant)


def _seq(record: Any) -> int:
    return int(record.seq)


class VectorWrites(Session):
    """What a job does to vectors; fulfils its part of `port.Tx`."""

    _batch: Batch

    def put_vectors(self, model: str, made: Sequence[MadeVector]) -> int:
        current = [one for one in made if self._still_waits(one.waiting)]
        for one in current:
            space = self._batch.locked(one.waiting.tenant, derived=True)
            self.run("DELETE FROM vectors WHERE space = %s AND seq = %s", (space, one.waiting.seq), space)
            rows = vector_rows(space, one.waiting.seq, model, one.hash, one.numbers.astype("<f2"))
            self.run_many("INSERT INTO vectors VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)", rows, space)
        self.done([one.waiting for one in current])
        return len(current)

    def _still_waits(self, one: Waiting) -> bool:
        """Not once the record is gone; nor once it has another text, for which another ticket waits."""
        sql = "SELECT 1 FROM outbox WHERE space = %s AND seq = %s AND ticket = %s"
        space = self._batch.locked(one.tenant, derived=True)
        return bool(self.rows(sql, (space, one.seq, one.ticket), space))

    def follow_vector(self, table: Table[R], old: R | None, new: R | None) -> None:
        """After a record came, changed or went: its vector goes unless the text is the same, and the new text waits."""
        if table.passage is None:
            return
        before, after = (None if one is None else (_seq(one), table.passage(one)) for one in (old, new))
        if before == after:
            return
        record: Any = old if new is None else new
        space = self._batch.locked(record.tenant)
        if before is not None:
            self.run("DELETE FROM outbox WHERE space = %s AND seq = %s", (space, before[0]), space)
            self.run("DELETE FROM vectors WHERE space = %s AND seq = %s", (space, before[0]), space)
        if after is not None:
            ticket = after[0] if before is None else self._batch.next_seq(record.tenant)
            self.run("INSERT INTO outbox VALUES (%s, %s, %s, %s)", (space, after[0], table.name, ticket), space)

    def done(self, work: Sequence[Waiting]) -> None:
        sql = "DELETE FROM outbox WHERE space = %s AND seq = %s AND ticket = %s"
        keys = [(self._batch.locked(one.tenant, derived=True), one.seq, one.ticket) for one in work]
        self.run_many(sql, keys, EVERY_SPACE)

    def follow_model(self, model: str | None) -> None:
        self.run("DELETE FROM followed", (), EVERY_SPACE)
        if model is not None:
            self.run("INSERT INTO followed VALUES (%s, '', %s, 0)", (COMMON, model), COMMON)

    def queue(self, model: str, missing: Missing) -> None:
        sql = "INSERT INTO outbox VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
        waiting = [(self._batch.locked(tenant, derived=True), seq, missing.source, seq) for seq, tenant in missing.rows]
        self.run_many(sql, waiting, EVERY_SPACE)
        if missing.tenant is not None:
            upsert = (
                "INSERT INTO followed VALUES (%s, %s, %s, %s) "
                "ON CONFLICT (space, source) DO UPDATE SET model = excluded.model, upto = excluded.upto"
            )
            space = self._batch.locked(missing.tenant, derived=True)
            self.run(upsert, (space, missing.source, model, missing.upto), space)
