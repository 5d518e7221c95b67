"""The tenants whose events this server wants, and how far it has read what others logged of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.core.model import Event
from holdfast.store.fulltext.word_search import WordIndex
from holdfast.store.postgres.batch import Batch
from holdfast.store.postgres.pool import NO_SPACE, Connect, faults
from holdfast.store.postgres.reader import PostgresReader
from holdfast.store.postgres.shared.event_log import drop_old_events, logged_after, watch_space


@dataclass(slots=True)
class _Watch:
    space: int
    seen: int  # the last place that was read


class WatchedSpaces:
    """Read by the thread of the fleet; any thread may add and remove tenants."""

    def __init__(self, connect: Connect, server: str):
        self._connect = connect
        self._server = server
        self._watches: dict[str, _Watch] = {}
        self._lock = threading.Lock()

    def add(self, tenant: str) -> None:
        """Read what is committed from now on. A tenant without a memory gets one, so that its first write is logged."""
        with faults(), self._connect(NO_SPACE) as db, db.transaction():
            batch = Batch(db)
            space = batch.locked(tenant)
            seen = watch_space(batch.view.see(space), space)
        with self._lock:
            self._watches.setdefault(tenant, _Watch(space, seen))

    def remove(self, tenant: str) -> None:
        with self._lock:
            self._watches.pop(tenant, None)

    def tenants(self) -> list[str]:
        with self._lock:
            return list(self._watches)

    def catch_up(self, publish: Callable[[Event], None], space: int | None = None) -> None:
        """Publish what other servers logged since the last time: of a space, or of all that are watched."""
        with self._lock:
            chosen = [(tenant, one) for tenant, one in self._watches.items() if space in (None, one.space)]
        for tenant, watch in chosen:
            self._follow_switch(tenant, watch)
            self._read(tenant, watch, publish)

    def _follow_switch(self, tenant: str, watch: _Watch) -> None:
        """Go on in the space that is the tenant's now. The log of one that became live begins with the switch."""
        with faults(), self._connect(NO_SPACE) as db:
            row = db.execute("SELECT live FROM tenants WHERE tenant = %s", (tenant,)).fetchone()
        if row is not None and row[0] != watch.space:
            watch.space, watch.seen = int(row[0]), 0

    def _read(self, tenant: str, watch: _Watch, publish: Callable[[Event], None]) -> None:
        with faults(), self._connect(watch.space) as db:
            rows = list(logged_after(db, watch.space, watch.seen))
        # No index is kept: records are only fetched by their ids.
        reader = PostgresReader(self._connect, WordIndex())
        for row in rows:
            watch.seen = row.place  # first: a record that cannot be read must not hold up all that follow
            event = row.event(tenant, reader) if row.server != self._server else None
            if event is not None:
                publish(event)

    def renew(self) -> None:
        """Have events logged for some more minutes, and drop what all have read."""
        with self._lock:
            spaces = [one.space for one in self._watches.values()]
        for space in spaces:
            with faults(), self._connect(space) as db:
                watch_space(db, space)
                drop_old_events(db, space)

    def skip(self) -> None:
        """Go on from now: what was logged before is not complete any more."""
        with self._lock:
            chosen = list(self._watches.items())
        for tenant, watch in chosen:
            self._follow_switch(tenant, watch)
            with faults(), self._connect(watch.space) as db:
                watch.seen = watch_space(db, watch.space)
