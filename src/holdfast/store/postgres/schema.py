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

from holdfast.core.errors import DataTooNew, InvalidSettings, StoreUnreachable
from holdfast.store.postgres.pool import Connection, faults

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
        DataTooNew: a newer Holdfast wrote it.
        InvalidSettings: the database holds something else, or has no pgvector.
        StoreUnreachable: other sessions hold its tables, or another server has not ended its steps.
    """
    steps = known_steps() if steps is None else steps
    with faults():
        have = schema_of(db)
        if have < len(steps):
            have = _Migration(db, steps, sleep).alone()
    if have > len(steps) + AHEAD:
        raise DataTooNew(f"store: schema {have} is not known to this Holdfast (it knows up to {len(steps)})")
    return have


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
                _run_alone(self.db, step)
                self._patiently(partial(_mark, self.db, number))
            else:
                self._patiently(partial(_run, self.db, step, number))
        return max(have, len(self.steps))

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
    for name in open_tables(db):
        _close(db, name)
    _mark(db, number)


def _run_alone(db: Connection, step: Step) -> None:
    """An index whose making was cut short is left behind invalid, and made anew."""
    half = (
        "SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid "
        "WHERE NOT i.indisvalid AND c.relnamespace = current_schema()::regnamespace"
    )
    for (name,) in db.execute(half).fetchall():
        db.execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(sql.Identifier(name)))
    for statement in step.sql.split(";\n"):
        if any(line and not line.startswith("--") for line in statement.splitlines()):
            db.execute(statement.encode())


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


def is_held_by_wall(db: Connection) -> bool:
    """Whether row security holds for the role of this connection."""
    return not _one(db, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")


def _begin(db: Connection) -> None:
    if _one(db, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"):
        raise InvalidSettings(
            "store: the database holds tables that are not Holdfast's", hint="Name an empty database or schema."
        )
    try:
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        db.execute("SELECT NULL::halfvec")
    except (errors.FeatureNotSupported, errors.UndefinedFile, errors.UndefinedObject) as error:
        raise InvalidSettings(
            "store: the server has no pgvector of version 0.7 or later", hint="Install the extension pgvector."
        ) from error
    db.execute(f"CREATE TABLE {_MARK} (step bigint PRIMARY KEY)".encode())


def schema_of(db: Connection) -> int:
    """The schema of a database, which is only read; 0 if it is not Holdfast's."""
    if _one(db, "SELECT to_regclass(%s)", _MARK) is None:
        return 0
    return int(str(_one(db, f"SELECT coalesce(max(step), 0) FROM {_MARK}")))


def _one(db: Connection, statement: str, *values: object) -> object:
    """The one value of a statement."""
    row = db.execute(statement.encode(), values).fetchone()
    return None if row is None else row[0]
