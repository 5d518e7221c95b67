"""The steps that bring a database to this version's shape, taken once however many servers start."""

from __future__ import annotations

from importlib import resources

from psycopg import errors

from holdfast.core.errors import DataTooNew, InvalidSettings
from holdfast.store.postgres.pool import Connection, faults

_LOCK = 0x484F4C44  # "HOLD": the advisory lock of migrations
_MARK = "holdfast_schema"  # the table that lists which steps were taken; without it the database is new or another's


def migrate(db: Connection) -> int:
    """Bring the schema to this version, all in one transaction; a kill leaves all or nothing. The schema it has now.

    Raises:
        DataTooNew: a newer Holdfast wrote it.
        InvalidSettings: the database holds something else, or has no pgvector.
    """
    steps = _steps()
    with faults(), db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        have = schema_of(db)
        if have > len(steps):
            raise DataTooNew(f"store: schema {have} is not known to this Holdfast (it knows up to {len(steps)})")
        if have == 0:
            _begin(db)
        for number in range(have + 1, len(steps) + 1):
            db.execute(steps[number - 1].encode())
            db.execute(f"INSERT INTO {_MARK} (step) VALUES (%s)".encode(), (number,))
    return len(steps)


def _begin(db: Connection) -> None:
    found = db.execute("SELECT 1 FROM pg_tables WHERE schemaname = current_schema() LIMIT 1").fetchone()
    if found is not None:
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


def known_schema() -> int:
    """The newest schema that this Holdfast knows."""
    return len(_steps())


def schema_of(db: Connection) -> int:
    """The schema of a database, which is only read; 0 if it is not Holdfast's."""
    found = db.execute("SELECT to_regclass(%s)", (_MARK,)).fetchone()
    if found is None or found[0] is None:
        return 0
    row = db.execute(f"SELECT coalesce(max(step), 0) FROM {_MARK}".encode()).fetchone()
    return int(row[0]) if row else 0


def _steps() -> list[str]:
    folder = resources.files("holdfast.store.postgres") / "migrations"
    files = sorted((one for one in folder.iterdir() if one.name.endswith(".sql")), key=lambda one: one.name)
    return [one.read_text(encoding="utf-8") for one in files]
