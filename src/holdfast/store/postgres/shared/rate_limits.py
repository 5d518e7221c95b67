"""How many requests a caller may still make at all servers together.

Of each caller the moment is kept at which its allowance is full again. A request moves it on by the time in which one
request is earned, and is refused if that would be further away than an empty allowance takes to fill.
"""

from __future__ import annotations

from datetime import timedelta

from holdfast.store.postgres.pool import NO_SPACE, Connect, faults
from holdfast.store.postgres.shared.job_leases import COMMON

_TAKE = (
    "INSERT INTO rate_limits AS r VALUES (%(space)s, %(caller)s, clock_timestamp() + %(one)s) "
    "ON CONFLICT (space, caller) DO UPDATE SET full_at = greatest(r.full_at, clock_timestamp()) + %(one)s "
    "WHERE greatest(r.full_at, clock_timestamp()) + %(one)s <= clock_timestamp() + %(all)s"
)
_WAIT = (
    "SELECT extract(epoch FROM full_at + %(one)s - %(all)s - clock_timestamp()) FROM rate_limits "
    "WHERE space = %(space)s AND caller = %(caller)s"
)


class RateLimits:
    """The allowances of callers, in the database."""

    def __init__(self, connect: Connect):
        self._connect = connect

    def take(self, caller: str, tenant: str, rate: float, burst: float) -> float:
        """See `Fleet.take_request`."""
        with faults():
            with self._connect(NO_SPACE) as db:
                row = db.execute("SELECT live FROM tenants WHERE tenant = %s", (tenant,)).fetchone()
            space = COMMON if row is None else int(row[0])
            one, whole = timedelta(seconds=1 / rate), timedelta(seconds=burst / rate)
            values = {"space": space, "caller": caller, "one": one, "all": whole}
            with self._connect(space) as db:
                if db.execute(_TAKE, values).rowcount:
                    return 0.0
                found = db.execute(_WAIT, values).fetchone()
        return max(0.001, float(found[0])) if found else 0.001
