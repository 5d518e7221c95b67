"""The table of recalls: how often searches returned each record. Nothing but the order of equal hits depends on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import apsw
import orjson

from holdfast.store.tables import TABLES

MOST = 1_000_000  # a larger count has no use, and a number that was damaged cannot grow out of its column

_SEARCHED = [table.name for table in TABLES if table.index]
_HELD = " OR ".join(f"EXISTS (SELECT 1 FROM {name} WHERE seq = ?1 AND tenant = ?2)" for name in _SEARCHED)
_ADD = (
    f"INSERT INTO recalls (seq, tenant, count, at) SELECT ?1, ?2, min(?3, {MOST}), ?4 WHERE {_HELD} "
    f"ON CONFLICT (seq) DO UPDATE SET count = min(count + excluded.count, {MOST}), at = max(at, excluded.at)"
)
_SWEEP = "DELETE FROM recalls WHERE " + " AND ".join(f"seq NOT IN (SELECT seq FROM {name})" for name in _SEARCHED)


def count_recalls(db: apsw.Connection, tenant: str, seqs: Sequence[int]) -> dict[int, int]:
    """The counts of those of the records that have one."""
    sql = "SELECT r.seq, r.count FROM json_each(?) AS asked CROSS JOIN recalls AS r ON r.seq = asked.value"
    rows = db.execute(f"{sql} WHERE r.tenant = ?", (orjson.dumps(list(seqs)).decode(), tenant)).fetchall()
    return dict(rows)  # type: ignore[arg-type]


def last_recalls(db: apsw.Connection, tenant: str, seqs: Sequence[int]) -> dict[int, tuple[int, int]]:
    """How often and when last, of those of the records that have a count."""
    sql = "SELECT r.seq, r.count, r.at FROM json_each(?) AS asked CROSS JOIN recalls AS r ON r.seq = asked.value"
    rows: Any = db.execute(f"{sql} WHERE r.tenant = ?", (orjson.dumps(list(seqs)).decode(), tenant)).fetchall()
    return {seq: (count, at) for seq, count, at in rows}


def add_recalls(db: apsw.Connection, counts: Mapping[tuple[str, int], int], at: int) -> None:
    """Add to the counts of the tenants' records that are still there."""
    db.executemany(_ADD, [(seq, tenant, count, at) for (tenant, seq), count in counts.items()])


def move_recalls(db: apsw.Connection, old: int, new: int) -> None:
    """A record was stored again under another number."""
    db.execute("UPDATE OR REPLACE recalls SET seq = ? WHERE seq = ?", (new, old))


def drop_recalls(db: apsw.Connection, seq: int) -> None:
    """A record is gone."""
    db.execute("DELETE FROM recalls WHERE seq = ?", (seq,))


def sweep_recalls(db: apsw.Connection) -> None:
    """Drop the counts of records that are not there."""
    db.execute(_SWEEP)
