"""The wall between tenants on PostgreSQL: row security behind the condition of every statement, and the catalog."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from postgres_server import as_admin, empty_schema
from sample_records import TENANT, add, sample

from holdfast.store.postgres.pool import EVERY_SPACE, NO_SPACE, Connection
from holdfast.store.postgres.schema import Step, is_held_by_wall, known_steps, migrate, open_tables
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.tables import MEMORIES, NOTES, TABLES

# Which space is a tenant's, whether it is damaged, and which steps were taken, is read before a space is known.
WITHOUT_SPACE = {"tenants", "damaged_spaces", "holdfast_schema"}


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    made = PostgresStore(url, lambda event: None)
    yield made
    made.close()


def space_of(url: str, tenant: str) -> int:
    with psycopg.connect(url) as db:
        row = db.execute("SELECT live FROM tenants WHERE tenant = %s", (tenant,)).fetchone()
    assert row is not None
    return int(row[0])


def contents(db: psycopg.Connection[tuple[str, ...]]) -> list[str]:
    return [content for (content,) in db.execute("SELECT content FROM memories ORDER BY content")]


def two_tenants(store: PostgresStore) -> None:
    add(store, MEMORIES, "m1", content="amber")
    other = sample(MEMORIES, "m2", 1, tenant="other", content="basalt")
    store.write(lambda tx: tx.next_seq("other") and tx.add(MEMORIES, other))


def test_a_statement_that_forgets_its_condition_sees_one_tenant(url: str, store: PostgresStore) -> None:
    two_tenants(store)
    seen = {}
    for space in (NO_SPACE, space_of(url, TENANT), space_of(url, "other"), EVERY_SPACE):
        with store.pool.connection(space) as db:
            seen[space] = contents(db)
    assert list(seen.values()) == [[], ["amber"], ["basalt"], ["amber", "basalt"]]


def test_a_connection_that_names_no_space_reads_and_changes_nothing(url: str, store: PostgresStore) -> None:
    two_tenants(store)
    with psycopg.connect(url) as db:
        assert contents(db) == []
        assert db.execute("UPDATE memories SET content = 'forged'").rowcount == 0
        assert db.execute("DELETE FROM memories").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("INSERT INTO recalls VALUES (1, 1, 1, 1)")
    assert store.verify() == []


def test_the_name_of_a_space_ends_with_its_use(url: str, store: PostgresStore) -> None:
    two_tenants(store)
    with store.pool.connection(space_of(url, TENANT)) as db:
        assert contents(db) == ["amber"]
    with store.pool.connection() as db:  # the same connection, taken again
        assert contents(db) == []


def test_a_write_sees_the_tenant_of_each_statement(url: str, store: PostgresStore) -> None:
    two_tenants(store)
    with pytest.raises(psycopg.errors.InsufficientPrivilege), store.pool.connection(space_of(url, "other")) as db:
        db.execute("UPDATE memories SET space = %s", (space_of(url, TENANT),))
    assert store.verify() == []


def test_every_table_of_tenants_stands_behind_the_wall(url: str, store: PostgresStore) -> None:
    sql = "SELECT tablename, rowsecurity FROM pg_tables WHERE schemaname = current_schema()"
    with Connection.connect(url) as db:
        assert open_tables(db) == []
        rows = dict(db.execute(sql).fetchall())
    assert {name for name, secure in rows.items() if not secure} == WITHOUT_SPACE
    assert {table.name for table in TABLES} < rows.keys()


def test_a_table_that_a_later_step_adds_gets_the_wall() -> None:
    with Connection.connect(empty_schema(), autocommit=True) as db:
        later = Step("CREATE TABLE later (space bigint NOT NULL, name text NOT NULL, PRIMARY KEY (space, name))")
        migrate(db, [*known_steps(), later])
        assert open_tables(db) == []
        assert db.execute("SELECT relforcerowsecurity FROM pg_class WHERE oid = 'later'::regclass").fetchone() == (
            True,
        )


def test_a_superuser_is_known_to_pass_the_wall(url: str, store: PostgresStore) -> None:
    two_tenants(store)
    with Connection.connect(url) as held, Connection.connect(as_admin(url)) as admin:
        assert (is_held_by_wall(held), is_held_by_wall(admin)) == (True, False)
        assert contents(admin) == ["amber", "basalt"]


def test_records_of_one_batch_are_written_for_their_own_tenants(store: PostgresStore) -> None:
    def job(tx):  # type: ignore[no-untyped-def]
        for tenant in ("a", "b", "a"):
            seq = tx.next_seq(tenant)
            tx.add(NOTES, sample(NOTES, f"n{seq}", seq, tenant=tenant))
            assert [one.id for one in tx.find(NOTES, tenant, order="seq")] == [f"n{n}" for n in range(1, seq + 1)]

    store.write(job)
    assert store.verify() == []
