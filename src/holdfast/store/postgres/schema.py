"""The steps that bring a database to this version's shape, taken once however many servers start, and the wall between
tenants.

A step is a file of `migrations/`. The servers of the version before go on working while it is taken and after it, so a
step adds what they need not know, and what they still need is removed by a later one. It must not hold locks for long:
an index on a table that has rows is made by a step whose first line is `-- concurrently`.

The wall: every table with a column `space` has row security, for its owner as well. A connection sees the rows of the
space that it names (pool.py) and none if it names none, also where a statement forgets its condition. Superusers and
roles with BYPASSRLS are not held by it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources

from psycopg import errors, sql

from holdfast.core.errors import NotFound, StoreForbidden, StoreForeign, StoreTooNew, StoreUnreachable, StoreUnsuited
from holdfast.store.postgres.pool import Connection, faults
from holdfast.store.rows import shape_of
from holdfast.store.tables import TABLES

_LOCK = 0x484F4C44  # "HOLD": the advisory lock of migrations
_MARK = "holdfast_schema"  # the table that lists which steps were taken; without it the database is new or another's
_CONCURRENTLY = "-- concurrently"
AHEAD = 1  # so many steps a database may have that this version does not know
# A step that waits for a table makes all that come after it wait as well: it gives up soon, and tries again.
_LOCK_WAIT = "2s"
_TRIES, _PAUSE_SECONDS = 60, 0.5
_TURNS, _TURN_SECONDS = 3_000, 0.1  # for another server that takes the steps

_POLICY = "one_space"
# In sub-selects, so that the setting is read once for each statement and not for each row.
_VISIBLE = (
    "(SELECT current_setting('holdfast.space', true) = '*') OR "
    "space = (SELECT nullif(nullif(current_setting('holdfast.space', true), ''), '*')::bigint)"
)
_OPEN_TABLES = """
SELECT c.relname FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'space' AND NOT a.attisdropped
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT (
    c.relrowsecurity AND c.relforcerowsecurity
    AND EXISTS (SELECT 1 FROM pg_policy AS p WHERE p.polrelid = c.oid AND p.polname = %s)
) ORDER BY 1
"""
_TABLES = "pg_class AS c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')"
_COLUMNS = (
    "SELECT c.relname, a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid "
    "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0"
)
_HALF_INDEXES = (
    "SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid "
    "WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace"
)
_UNUSABLE = (
    f"SELECT c.relname FROM {_TABLES} AND c.relname <> %s AND NOT ("
    + " AND ".join(f"has_table_privilege(c.oid, '{one}')" for one in ("SELECT", "INSERT", "UPDATE", "DELETE"))
    + ") ORDER BY 1"
)


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the schema."""

    sql: str

    @property
    def alone(self) -> bool:
        """Whether its statements are run one by one, outside of a transaction; each may then be run a second time."""
        return self.sql.startswith(_CONCURRENTLY)


def known_steps() -> list[Step]:
    folder = resources.files("holdfast.store.postgres") / "migrations"
    files = sorted((one for one in folder.iterdir() if one.name.endswith(".sql")), key=lambda one: one.name)
    return [Step(one.read_text(encoding="utf-8")) for one in files]


def migrate(db: Connection, steps: Sequence[Step] | None = None, sleep: Callable[[float], None] = time.sleep) -> int:
    """Bring the schema to this version; a kill leaves it at one of the steps. The schema it has now.

    Raises:
        StoreTooNew: a newer Holdfast wrote it.
        StoreForeign: the database holds something else.
        StoreUnsuited: the server has no pgvector.
        StoreForbidden: the role may not change the schema, or may not use its tables.
        StoreUnreachable: other sessions hold its tables, or another server has not ended its steps.
    """
    steps = known_steps() if steps is None else steps
    with faults():
        have = schema_of(db)
        if have < len(steps):
            have = _change(db, have, steps, sleep)
        if have > len(steps) + AHEAD:
            raise StoreTooNew(f"store: schema {have} is not known to this Holdfast (it knows up to {len(steps)})")
        if have >= len(known_steps()):  # a part of the steps makes a part of the tables
            _check(db)
    return have


