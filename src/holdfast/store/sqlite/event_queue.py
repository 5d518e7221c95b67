"""The table of events that wait for the broker: written with what they tell of, dropped once the broker has them."""

from __future__ import annotations

from typing import Any

import apsw
import orjson

from holdfast.core.model import Dispatch, Json
from holdfast.core.times import iso

# Brokers refuse messages over 1 MB, or less if they are told to; one that is refused would hold up all behind it. An
# event of this size says only that it happened.
MOST_BYTES = 60_000


def envelope(kind: str, tenant: str, agent: str | None, at: int, body: Json) -> str:
    """The event's JSON text: what every event says of itself, and its own words if they are not too many."""
    known = {"kind": kind, "tenant": tenant, "agent": agent, "ts": iso(at)}
    text = orjson.dumps({**body, **known})
    if len(text) > MOST_BYTES:
        text = orjson.dumps({**known, "cut": True})
    return text.decode()


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
