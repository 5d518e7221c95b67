"""Statements over connections that the caller gives: a pool's, one read transaction's, or a write's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from psycopg_pool import PoolTimeout

from holdfast.core.errors import StoreUnreachable
from holdfast.store.postgres.pool import ANY_SPACE, NO_SPACE, Connect, Space, faults

Row = tuple[Any, ...]
T = TypeVar("T")


class Session:
    """Runs statements, each on a connection of its own unless the connections are one. A statement sees the rows of the
    space that the caller names, whatever its condition says."""

    def __init__(self, connect: Connect, *, alone: bool = False):
        """`alone`: the connections are one that has a transaction open."""
        self._connect = connect
        self._alone = alone
        self._spaces: dict[str, int] = {}

    def rows(self, sql: str, values: Sequence[Any], space: Space = NO_SPACE) -> list[Row]:
        def read() -> list[Row]:
            with faults(), self._connect(space) as db:
                return db.execute(sql.encode(), values, binary=True).fetchall()

        return self._twice(read)

    def _twice(self, read: Callable[[], T]) -> T:
        """What a read finds, on another connection if the first was lost. Inside a transaction there is no other."""
        try:
            return read()
        except StoreUnreachable as fault:
            if self._alone or isinstance(fault.__cause__, PoolTimeout):
                raise
            return read()

    def run(self, sql: str, values: Sequence[Any], space: Space = NO_SPACE) -> int:
        """How many rows a statement changed."""
        with faults(), self._connect(space) as db:
            return db.execute(sql.encode(), values).rowcount

    def run_many(self, sql: str, many: Sequence[Sequence[Any]], space: Space = NO_SPACE) -> None:
        if not many:
            return
        with faults(), self._connect(space) as db, db.cursor() as cursor:
            cursor.executemany(sql.encode(), many)

    def space_of(self, tenant: str) -> int | None:
        """The space that is the tenant's memory, the same as long as this session is used; None if it has none yet."""
        known = self._spaces.get(tenant)
        if known is None:
            rows = self.rows("SELECT live FROM tenants WHERE tenant = %s", (tenant,), ANY_SPACE)
            if not rows:
                return None
            known = self._spaces[tenant] = int(rows[0][0])
        return known