def _change(db: Connection, have: int, steps: Sequence[Step], sleep: Callable[[float], None]) -> int:
    try:
        return _Migration(db, steps, sleep).alone()
    except (errors.InsufficientPrivilege, errors.InvalidSchemaName) as error:
        raise StoreForbidden(
            f"store: the database has schema {have}, {len(steps)} is needed, and the role may not change it",
            hint="Run holdfast migrate once with the address of the role that owns the tables (docs/postgres.md).",
        ) from error
    except (errors.UndefinedTable, errors.UndefinedColumn, errors.DuplicateTable, errors.DuplicateColumn) as error:
        raise StoreForeign(f"store: the tables are not those that Holdfast made up to schema {have}") from error


def _check(db: Connection) -> None:
    """Whether the tables are those of a store, and the role may use them; otherwise some request would find out."""
    found: dict[str, set[str]] = {}
    for name, column in db.execute(_COLUMNS).fetchall():
        found.setdefault(name, set()).add(column)
    for table in TABLES:
        if not {"space", "checksum", *shape_of(table).columns} <= found.get(table.name, set()):
            raise StoreForeign(f"store: the table {table.name} is not the one that Holdfast made")
    closed = [name for (name,) in db.execute(_UNUSABLE, (_MARK,)).fetchall()]
    if closed:
        raise StoreForbidden(f"store: the role may not read and write {len(closed)} tables, {closed[0]} among them")


@dataclass(frozen=True, slots=True)
class _Migration:
    db: Connection
    steps: Sequence[Step]
    sleep: Callable[[float], None]

    def alone(self) -> int:
        """Take the steps while no other server does. A server that waits asks again and again: one that waits in a
        statement would have to be waited for by an index that is made concurrently."""
        for _ in range(_TURNS):
            if _one(self.db, "SELECT pg_try_advisory_lock(%s)", _LOCK):
                break
            self.sleep(_TURN_SECONDS)
        else:
            raise StoreUnreachable("store: another server has been changing the schema for long")
        try:
            return self._take()
        finally:
            if not self.db.closed:
                self.db.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))

    def _take(self) -> int:
        have = schema_of(self.db)
        if have:  # tables that have rows, one after the other: no two are locked at once
            for name in open_tables(self.db):
                self._patiently(partial(_close, self.db, name))
        for number, step in enumerate(self.steps[have:], have + 1):
            if step.alone:
                self._run_alone(step)
                self._patiently(partial(_end_step, self.db, number))
            else:
                self._patiently(partial(_run, self.db, step, number))
        return max(have, len(self.steps))

    def _run_alone(self, step: Step) -> None:
        """Run the statements one by one. An index whose making was cut short is left behind invalid, and made anew."""
        for (name,) in self.db.execute(_HALF_INDEXES).fetchall():
            self.db.execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(sql.Identifier(name)))
        for statement in step.sql.split(";\n"):
            text = "\n".join(line for line in statement.splitlines() if not line.startswith("--")).strip()
            if "CONCURRENTLY" in text:
                self.db.execute(text.encode())
            elif text:
                self._patiently(partial(_execute, self.db, text))

    def _patiently(self, job: Callable[[], None]) -> None:
        """Run a job in a transaction, again if other sessions hold what it needs."""
        for _ in range(_TRIES):
            try:
                with self.db.transaction():
                    self.db.execute(f"SET LOCAL lock_timeout = '{_LOCK_WAIT}'".encode())
                    return job()
            except (errors.LockNotAvailable, errors.DeadlockDetected):
                self.sleep(_PAUSE_SECONDS)
        raise StoreUnreachable(
            "store: the schema cannot be changed, because other sessions hold its tables",
            hint="End long transactions on this database, then start again.",
        )


def _run(db: Connection, step: Step, number: int) -> None:
    if number == 1:
        _begin(db)
    db.execute(step.sql.encode())
    _end_step(db, number)


