"""The schema on PostgreSQL: roles, steps that are taken once and under writes, and plans that stay in one space."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from patience import until
from postgres_cluster import Cluster, cluster
from postgres_server import as_admin, copy_known_rows, empty_schema, give_back, new_schema
from sample_records import TENANT, add, sample
from world import World

from holdfast.cli.main import main
from holdfast.core.errors import NotFound, StoreForbidden
from holdfast.store.port import Store
from holdfast.store.postgres.pool import Connection
from holdfast.store.postgres.schema import Step, known_steps, migrate
from holdfast.store.postgres.store import PostgresStore
from holdfast.store.rows import shape_of
from holdfast.store.tables import MEMORIES, NOTES, TABLES

# A step as later versions will have them: what the version before does not know, and need not.
ADDS = Step(
    "ALTER TABLE notes ADD COLUMN weight double precision NOT NULL DEFAULT 1;"
    "CREATE TABLE later (space bigint NOT NULL, name text NOT NULL, PRIMARY KEY (space, name))"
)
INDEX = Step("-- concurrently\nCREATE INDEX CONCURRENTLY IF NOT EXISTS notes_by_time ON notes (space, updated_at);\n")


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


@pytest.fixture
def opened() -> Iterator[Callable[[str], PostgresStore]]:
    with ExitStack() as stack:

        def open_store(url: str) -> PostgresStore:
            store = PostgresStore(url, lambda event: None)
            stack.callback(store.close)
            return store

        yield open_store


def note(store: Store, id: str) -> None:
    store.write(lambda tx: tx.add(NOTES, sample(NOTES, id, tx.next_seq(TENANT))))


def steps_taken(url: str) -> list[int]:
    with psycopg.connect(url) as db:
        return [step for (step,) in db.execute("SELECT step FROM holdfast_schema ORDER BY step")]


def migrated(url: str, steps: list[Step]) -> int:
    with Connection.connect(url, autocommit=True) as db:
        return migrate(db, steps)


# Roles


def test_a_role_without_ddl_serves_what_the_owner_made(
    server: Cluster, opened: Callable[[str], PostgresStore], capsys: pytest.CaptureFixture[str]
) -> None:
    server.execute("CREATE ROLE app LOGIN", "CREATE DATABASE shared OWNER holdfast")
    owner, app = server.url(database="shared"), server.url("app", database="shared")
    with pytest.raises(StoreForbidden):
        opened(app)
    assert main(["migrate", "--store", owner, "--grant", "app", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": len(known_steps())}
    store = opened(app)
    note(store, "written by the role that serves")
    assert store.verify() == []
    with psycopg.connect(app) as db, pytest.raises(psycopg.errors.InsufficientPrivilege):
        db.execute("CREATE TABLE mine (id bigint)")
    migrated(owner, [*known_steps(), ADDS])
    note(opened(app), "after a step that the owner took")


def test_a_role_that_does_not_exist_is_granted_nothing(server: Cluster) -> None:
    server.execute("CREATE DATABASE ungranted OWNER holdfast")
    url = server.url(database="ungranted")
    assert main(["migrate", "--store", url, "--grant", "no_such_role"]) == NotFound.exit_code


# Steps


def test_servers_that_start_together_take_each_step_once() -> None:
    url, steps = empty_schema(), [*known_steps(), ADDS, INDEX]
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda _: migrated(url, steps), range(6)))
    assert found == [len(steps)] * 6
    assert steps_taken(url) == list(range(1, len(steps) + 1))


def test_a_step_that_fails_leaves_the_schema_as_it_was() -> None:
    url, steps = empty_schema(), known_steps()
    migrated(url, steps)
    broken = Step("CREATE TABLE half (space bigint PRIMARY KEY); SELECT 1 / 0")
    with pytest.raises(Exception, match="PostgreSQL refused"):
        migrated(url, [*steps, broken])
    assert steps_taken(url) == list(range(1, len(steps) + 1))
    assert migrated(url, [*steps, ADDS]) == len(steps) + 1


def test_an_index_whose_making_was_cut_short_is_made_anew(opened: Callable[[str], PostgresStore]) -> None:
    url = empty_schema()
    note(opened(url), "n1")
    with psycopg.connect(as_admin(url), autocommit=True) as db:
        db.execute("CREATE INDEX notes_by_time ON notes (space, updated_at)")
        db.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'notes_by_time'::regclass")
    migrated(url, [*known_steps(), INDEX])
    with psycopg.connect(url) as db:
        sql = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'notes_by_time'::regclass"
        assert db.execute(sql).fetchall() == [(True,)]


def test_the_version_before_goes_on_writing_while_a_step_is_taken(opened: Callable[[str], PostgresStore]) -> None:
    url = empty_schema()
    before = [opened(url) for _ in range(3)]
    note(before[0], "there before")
    ended, written = threading.Event(), [0, 0, 0]

    def keep_writing(number: int) -> None:
        while not ended.is_set():
            note(before[number], f"w{number}-{written[number]}")
            written[number] += 1

    with ThreadPoolExecutor(3) as threads:
        writers = [threads.submit(keep_writing, number) for number in range(3)]
        try:
            until(lambda: all(written), "each has written")
            migrated(url, [*known_steps(), ADDS, INDEX][: len(known_steps()) + 1])
            then = list(written)
            until(lambda: all(now > had for now, had in zip(written, then, strict=True)), "each writes after it")
        finally:
            ended.set()
        for writer in writers:
            writer.result()
    again = opened(url)  # a server of the version before may also start
    assert again.read().count(NOTES, TENANT) == sum(written) + 1
    assert again.verify() == []


class EarlierWriter:
    """Writes notes as a server of an earlier schema does, until it is told to stop."""

    def __init__(self, url: str):
        self._url = url
        self._stop = threading.Event()
        self.written = 0

    def run(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as db:
            while not self._stop.is_set():
                with suppress(psycopg.errors.DeadlockDetected), db.transaction():  # a step may come between: once more
                    self._write(db)
                    self.written += 1

    def _write(self, db: psycopg.Connection[tuple[Any, ...]]) -> None:
        ((space,),) = db.execute("SELECT live FROM tenants WHERE tenant = %s", (TENANT,)).fetchall()
        db.execute("SELECT set_config('holdfast.space', %s, true)", (str(space),))
        ((last,),) = db.execute("SELECT last_seq FROM spaces WHERE space = %s FOR UPDATE", (space,)).fetchall()
        shape = shape_of(NOTES)
        values = shape.encode(sample(NOTES, f"w{self.written}", last + 1))
        marks = ", ".join(["%s"] * (len(values) + 2))
        into = f"INSERT INTO notes (space, {', '.join(shape.columns)}, checksum) VALUES ({marks})"
        db.execute(into.encode(), (space, *values, shape.checksum(values)))
        db.execute("UPDATE spaces SET last_seq = %s WHERE space = %s", (last + 1, space))
        tally = "UPDATE tallies SET rows = rows + 1, sum = sum + %s WHERE space = %s AND source = 'notes'"
        db.execute(tally, (shape.checksum(values), space))

    def stop(self) -> None:
        self._stop.set()


@pytest.mark.parametrize("steps", range(2, len(known_steps())))
def test_the_data_of_an_earlier_schema_is_upgraded_under_writes(
    opened: Callable[[str], PostgresStore], steps: int
) -> None:
    current, earlier = empty_schema(), empty_schema()
    store = opened(current)
    for table in TABLES:
        add(store, table)
    with patch("holdfast.store.postgres.schema._check"):  # tables of later steps are not there yet
        migrated(earlier, known_steps()[:steps])
    copy_known_rows(current, earlier)
    writer = EarlierWriter(earlier)
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(writer.run)
        try:
            until(lambda: writer.written > 2 or running.done(), "it writes before")
            upgraded = opened(earlier)  # takes the steps
            then = writer.written
            until(lambda: writer.written > then + 2 or running.done(), "it writes after")
        finally:
            writer.stop()
        running.result()
    assert steps_taken(earlier) == list(range(1, len(known_steps()) + 1))
    assert upgraded.verify() == []
    assert upgraded.read().count(NOTES, TENANT) == writer.written + 1
    assert len(upgraded.read().find(MEMORIES, TENANT)) == 1
    note(upgraded, "by this version")


def test_a_step_waits_for_a_long_transaction_without_holding_up_writers(opened: Callable[[str], PostgresStore]) -> None:
    url = empty_schema()
    store = opened(url)
    note(store, "n1")
    pauses: list[float] = []
    with psycopg.connect(url) as reader:
        reader.execute("SELECT count(*) FROM notes")  # and its transaction stays open

        def pause(seconds: float) -> None:
            """Between two tries nothing waits for the step."""
            pauses.append(seconds)
            note(store, f"while it waits {len(pauses)}")
            if len(pauses) == 2:
                reader.rollback()

        with Connection.connect(url, autocommit=True) as db:
            assert migrate(db, [*known_steps(), ADDS], pause) == len(known_steps()) + 1
    assert len(pauses) == 2


# The catalog


def test_every_key_begins_with_the_space() -> None:
    """Constraints and unique indexes alike: Citus distributes by the space."""
    url = new_schema()
    PostgresStore(url, lambda event: None).close()
    constraints = (
        "SELECT c.conrelid::regclass::text, a.attname FROM pg_constraint AS c JOIN pg_attribute AS a "
        "ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] WHERE c.contype IN ('p', 'u', 'f', 'x') "
        "AND c.connamespace = current_schema()::regnamespace"
    )
    indexes = (
        "SELECT i.indrelid::regclass::text, a.attname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid "
        "LEFT JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] "
        "WHERE i.indisunique AND c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'"
    )
    with psycopg.connect(url) as db:
        first = [*db.execute(constraints), *db.execute(indexes)]
    give_back(url)
    others = {table.split(".")[-1] for table, column in first if column != "space"}
    # Which space is a tenant's, whether it is damaged, and which steps were taken, is read before a space is known.
    assert others == {"tenants", "damaged_spaces", "holdfast_schema"}
    assert len(first) > 60


def test_the_guide_to_citus_names_every_table() -> None:
    """Tables with a space are distributed by it; the others are named, or some statement would not find them."""
    url = new_schema()
    PostgresStore(url, lambda event: None).close()
    sql = (
        "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' "
        "AND NOT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = c.oid AND attname = 'space' AND NOT attisdropped)"
    )
    with psycopg.connect(url) as db:
        without = {name for (name,) in db.execute(sql)}
    give_back(url)
    guide = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text("utf-8")
    assert without == {*re.findall(r"create_reference_table\('(\w+)'\)", guide), "holdfast_schema"}


# Plans


# Statements that are about all tenants, by their beginnings: queues of background work, which token this is, vectors of
# the same text, counts, and what is left of spaces that were replaced.
ACROSS = (
    "SELECT t.tenant, o.source, o.seq, o.ticket FROM outbox",
    "SELECT count(*) FROM outbox WHERE space IN (SELECT live FROM tenants)",
    "SELECT t.tenant, t.live, source.name",
    "SELECT space, seq, numbers FROM vectors WHERE hash = %s",
    "DELETE FROM followed",
    "SELECT r.tenant, r.id, r.seq, r.name, r.secret_hash",
    "SELECT place, tenant, agent, kind, body FROM events WHERE place > %s",
    "SELECT count(*) FROM events",
    "DELETE FROM events WHERE place <= %s",
    "SELECT source, sum(rows)::bigint FROM tallies",
    "SELECT tenant FROM tenants AS t WHERE EXISTS",
    "SELECT coalesce(sum(s.last_seq), 0)::bigint FROM tenants",
    "SELECT t.tenant, s.last_seq FROM tenants",
    "SELECT t.tenant, t.live FROM tenants AS t LEFT JOIN word_states",
    "SELECT s.space FROM spaces AS s JOIN tenants",
)


class Recorder:
    """Every statement that is run, with values that it was run with."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.seen: dict[str, Any] = {}
        execute, many = psycopg.Cursor.execute, psycopg.Cursor.executemany

        def recorded(cursor: Any, query: Any, params: Any = None, **more: Any) -> Any:
            self._note(query, params)
            return execute(cursor, query, params, **more)

        def recorded_many(cursor: Any, query: Any, params: Any, **more: Any) -> Any:
            listed = list(params)
            if listed:
                self._note(query, listed[0])
            return many(cursor, query, listed, **more)

        monkeypatch.setattr(psycopg.Cursor, "execute", recorded)
        monkeypatch.setattr(psycopg.Cursor, "executemany", recorded_many)

    def _note(self, query: Any, params: Any) -> None:
        sql = query.decode() if isinstance(query, bytes) else query if isinstance(query, str) else ""
        planned = sql.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH"))
        if planned and not any(word in sql for word in ("pg_", "staged", "set_config", "current_s")):
            self.seen.setdefault(sql, params)


