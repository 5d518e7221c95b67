"""What changed in a tenant's memory between two database files, by ids and checksums inside SQLite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import apsw

from holdfast.store.port import Table
from holdfast.store.rows import shape_of
from holdfast.store.sqlite.database import BUSY_MS, check_ours, is_current, migrate, open_reader
from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.files.copy_rows import open_private
from holdfast.store.tables import (
    ACTIONS,
    ADDRESSES,
    COMMITS,
    COORDINATION,
    INSIGHTS,
    LESSONS,
    MEMORIES,
    NOTES,
    OBSERVATIONS,
    RELATIONS,
    SESSIONS,
    SLOTS,
    STATEMENTS,
    SUMMARIES,
)

Change = Literal["added", "removed", "changed"]

SHOWN = 100
TITLE_CHARS = 80

# What a record is called by, in SQL: the first that is not empty.
TITLES: Mapping[Table[Any], tuple[str, ...]] = {
    SESSIONS: ("title", "first_prompt", "id"),
    OBSERVATIONS: ("title", "narrative"),
    MEMORIES: ("title", "content"),
    ADDRESSES: ("id",),
    LESSONS: ("content",),
    SLOTS: ("label",),
    ACTIONS: ("title", "description"),
    RELATIONS: ("source_id || ' ' || type || ' ' || target_id",),
    COORDINATION: ("kind || ' ' || subject",),
    SUMMARIES: ("title", "narrative"),
    INSIGHTS: ("title", "content"),
    STATEMENTS: ("text",),
    COMMITS: ("message", "sha"),
    NOTES: ("id",),
}


# What everybody may see, in SQL; anything else is only counted.
_FOR_ALL = 'audience IN (\'["all"]\', \'["all","chats"]\')'
OPEN: Mapping[Table[Any], str] = {
    MEMORIES: _FOR_ALL,
    ADDRESSES: "EXISTS (SELECT 1 FROM {side}.memories AS m WHERE m.tenant = r.tenant AND m.id = r.root "
    f"AND m.{_FOR_ALL})",
    RELATIONS: "NOT EXISTS (SELECT 1 FROM {side}.memories AS m WHERE m.tenant = r.tenant "
    f"AND m.id IN (r.source_id, r.target_id) AND NOT m.{_FOR_ALL})",
}


@dataclass(frozen=True, slots=True)
class RowDiff:
    """A record that was added, removed or changed."""

    id: str
    change: Change
    title: str
    agent: str | None


@dataclass(frozen=True, slots=True)
class TableDiff:
    """What changed in a table; `rows` holds the first of them in the order of writes."""

    table: str
    added: int
    removed: int
    changed: int
    rows: tuple[RowDiff, ...]


def compare_stores(a: Path, b: Path, tenant: str, *, limit: int = SHOWN) -> list[TableDiff]:
    """What one has to do to `a` to get `b`, table by table; tables in which nothing changed are left out.

    Either may be the live database: each is read at one moment. A file of an older schema is migrated in place.

    Raises:
        DataTooNew: a newer Holdfast wrote one of them.
    """
    _bring_up(a)
    _bring_up(b)
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(":memory:", flags=flags)
    try:
        with as_faults():
            db.set_busy_timeout(BUSY_MS)
            db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            for name, path in (("a", a), ("b", b)):
                db.execute(f"ATTACH ? AS {name}", (f"file:{quote(str(path.absolute()))}?mode=ro",))
            db.execute("BEGIN")
            for name in ("a", "b"):
                db.execute(f"SELECT 1 FROM {name}.tallies LIMIT 1").fetchall()  # the state is fixed from here on
            found = [_compare(db, table, tenant, limit) for table in TITLES]
    finally:
        db.close()
    return [one for one in found if one.added or one.removed or one.changed]


def _bring_up(path: Path) -> None:
    """Only a private copy can be of an older schema: a store that is open was migrated when it was opened."""
    look = open_reader(path)
    try:
        with as_faults():
            check_ours(look)
            current = is_current(look)
    finally:
        look.close()
    if current:
        return
    db = open_private(path)
    try:
        migrate(db)
    finally:
        db.close()


def _compare(db: apsw.Connection, table: Table[Any], tenant: str, limit: int) -> TableDiff:
    # Rows that are the same in both are passed over in the order in which they lie; the few others go by their ids.
    db.execute("DROP TABLE IF EXISTS temp.went")
    db.execute("DROP TABLE IF EXISTS temp.came")
    for name, one, other in (("went", "a", "b"), ("came", "b", "a")):
        db.execute(f"CREATE TEMP TABLE {name} (id TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID")
        db.execute(
            f"INSERT INTO temp.{name} SELECT id, seq FROM {one}.{table.name} AS r NOT INDEXED WHERE tenant = ?1 "
            f"AND NOT EXISTS (SELECT 1 FROM {other}.{table.name} AS o WHERE o.seq = r.seq AND o.checksum = r.checksum "
            "AND o.tenant = ?1)",
            (tenant,),
        )
    both: Any = db.execute("SELECT count(*) FROM temp.went JOIN temp.came USING (id)").get
    went: Any = db.execute("SELECT count(*) FROM temp.went").get
    came: Any = db.execute("SELECT count(*) FROM temp.came").get
    return TableDiff(table.name, came - both, went - both, both, _rows(db, table, limit))


def _rows(db: apsw.Connection, table: Table[Any], limit: int) -> tuple[RowDiff, ...]:
    """The first differences, by the number that the record has now, or had."""
    columns = (*TITLES[table], "agent" if "agent" in shape_of(table).columns else "NULL")
    shown = ", ".join(f"substr({column}, 1, 400)" for column in columns)
    came = (
        "SELECT c.id, c.seq, CASE WHEN w.id IS NULL THEN 'added' ELSE 'changed' END AS change, 'b' AS side "
        "FROM temp.came AS c LEFT JOIN temp.went AS w USING (id)"
    )
    went = "SELECT id, seq, 'removed', 'a' FROM temp.went WHERE id NOT IN (SELECT id FROM temp.came)"
    first: Any = db.execute(f"{came} UNION ALL {went} ORDER BY 2, 1 LIMIT ?", (limit,)).fetchall()
    rows = []
    for id, seq, change, side in first:
        seen = OPEN.get(table, "1").format(side=side)
        sql = f"SELECT {shown} FROM {side}.{table.name} AS r WHERE seq = ? AND {seen}"
        found: Any = db.execute(sql, (seq,)).fetchall()
        for *names, agent in found:
            rows.append(RowDiff(id, change, _title(names), agent))
    return tuple(rows)


def _title(names: list[Any]) -> str:
    """The first line of the first name that is not empty."""
    for name in names:
        line = next((one.strip() for one in str(name or "").splitlines() if one.strip()), "")
        if line:
            return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"
    return ""
