"""The table of events that wait for the broker: written with what they report, dropped once the broker has them."""

from __future__ import annotations

from typing import Any

import apsw

from holdfast.core.model import Dispatch


def add_dispatch(db: apsw.Connection, kind: str, tenant: str, agent: str | None, body: str) -> None:
    sql = "INSERT INTO events (tenant, agent, kind, body) VALUES (?, ?, ?, ?)"
    db.execute(sql, (tenant, agent, kind, body))


def drop_dispatches(db: apsw.Connection, upto: int) -> None:
    db.execute("DELETE FROM events WHERE place <= ?", (upto,))


def read_dispatches(db: apsw.Connection, limit: int, after: int) -> list[Dispatch]:
    sql = "SELECT place, tenant, agent, kind, body FROM events WHERE place > ? ORDER BY place LIMIT ?"
    rows: Any = db.execute(sql, (after, limit)).fetchall()
    return [Dispatch(*row) for row in rows]


def count_dispatches(db: apsw.Connection, tenant: str | None) -> int:
    """Of all tenants from the first and the last place, which takes no longer when millions wait."""
    if tenant is not None:
        found: Any = db.execute("SELECT count(*) FROM events WHERE tenant = ?", (tenant,)).get
    else:
        found = db.execute("SELECT (SELECT max(place) FROM events) - (SELECT min(place) FROM events) + 1").get
    return int(found or 0)