def scans(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "Relation Name" in node and "Scan" in node["Node Type"]:
        yield node
    for below in node.get("Plans", ()):
        yield from scans(below)


def crosses(db: psycopg.Connection[tuple[Any, ...]], sql: str, values: Any, tables: set[str]) -> list[str]:
    """Tables of tenants that the plan of a statement reads without a condition on their space."""
    row = db.execute(b"EXPLAIN (FORMAT JSON) " + sql.encode(), values).fetchone()
    assert row is not None
    found = []
    for node in scans(row[0][0]["Plan"]):
        conditions = " ".join(str(node.get(name, "")) for name in ("Index Cond", "Filter", "Recheck Cond"))
        if node["Relation Name"] in tables and "space = " not in conditions:
            below = [child for child in node.get("Plans", ()) if "space = " in str(child.get("Index Cond", ""))]
            if not below:
                found.append(node["Relation Name"])
    return found


def as_in_a_fleet(db: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Of a few rows the planner reads all or uses an index, as statistics happen to be. Of many it uses the index."""
    db.execute(
        "INSERT INTO spaces (tenant, generation, last_seq) SELECT 'stranger ' || n, '', 0 FROM generate_series(1, 2000) AS n"
    )
    db.execute("INSERT INTO tenants (tenant, live) SELECT tenant, space FROM spaces WHERE tenant LIKE 'stranger %'")
    db.execute("ANALYZE")
    for way in ("seqscan", "hashjoin", "mergejoin"):
        db.execute(f"SET enable_{way} = off")


def test_no_plan_crosses_spaces_but_those_that_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = new_schema()
    record = Recorder(monkeypatch)
    world = World(tmp_path / "here", store=url)
    for number in range(12):
        world.call("remember", content=f"the amber cabinet number {number} holds basalt keys", project="p")
    world.follow()
    world.call("search", query="amber cabinet")
    world.call("memories", project="p")
    world.call("lesson_save", content="always measure before tuning")
    world.call("token_create", name="t")
    id = world.call("snapshot_create")["id"]
    world.call("snapshot_restore", id=id, yes=True)
    world.call("verify")
    world.call("overview", days=1)
    world.call("forget", memoryId=world.call("memories")["memories"][0]["id"])
    world.engine.store.compact_words(least=1)
    world.close()
    monkeypatch.undo()
    with psycopg.connect(as_admin(url)) as db:  # without row security, so that the statement's own condition counts
        rows = db.execute("SELECT attrelid::regclass::text FROM pg_attribute WHERE attname = 'space' AND attnum > 0")
        tables = {name.split(".")[-1] for (name,) in rows}
        db.execute("CREATE TEMPORARY TABLE staged AS SELECT 1")
        as_in_a_fleet(db)
        assert crosses(db, "SELECT content FROM memories WHERE project = %s", ("p",), tables) == ["memories"]
        found = {sql: crosses(db, sql, values, tables) for sql, values in record.seen.items()}
    give_back(url)
    assert len(found) > 60
    assert {sql: names for sql, names in found.items() if names and not sql.startswith(ACROSS)} == {}
