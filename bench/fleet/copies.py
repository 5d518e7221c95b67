"""Many tenants out of a few: the rows of a space copied to other spaces inside the database, by its superuser.

The copies of one template are written row by row in turns, so that a tenant's rows lie scattered over the tables, as
they do when many tenants write. Records name their tenant and their checksum covers the name, so these are encoded anew
by the codec of the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import psycopg

from fleet.database import Cluster
from holdfast.store.postgres.space_copy import DERIVED
from holdfast.store.rows import shape_of
from holdfast.store.tables import MEMORIES

_OTHERS: dict[str, tuple[str, ...]] = {
    **DERIVED,
    "sketches": ("hash", "seq"),
    "vectors": ("seq", "part", "model", "dims", "hash", "numbers", "luck", "checksum"),
    "followed": ("source", "model", "upto"),
}
_SPACES = (
    "WITH made AS (INSERT INTO spaces (tenant, generation, last_seq) SELECT name, 'gen-000001', s.last_seq "
    "FROM spaces AS s CROSS JOIN unnest(%s::text[]) AS name WHERE s.space = %s RETURNING space, tenant), "
    "live AS (INSERT INTO tenants (tenant, live) SELECT tenant, space FROM made) SELECT space, tenant FROM made"
)


def copy_tenant(server: Cluster, template: str, names: Sequence[str]) -> None:
    """Give each of new tenants the memory of a template that has nothing but memories."""
    with psycopg.connect(server.url("postgres")) as db:
        db.execute("SET synchronous_commit = off")
        ((origin,),) = db.execute("SELECT live FROM tenants WHERE tenant = %s", (template,)).fetchall()
        spaces = dict(db.execute(_SPACES, (list(names), origin)).fetchall())
        targets = list(spaces)
        _copy_memories(db, origin, spaces)
        for name, columns in _OTHERS.items():
            listed = ", ".join(columns)
            sql = (
                f"INSERT INTO {name} (space, {listed}) SELECT g.space, {listed} FROM {name} AS r "
                f"CROSS JOIN unnest(%s::bigint[]) AS g(space) WHERE r.space = %s ORDER BY r.{columns[0]}, g.space"
            )
            db.execute(sql.encode(), (targets, origin))


def _copy_memories(db: psycopg.Connection[Any], origin: int, spaces: dict[int, str]) -> None:
    shape = shape_of(MEMORIES)
    columns = ", ".join(shape.columns)
    rows = db.execute(f"SELECT {columns} FROM memories WHERE space = %s ORDER BY seq".encode(), (origin,)).fetchall()
    totals = dict.fromkeys(spaces, 0)
    with db.cursor() as cursor, cursor.copy(f"COPY memories (space, {columns}, checksum) FROM STDIN".encode()) as copy:
        for space, row in _renamed(rows, spaces, shape.columns.index("tenant")):
            checksum = shape.checksum(row)
            totals[space] += checksum
            copy.write_row((space, *row, checksum))
    tallies = [(space, "memories", len(rows), total) for space, total in totals.items()]
    with db.cursor() as cursor:
        cursor.executemany("INSERT INTO tallies VALUES (%s, %s, %s, %s)", tallies)


def _renamed(rows: Sequence[tuple[Any, ...]], spaces: dict[int, str], place: int) -> Iterator[tuple[int, list[Any]]]:
    for row in rows:
        for space, tenant in spaces.items():
            yield space, [*row[:place], tenant, *row[place + 1 :]]
