"""Leases of jobs: a row for each job of a space, claimed by one server and free again once it is not renewed.

Times are the database's own, so that the clocks of servers do not matter.
"""

from __future__ import annotations

import threading
from datetime import timedelta

from holdfast.store.postgres.pool import EVERY_SPACE, NO_SPACE, Connect, Connection, View, faults

COMMON = 0  # the space that stands for all
LEASE_SECONDS = 15.0  # so long a dead server's jobs wait
RENEW_SECONDS = 5.0  # two renewals may fail before a lease is lost

_LEASE = timedelta(seconds=LEASE_SECONDS)
# A row that another transaction has locked is being claimed by it: it is passed over instead of waited for.
_FREE = (
    "SELECT space, job FROM leases WHERE space = %(space)s AND job = %(job)s AND (holder = %(me)s OR "
    "(expires < clock_timestamp() AND done <= clock_timestamp() - %(every)s)) FOR UPDATE SKIP LOCKED"
)
_CLAIM = (
    "UPDATE leases SET holder = %(me)s, expires = clock_timestamp() + %(lease)s "
    f"WHERE space = %(space)s AND job = %(job)s AND (space, job) IN ({_FREE})"
)
_FIRST = (
    "INSERT INTO leases VALUES (%(space)s, %(job)s, %(me)s, clock_timestamp() + %(lease)s, '-infinity') "
    "ON CONFLICT DO NOTHING"
)
_RELEASE = (
    "UPDATE leases SET holder = '', expires = '-infinity', done = CASE WHEN %(done)s THEN clock_timestamp() ELSE done "
    "END WHERE space = %(space)s AND job = %(job)s AND holder = %(me)s"
)
# Without a lock on the tenant's row: during a restore of minutes what is held stays held.
_RENEW = (
    "UPDATE leases SET expires = clock_timestamp() + %(lease)s WHERE job = %(job)s AND holder = %(me)s "
    "AND space = coalesce((SELECT live FROM tenants WHERE tenant = %(tenant)s), %(space)s)"
)

Job = tuple[str, str | None]  # its name and the tenant; None: of all


class JobLeases:
    """The leases that this server holds."""

    def __init__(self, connect: Connect, server: str):
        self._connect = connect
        self._server = server
        self._held: set[Job] = set()
        self._lock = threading.Lock()

    def claim(self, job: str, tenant: str | None = None, every: float = 0.0) -> bool:
        """See `Fleet.claim`. A tenant without a memory has no jobs."""
        with faults(), self._connect(NO_SPACE) as db, db.transaction():
            space = _space_of(db, tenant)
            granted = space is not None and self._claim(View(db).see(space), space, job, every)
        with self._lock:
            (self._held.add if granted else self._held.discard)((job, tenant))
        return granted

    def _claim(self, db: Connection, space: int, job: str, every: float) -> bool:
        values = self._values(space, job) | {"every": timedelta(seconds=every)}
        return bool(db.execute(_CLAIM, values).rowcount or db.execute(_FIRST, values).rowcount)

    def release(self, job: str, tenant: str | None = None, *, done: bool = True) -> None:
        """See `Fleet.release`."""
        with self._lock:
            self._held.discard((job, tenant))
        with faults(), self._connect(NO_SPACE) as db, db.transaction():
            space = _space_of(db, tenant)
            if space is not None:
                View(db).see(space).execute(_RELEASE, self._values(space, job) | {"done": done})

    def renew(self) -> None:
        """Prolong all that are held; to be called every `RENEW_SECONDS`."""
        with self._lock:
            held = [{"tenant": tenant} | self._values(COMMON, job) for job, tenant in self._held]
        if held:
            with faults(), self._connect(EVERY_SPACE) as db, db.cursor() as cursor:
                cursor.executemany(_RENEW, held)

    def _values(self, space: int, job: str) -> dict[str, object]:
        return {"space": space, "job": job, "me": self._server, "lease": _LEASE}


def carry_shared(db: Connection, old: int, new: int) -> None:
    """Jobs and allowances are a tenant's, not a space's: what a server does for the tenant now, it goes on doing."""
    for table in ("leases", "rate_limits"):
        db.execute(f"DELETE FROM {table} WHERE space = %s".encode(), (new,))
        db.execute(f"UPDATE {table} SET space = %s WHERE space = %s".encode(), (new, old))


def _space_of(db: Connection, tenant: str | None) -> int | None:
    """The tenant's space, the same until the transaction ends; None if it has none, or is just being given another."""
    if tenant is None:
        return COMMON
    # A row that is locked is passed over: a restore may take minutes, and nothing is to be begun during it.
    sql = "SELECT live FROM tenants WHERE tenant = %s FOR SHARE SKIP LOCKED"
    row = db.execute(sql, (tenant,)).fetchone()
    return None if row is None else int(row[0])
