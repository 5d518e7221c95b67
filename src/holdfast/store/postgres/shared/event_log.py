"""What happened in spaces that some server has live readers for: written with the write itself, read by the others.

The place of an event is a number of the space's order of writes. So a server that reads what comes after the last place
it saw misses nothing, however many servers write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any, NamedTuple

import orjson

from holdfast.core.errors import Restoring
from holdfast.core.model import Event
from holdfast.store.port import Reader, Table
from holdfast.store.postgres.batch import Batch
from holdfast.store.postgres.pool import Connection
from holdfast.store.postgres.shared.notices import Notice, notify
from holdfast.store.tables import TABLES

WATCH_SECONDS, KEPT_SECONDS = 300.0, 600.0  # a server that was away for less than it is kept gets all of it
AT_ONCE = 500

_TABLES: dict[type[Any], Table[Any]] = {table.record: table for table in TABLES}
_BY_NAME = {table.name: table for table in TABLES}
_COLUMNS = "place, server, kind, source, id, session, agent, audience, body"
_INSERT = f"INSERT INTO live_events (space, {_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
_WATCH = "UPDATE spaces SET watched_until = clock_timestamp() + %s WHERE space = %s RETURNING last_seq"


class LoggedEvent(NamedTuple):
    """A row of the log."""

    place: int
    server: str
    kind: str
    source: str
    id: str
    session: str | None
    agent: str | None
    audience: str
    body: str

    def event(self, tenant: str, reader: Reader) -> Event | None:
        """The event, with the record as it is now; None if that is gone."""
        audience = tuple(orjson.loads(self.audience))
        if not self.source:
            return Event(tenant, self.kind, orjson.loads(self.body), self.session, self.agent, audience)
        record = reader.get(_BY_NAME[self.source], tenant, self.id)
        if record is None:
            return None
        # Whom it concerns may have changed since; who sees it is decided by what it is now.
        return Event(tenant, self.kind, record, self.session, self.agent, getattr(record, "audience", audience))


def note_events(batch: Batch, server: str, events: Iterable[Event]) -> None:
    """Log those events of a transaction that happened in watched spaces, and notify the other servers once it is
    committed."""
    noted: set[int] = set()
    for event in events:
        space = _space_of(batch, event.tenant)
        if space is not None and batch.is_watched(space):
            row = _row(space, batch.next_seq(event.tenant), server, event)
            batch.view.see(space).execute(_INSERT, row)
            noted.add(space)
    for space in sorted(noted):
        notify(batch.db, Notice("events", space=space))


def _space_of(batch: Batch, tenant: str) -> int | None:
    """The tenant's space. None if it has none; nor while it is exchanged: live readers reload then."""
    space = batch.known(tenant)
    if space is None:
        with suppress(Restoring), batch.savepoint("note"):
            space = batch.existing(tenant)
    return space


def _row(space: int, place: int, server: str, event: Event) -> tuple[Any, ...]:
    table = _TABLES.get(type(event.body))
    source, id = ("", "") if table is None else (table.name, event.body.id)
    body = orjson.dumps(event.body).decode() if table is None else ""
    audience = orjson.dumps(event.audience).decode()
    return (space, place, server, event.kind, source, id, event.session_id, event.agent, audience, body)


def logged_after(db: Connection, space: int, place: int) -> Iterator[LoggedEvent]:
    """What was logged after a place, in order. The connection has to see the space."""
    sql = f"SELECT {_COLUMNS} FROM live_events WHERE space = %s AND place > %s ORDER BY place LIMIT {AT_ONCE}"
    while rows := db.execute(sql.encode(), (space, place)).fetchall():
        yield from map(LoggedEvent._make, rows)
        place = rows[-1][0]


def watch_space(db: Connection, space: int) -> int:
    """Have the events of a space logged for some minutes from now on; the last place that was given out in it."""
    row = db.execute(_WATCH, (timedelta(seconds=WATCH_SECONDS), space)).fetchone()
    return 0 if row is None else int(row[0])


def drop_old_events(db: Connection, space: int) -> None:
    sql = "DELETE FROM live_events WHERE space = %s AND at < clock_timestamp() - %s"
    db.execute(sql, (space, timedelta(seconds=KEPT_SECONDS)))


def carry_watch(db: Connection, old: int, new: int) -> None:
    """Those who read the old space live read the new one from its first event on."""
    db.execute("DELETE FROM live_events WHERE space = %s", (new,))
    sql = "UPDATE spaces SET watched_until = (SELECT watched_until FROM spaces WHERE space = %s) WHERE space = %s"
    db.execute(sql, (old, new))
