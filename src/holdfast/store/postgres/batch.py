"""One transaction of several jobs: which spaces it has locked, and the numbers that it gives out in them.

A space's row is locked before its first number is given and until the commit. So a reader that sees a number sees every
smaller one of that space, however many servers write.

Two servers that wait for each other's spaces would wait until the database ends one of them, a second later. So a
transaction waits for a space only in the order of the tenants' names; one out of order it takes if that is free, and
otherwise the job is run again, alone in another transaction that waits for what it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import Any

import psycopg
from psycopg import errors, sql

from holdfast.core.errors import DataReadOnly, Fault, Restoring
from holdfast.store.port import Usage
from holdfast.store.postgres.damage.damaged_spaces import LIVE, DamagedSpaces, damage_in
from holdfast.store.postgres.pool import EVERY_SPACE, Connection, View
from holdfast.store.quota.usage_change import Growth

FIRST = "gen-000001"  # the generation of a memory that was never restored

_LIVE = f"{LIVE} FOR SHARE OF t NOWAIT"
_LOCK = "SELECT last_seq, watched_until > clock_timestamp() FROM spaces WHERE space = %s FOR UPDATE"
# All at once, each row by its key: a round trip for each would keep the locks for longer.
_LAST = (
    "UPDATE spaces AS s SET last_seq = g.last FROM unnest(%s::bigint[], %s::bigint[]) AS g(space, last) "
    "WHERE s.space = g.space RETURNING pg_current_xact_id()::text"
)
_TALLY = (
    "INSERT INTO tallies SELECT * FROM unnest(%s::bigint[], %s::text[], %s::bigint[], %s::numeric[]) "
    "ON CONFLICT (space, source) DO UPDATE "
    "SET rows = tallies.rows + excluded.rows, sum = tallies.sum + excluded.sum"
)


class Batch:
    """The state of one open transaction; used by one thread."""

    def __init__(self, db: Connection, damaged: DamagedSpaces | None = None, *, patient: bool = False):
        """`patient`: wait for spaces out of their order as well. `damaged` knows those that take no writes."""
        self.db = db
        self._damaged = damaged
        self.mends = False  # the job that runs repairs: it may write where others may not
        self.met: list[tuple[str, int, str]] = []  # damage that its jobs met, to be noted once it has ended
        self._refusals: dict[str, DataReadOnly] = {}  # of tenants whose memory is damaged
        self.view = View(db)
        self._spaces: dict[str, int] = {}
        self._last: dict[int, int] = {}
        self._watched: set[int] = set()
        self.growth = Growth()
        self.stored_usage: dict[str, Usage] = {}  # of tenants that were asked for: see usage.py
        self._waits = True
        self._patient = patient
        self._changed: psycopg.Cursor[tuple[Any, ...]] | None = None

    def existing(self, tenant: str, *, derived: bool = False) -> int | None:
        """The tenant's space, locked until the transaction ends; None if it has none yet. `derived`: for what follows
        from the records, which is written of a damaged memory as well."""
        space = self._spaces.get(tenant)
        found = self._live(tenant) if space is None else space
        if tenant in self._refusals and not (derived or self.mends):
            raise copy(self._refusals[tenant])
        return self._lock(tenant, found) if space is None and found is not None else space

    def take_no_turn(self) -> None:
        """From now on wait for no space: rows are locked whose spaces are not."""
        self._waits = False

    def locked(self, tenant: str, *, derived: bool = False) -> int:
        """The same, made if there is none."""
        space = self.existing(tenant, derived=derived)
        return self._lock(tenant, self._make(tenant)) if space is None else space

    def next_seq(self, tenant: str) -> int:
        space = self.locked(tenant)
        self._last[space] += 1
        return self._last[space]

    def known(self, tenant: str) -> int | None:
        """The tenant's space if this transaction has locked it already."""
        return self._spaces.get(tenant)

    def given(self) -> dict[str, int]:
        """The last number by tenant, of all that are locked."""
        return {tenant: self._last[space] for tenant, space in self._spaces.items()}

    def is_watched(self, space: int) -> bool:
        """Whether a server has live readers of a space that is locked."""
        return space in self._watched

    def _lock(self, tenant: str, space: int) -> int:
        in_turn = self._patient or (self._waits and all(tenant > held for held in self._spaces))
        try:
            with self.db.pipeline():  # with the name of the space in one round trip
                db = self.view.see(space)
                row = db.execute(_LOCK if in_turn else f"{_LOCK} NOWAIT".encode(), (space,)).fetchone()
        except (errors.LockNotAvailable, errors.DeadlockDetected) as error:
            fault = Restoring("write: another server holds this memory, perhaps to restore it")
            fault.out_of_turn = not in_turn or isinstance(error, errors.DeadlockDetected)
            raise fault from error
        if row is None:
            raise Fault("store: the space of a tenant is gone", hint="Restore a snapshot.")
        self._last[space] = int(row[0])
        if row[1]:
            self._watched.add(space)
        self._spaces[tenant] = space
        return space

    def _make(self, tenant: str) -> int:
        """A space for a new tenant; two servers may create it at once, and one of them wins."""
        space = new_space(self.view, tenant, FIRST, 0)
        self.db.execute("INSERT INTO tenants VALUES (%s, %s) ON CONFLICT DO NOTHING", (tenant, space))
        live = self._live(tenant) or space
        if live != space:
            self.db.execute("DELETE FROM spaces WHERE space = %s", (space,))
        return live

    def _live(self, tenant: str) -> int | None:
        """The tenant's space. Its row is shared by writers: an exchange waits for them, and they are refused while it
        holds the row alone."""
        try:
            found = self.db.execute(_LIVE, (tenant,)).fetchone()
        except errors.LockNotAvailable as error:
            raise Restoring("write: this memory is being exchanged") from error
        if found is None:
            return None
        space, extent, why = found
        if self._damaged is not None:
            self._damaged.saw(tenant, space, damage_in(extent, why))
            if (refusal := self._damaged.refusal(tenant)) is not None:
                self._refusals[tenant] = refusal
        return int(space)

    @contextmanager
    def savepoint(self, name: str) -> Iterator[None]:
        """Undo what the block did if it fails. Locks that it took go with it, and with them what they made true."""
        before, grown, usage = dict(self._spaces), self.growth.mark(), dict(self.stored_usage)
        mark = sql.Identifier(name)
        self.db.execute(sql.SQL("SAVEPOINT {}").format(mark))
        try:
            yield
        except BaseException:
            self.db.execute(sql.SQL("ROLLBACK TO {}").format(mark))
            self.db.execute(sql.SQL("RELEASE {}").format(mark))
            self._spaces, self.stored_usage = before, usage
            self.growth.go_back(grown)
            self.view.forget()
            raise
        self.db.execute(sql.SQL("RELEASE {}").format(mark))

    def record(self, tallies: Iterable[Mapping[tuple[int, str], tuple[int, int]]]) -> None:
        """Write the counters and the tallies of all jobs, in the same transaction."""
        total: dict[tuple[int, str], tuple[int, int]] = {}
        for one in tallies:
            for key, (rows, checksums) in one.items():
                have = total.get(key, (0, 0))
                total[key] = (have[0] + rows, have[1] + checksums)
        spaces = list(self._spaces.values())
        with self.db.pipeline():
            db = self.view.see(spaces[0] if len(spaces) == 1 else EVERY_SPACE)
            if spaces:
                self._changed = db.execute(_LAST, (spaces, [self._last[space] for space in spaces]))
            if total:
                counted = [(*key, *value) for key, value in sorted(total.items())]
                db.execute(_TALLY, [list(column) for column in zip(*counted, strict=True)])

    def number(self) -> tuple[str, str] | None:
        """The number of the transaction once all is recorded, with the timeline that gave it out; None if it has
        written nothing."""
        asked = self._changed or self.db.execute("SELECT pg_current_xact_id_if_assigned()::text")
        row = asked.fetchone()
        return None if row is None or row[0] is None else (row[0], self.db.timeline)


def new_space(view: View, tenant: str, generation: str, last_seq: int) -> int:
    """A space without rows, which the view sees from now on."""
    made = (
        view.see(EVERY_SPACE)
        .execute(
            "INSERT INTO spaces (tenant, generation, last_seq) VALUES (%s, %s, %s) RETURNING space",
            (tenant, generation, last_seq),
        )
        .fetchone()
    )
    if made is None:
        raise Fault("store: no space could be made")
    view.see(int(made[0]))
    return int(made[0])
