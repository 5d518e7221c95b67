"""Damage that was found in a tenant's space, noted in the database: it outlives the process that met it, and every
server refuses writes to that space.

A server learns of it with the look-up of the space that begins each read and write, without a question of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from typing import NamedTuple

import psycopg
from psycopg_pool import PoolTimeout

from holdfast.core.errors import DataReadOnly
from holdfast.store.damage import LOGGED, REMEDY, Damage, Extent, damage_of
from holdfast.store.port import Finding
from holdfast.store.postgres.pool import NO_SPACE, Connect, Connection, fault_of

log = logging.getLogger("holdfast")

# A tenant's space with what is noted of it.
LIVE = (
    "SELECT t.live, d.extent, d.why FROM tenants AS t LEFT JOIN damaged_spaces AS d ON d.number = t.live "
    "WHERE t.tenant = %s"
)
_ALL = "SELECT t.tenant, t.live, d.extent, d.why FROM tenants AS t JOIN damaged_spaces AS d ON d.number = t.live"
_NOTE = "INSERT INTO damaged_spaces VALUES (%s, %s, %s) ON CONFLICT (number) DO "
_MOST_CHARS = 1_000


class DamagedSpace(NamedTuple):
    """A space, and what is known of its damage."""

    number: int
    damage: Damage


def damage_in(extent: str | None, why: str | None) -> Damage | None:
    """What a row of `LIVE` says."""
    known: tuple[Extent, ...] = ("index", "records")
    if extent is None:
        return None
    return Damage(next((one for one in known if one == extent), "unknown"), why or "")


def noted_damage(db: Connection, space: int) -> Damage | None:
    """What is noted of a space, live or not."""
    row = db.execute("SELECT extent, why FROM damaged_spaces WHERE number = %s", (space,)).fetchone()
    return None if row is None else damage_in(*row)


class DamagedSpaces:
    """What is known of it in this process; any thread may report more."""

    def __init__(self, connect: Connect):
        self._connect = connect
        self._lock = threading.Lock()
        with connect(NO_SPACE) as db:
            rows = db.execute(_ALL).fetchall()
        self._known = {
            tenant: DamagedSpace(space, damage)
            for tenant, space, extent, why in rows
            if (damage := damage_in(extent, why))
        }

    def refusal(self, tenant: str) -> DataReadOnly | None:
        """The fault of every write to a tenant's memory, or None while nothing is known to be damaged in it."""
        known = self._known.get(tenant)
        return None if known is None else known.damage.fault()

    def hint(self, tenant: str) -> str | None:
        """What to do about the damage that is known."""
        return REMEDY if tenant in self._known else None

    def saw(self, tenant: str, space: int, damage: Damage | None) -> None:
        """What a look-up of the tenant's live space found noted."""
        if damage is not None:
            self._known[tenant] = DamagedSpace(space, damage)
        elif tenant in self._known:
            self.forget(tenant)

    def forget(self, tenant: str) -> None:
        """Another space is live now."""
        self._known.pop(tenant, None)

    def met(self, tenant: str, space: int, why: str) -> None:
        """A read or a write met damage: from now on nothing is written, by this server and the others."""
        with self._lock:
            known = self._known.get(tenant)
            if known is None or known.number != space:
                self._set(tenant, space, Damage("unknown", why), "NOTHING")

    def verified(self, tenant: str, space: int, findings: Iterable[Finding]) -> None:
        """What a verification of the whole space found: it may end a suspicion as well."""
        listed = list(findings)
        found = damage_of(listed)
        with self._lock:
            if found is None:
                with self._connect(NO_SPACE) as db:
                    db.execute("DELETE FROM damaged_spaces WHERE number = %s", (space,))
                self.forget(tenant)
            elif self._known.get(tenant) != (space, found):
                for one in listed[:LOGGED]:
                    log.error("damaged: %s: %s", one.table, " ".join(one.message.split()))
                self._set(tenant, space, found, "UPDATE SET extent = excluded.extent, why = excluded.why")

    def _set(self, tenant: str, space: int, damage: Damage, otherwise: str) -> None:
        self._known[tenant] = DamagedSpace(space, damage)
        log.error("the memory of a tenant is damaged and now read-only: %s", damage.why)
        try:
            with self._connect(NO_SPACE) as db:
                db.execute(f"{_NOTE}{otherwise}".encode(), (space, damage.extent, damage.why[:_MOST_CHARS]))
        except (psycopg.Error, PoolTimeout) as error:  # it is met again
            log.error("damage could not be recorded: %s", fault_of(error).message)
