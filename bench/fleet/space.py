"""What rows take on the disk, by table and index."""

from __future__ import annotations

import psycopg

from fleet.database import DATABASE, Cluster

_RELATIONS = (
    "SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid) FROM pg_class AS c "
    "WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace ORDER BY pg_total_relation_size(c.oid) DESC"
)
LEAST = 10  # bytes a memory: smaller tables are put together


def space_of(server: Cluster, memories: int, name: str = DATABASE) -> list[tuple[str, str]]:
    """Bytes of a memory, by table: rows and indexes."""
    with psycopg.connect(server.url("postgres", database=name)) as db:
        found = [(table, rows / memories, keys / memories) for table, rows, keys in db.execute(_RELATIONS)]
    large = [one for one in found if one[1] + one[2] >= LEAST]
    total = sum(rows + keys for _, rows, keys in found)
    sizing = [("bytes of a memory on the disk, with its indexes", f"{total:,.0f}")]
    sizing += [(f"… `{table}`: rows / indexes", f"{rows:,.0f} / {keys:,.0f}") for table, rows, keys in large]
    return sizing
