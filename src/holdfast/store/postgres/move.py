"""A database as the source and as the target of a move; fulfils the ports of store/move.

Nothing is written to the source, not even a newer schema. In the target each tenant becomes live in a transaction of
its own: after a kill those that were moved are there, and the others are as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pgvector.psycopg import register_vector

from holdfast.core.errors import DataTooNew, InvalidSettings, NotFound
from holdfast.store.port import Finding
from holdfast.store.portable import FileVector
from holdfast.store.postgres.batch import FIRST
from holdfast.store.postgres.pool import EVERY_SPACE, Connection, Pool, View, connected, faults, moment
from holdfast.store.postgres.schema import AHEAD, known_steps, schema_of
from holdfast.store.postgres.shared.notices import Notice, notify
from holdfast.store.postgres.space_copy import capture, load, remove_space, stream, stream_vectors
from holdfast.store.postgres.store import PostgresStore

_TENANTS = (
    "SELECT tenant FROM tenants AS t WHERE EXISTS (SELECT 1 FROM tallies AS a WHERE a.space = t.live AND a.rows > 0) "
    "OR EXISTS (SELECT 1 FROM events AS e WHERE e.space = t.live) ORDER BY tenant"
)
_TAG = (
    "SELECT a.space, a.source, a.rows, a.sum FROM tenants AS t JOIN tallies AS a ON a.space = t.live "
    "WHERE t.tenant = %s AND a.rows > 0 ORDER BY a.source"
)


class _Reading:
    """The tenants of a database and their rows."""

    def __init__(self, pool: Pool):
        self._pool = pool

    def tenants(self) -> list[str]:
        with faults(), self._pool.connection(EVERY_SPACE) as db:
            return [tenant for (tenant,) in db.execute(_TENANTS)]

    def rows(self, tenant: str, table: str, columns: Sequence[str], order: str) -> Iterator[tuple[Any, ...]]:
        with self._space(tenant) as (db, space):
            yield from stream(db, table, columns, space, order)

    def vectors(self, tenant: str) -> Iterator[FileVector]:
        with self._space(tenant) as (db, space):
            yield from stream_vectors(db, space)

    @contextmanager
    def _space(self, tenant: str) -> Iterator[tuple[Connection, int]]:
        """One moment of a tenant's space; a tenant that has none has no rows in space 0."""
        with faults(), moment(self._pool) as view:
            row = view.db.execute("SELECT live FROM tenants WHERE tenant = %s", (tenant,)).fetchone()
            space = int(row[0]) if row else 0
            yield view.see(space), space


class DatabaseSource(_Reading):
    """A database that may be served meanwhile; whether it was written to is seen by the tags."""

    def __init__(self, url: str):
        """Connect to it.

        Raises:
            StoreUnreachable: it does not answer.
            NotFound: it holds no memory of Holdfast.
            DataTooNew, InvalidSettings: its schema is another one than this version's.
        """
        with connected(url) as db:  # before the pool, which tries again for a while if it cannot connect
            _check_schema(schema_of(db))
        super().__init__(Pool(url))

    def tag(self, tenant: str) -> str:
        with faults(), self._pool.connection(EVERY_SPACE) as db:
            return " ".join(str(value) for row in db.execute(_TAG, (tenant,)) for value in row)

    def records(self, tenant: str) -> int:
        with faults(), self._pool.connection(EVERY_SPACE) as db:
            return sum(row[2] for row in db.execute(_TAG, (tenant,)))

    def capture(self, into: Path, tenant: str) -> None:
        with faults(), moment(self._pool) as view:
            capture(view, into, tenant, check=False, whole=True)

    def close(self) -> None:
        self._pool.close()


def _check_schema(have: int) -> None:
    known = len(known_steps())
    if have == 0:
        raise NotFound("move: the database holds no memory of Holdfast", hint="Check the address.")
    if have > known + AHEAD:
        raise DataTooNew(f"move: the database has schema {have}, and this Holdfast knows up to {known}")
    if have < known:
        raise InvalidSettings(
            f"move: the database has schema {have}, and a move reads schema {known}",
            hint="Start a server of this version on it once, which brings it to this schema.",
        )


class DatabaseTarget(_Reading):
    """A database that gets a new space for each tenant."""

    durable = True  # what was put is live

    def __init__(self, url: str):
        """Connect to it, and bring it to this version's schema; faults as of `PostgresStore`."""
        self._store = PostgresStore(url, lambda event: None)
        super().__init__(self._store.pool)

    def put(self, file: Path, tenant: str) -> None:
        """Make a file the tenant's live memory, with its tokens; what was live before stays for one undo."""
        with connected(self._store.url) as db:
            register_vector(db)
            with db.transaction():
                row = db.execute(
                    "SELECT live, previous FROM tenants WHERE tenant = %s FOR UPDATE", (tenant,)
                ).fetchone()
                view = View(db)
                new = load(view, file, tenant, FIRST, whole=True)
                db.execute(
                    "INSERT INTO tenants (tenant, live, previous) VALUES (%s, %s, %s) ON CONFLICT (tenant) "
                    "DO UPDATE SET live = excluded.live, previous = excluded.previous",
                    (tenant, new, row[0] if row else None),
                )
                notify(db, Notice("switched", tenant=tenant))  # servers of the target know the space that was live
                if row and row[1] is not None:
                    remove_space(view.see(row[1]), row[1])

    def complete(self) -> None:
        """Nothing is to be done: what was put can be read."""

    def verify(self) -> list[Finding]:
        return self._store.verify()

    def finish(self) -> None:
        """Nothing is to be done: what was put is live."""

    def close(self) -> None:
        self._store.close()
