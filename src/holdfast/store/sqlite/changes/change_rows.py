"""The rows that record what each commit changed, written in its own transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import apsw
import orjson

from holdfast.store.journal.journal_port import JournalPlace
from holdfast.store.tables import PLACE, TABLES

ANY = ""  # the row that stands for recording at all; no tenant has an empty name
JOURNALED = tuple(table for table in TABLES if table not in PLACE)
_STAYS = frozenset(table.name for table in PLACE)
SEED_ROWS = 500  # in one record of a seed or of one that was made of several

_STATE = "SELECT line, number, hash, place, seeded FROM {}.journal WHERE tenant = ?"
_INSERT = "INSERT INTO changes VALUES (?, ?, ?)"


def is_recording(db: apsw.Connection) -> bool:
    return db.execute("SELECT 1 FROM journal WHERE tenant = ?", (ANY,)).get is not None


def place_in(db: apsw.Connection, tenant: str, schema: str = "main") -> JournalPlace | None:
    """How far the tenant's journal was in the vault when this database was written, if it wrote one."""
    return noted_place(db, tenant, schema) if noted_place(db, ANY, schema) is not None else None


def noted_place(db: apsw.Connection, tenant: str, schema: str = "main") -> JournalPlace | None:
    """The same also of a copy that follows another host's journal."""
    rows: Any = db.execute(_STATE.format(schema), (tenant,)).fetchall()
    if not rows:
        return None
    line, number, hash, place, seeded = rows[0]
    return JournalPlace(line, number, hash, place, bool(seeded))


def note_place(db: apsw.Connection, tenant: str, at: JournalPlace) -> None:
    values = (tenant, at.line, at.number, at.hash, at.place, int(at.seeded))
    db.execute("INSERT OR REPLACE INTO journal VALUES (?, ?, ?, ?, ?, ?)", values)


def record_changes(db: apsw.Connection, changed: Iterable[tuple[str, str, int]], next_place: Callable[[], int]) -> None:
    """Record the rows that a commit changed: tenant, table and number of each."""
    found: dict[str, dict[str, set[int]]] = {}
    for tenant, table, seq in changed:
        if table not in _STAYS:
            found.setdefault(tenant, {}).setdefault(table, set()).add(seq)
    for tenant, rows in found.items():
        db.execute(_INSERT, (next_place(), tenant, _packed(rows)))


def seed(db: apsw.Connection, tenant: str, next_place: Callable[[], int]) -> None:
    """Record every row of the tenant as changed."""
    _write(db, tenant, _every_row(db, tenant), next_place)


def count_rows(db: apsw.Connection, tenant: str, most: int) -> int:
    """How many rows the tenant has, or a number above `most`."""
    count = 0
    for table in JOURNALED:
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {table.name} WHERE tenant = ? LIMIT ?)"
        found: Any = db.execute(sql, (tenant, most + 1 - count)).get
        count += int(found)
        if count > most:
            break
    return count


def merge(db: apsw.Connection, tenant: str, next_place: Callable[[], int]) -> None:
    """Record each changed row once: what waits is then bounded by the number of rows, however long it waits."""
    found: dict[tuple[str, int], None] = {}
    recorded: Any = db.execute("SELECT rows FROM changes WHERE tenant = ? ORDER BY place", (tenant,)).fetchall()
    for (text,) in recorded:
        for table, numbers in orjson.loads(text).items():
            found.update(dict.fromkeys((table, seq) for seq in numbers))
    db.execute("DELETE FROM changes WHERE tenant = ?", (tenant,))
    _write(db, tenant, iter(found), next_place)


def _every_row(db: apsw.Connection, tenant: str) -> Iterator[tuple[str, int]]:
    for table in JOURNALED:
        found: Any = db.execute(f"SELECT seq FROM {table.name} WHERE tenant = ? ORDER BY seq", (tenant,)).fetchall()
        for (seq,) in found:
            yield table.name, seq


def _write(db: apsw.Connection, tenant: str, found: Iterator[tuple[str, int]], next_place: Callable[[], int]) -> None:
    rows: dict[str, set[int]] = {}
    count = 0
    for table, seq in found:
        rows.setdefault(table, set()).add(seq)
        count += 1
        if count == SEED_ROWS:
            db.execute(_INSERT, (next_place(), tenant, _packed(rows)))
            rows, count = {}, 0
    if rows:
        db.execute(_INSERT, (next_place(), tenant, _packed(rows)))


def _packed(rows: dict[str, set[int]]) -> str:
    return orjson.dumps({table: sorted(numbers) for table, numbers in rows.items()}).decode()
