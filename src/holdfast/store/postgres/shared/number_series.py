"""Numbers that only grow, whichever server takes them."""

from __future__ import annotations

from holdfast.store.postgres.pool import Connect, faults
from holdfast.store.postgres.shared.job_leases import COMMON

# Of no space of a tenant: a restore gives a tenant another space, and the numbers go on.
_TAKE = (
    "INSERT INTO numbers AS n VALUES (%(space)s, %(series)s, %(least)s) "
    "ON CONFLICT (space, series) DO UPDATE SET taken = greatest(n.taken + 1, excluded.taken) RETURNING taken"
)


class NumberSeries:
    """The highest number of each series, in the database."""

    def __init__(self, connect: Connect):
        self._connect = connect

    def take(self, series: str, least: int) -> int:
        """See `Fleet.take_number`."""
        with faults(), self._connect(COMMON) as db:
            row = db.execute(_TAKE, {"space": COMMON, "series": series, "least": least}).fetchone()
        return least if row is None else int(row[0])