def _execute(db: Connection, statement: str) -> None:
    db.execute(statement.encode())


def _end_step(db: Connection, number: int) -> None:
    for name in open_tables(db):
        _close(db, name)
    _mark(db, number)


def _mark(db: Connection, number: int) -> None:
    db.execute(f"INSERT INTO {_MARK} (step) VALUES (%s)".encode(), (number,))


def open_tables(db: Connection) -> list[str]:
    """Tables with rows of tenants that the wall does not stand before."""
    return [name for (name,) in db.execute(_OPEN_TABLES, (_POLICY,)).fetchall()]


def _close(db: Connection, name: str) -> None:
    table = sql.Identifier(name)
    policy = sql.Identifier(_POLICY)
    db.execute(sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY").format(table))
    db.execute(sql.SQL("DROP POLICY IF EXISTS {} ON {}").format(policy, table))
    db.execute(sql.SQL("CREATE POLICY {} ON {} USING ({})").format(policy, table, sql.SQL(_VISIBLE)))


def grant(db: Connection, role: str) -> None:
    """Let a role serve from the database: it may read and write all tables, those of later steps as well, and change
    none.

    Raises:
        NotFound: there is no such role.
    """
    rights = sql.SQL("SELECT, INSERT, UPDATE, DELETE")
    name = sql.Identifier(role)
    with faults(), db.transaction():
        if not _one(db, "SELECT count(*) FROM pg_roles WHERE rolname = %s", role):
            raise NotFound("migrate: there is no such role", hint="Create it first: CREATE ROLE name LOGIN")
        schema = sql.Identifier(str(_one(db, "SELECT current_schema()")))
        for statement in (
            "GRANT USAGE ON SCHEMA {schema} TO {name}",
            "GRANT {rights} ON ALL TABLES IN SCHEMA {schema} TO {name}",
            "ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT {rights} ON TABLES TO {name}",
            "REVOKE INSERT, UPDATE, DELETE ON {mark} FROM {name}",
        ):
            filled = sql.SQL(statement).format(schema=schema, name=name, rights=rights, mark=sql.Identifier(_MARK))
            db.execute(filled)


def is_in_use(db: Connection) -> bool:
    """Whether some tenant has a memory in the database, whatever its schema; nothing is changed."""
    with faults():
        if not schema_of(db) or _one(db, "SELECT to_regclass('tenants')") is None:  # the mark of something else
            return False
        return bool(_one(db, "SELECT EXISTS (SELECT 1 FROM tenants)"))


def is_held_by_wall(db: Connection) -> bool:
    """Whether row security holds for the role of this connection."""
    return not _one(db, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")


def _begin(db: Connection) -> None:
    if _one(db, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"):
        raise StoreForeign("store: the database holds tables that are not Holdfast's")
    try:
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        db.execute("SELECT NULL::halfvec")
    except (errors.FeatureNotSupported, errors.UndefinedFile, errors.UndefinedObject) as error:
        raise StoreUnsuited("store: the server has no pgvector of version 0.7 or later") from error
    except errors.InsufficientPrivilege as error:
        raise StoreForbidden(
            "store: the database has no extension vector, and the role may not install it",
            hint="Let a superuser run in this database: CREATE EXTENSION vector",
        ) from error
    db.execute(f"CREATE TABLE {_MARK} (step bigint PRIMARY KEY)".encode())


def schema_of(db: Connection) -> int:
    """The schema of a database, which is only read; 0 if it is not Holdfast's."""
    if _one(db, "SELECT to_regclass(%s)", _MARK) is None:
        return 0
    try:
        return int(str(_one(db, f"SELECT coalesce(max(step), 0) FROM {_MARK}")))
    except (errors.UndefinedColumn, errors.UndefinedFunction, errors.DatatypeMismatch, ValueError) as error:
        raise StoreForeign(f"store: the table {_MARK} is not the one that Holdfast made") from error


def _one(db: Connection, statement: str, *values: object) -> object:
    """The one value of a statement."""
    row = db.execute(statement.encode(), values).fetchone()
    return None if row is None else row[0]
