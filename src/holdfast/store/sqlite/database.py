"""Connections to one database file, and the steps that bring it to this version's shape."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from importlib import resources
from pathlib import Path

import apsw

from holdfast.core.disk import disk_fault
from holdfast.core.errors import DataTooNew, Fault
from holdfast.store.sqlite.faults import as_faults

APPLICATION_ID = 0x484F4C44  # "HOLD": a foreign SQLite file is never migrated
BUSY_MS = 5_000
PAGE = 4_096
LOG_PAGES = 4_000  # 16 MB between checkpoints: each one syncs twice and is paid by one unlucky writer
LOG_PAGES_LEAST = 100

_FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI


def open_writer(path: Path) -> apsw.Connection:
    """The one connection that writes. FULL: an acknowledged row survives a power cut (NORMAL lost some in
    168 of 246 replayed cuts)."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # the WAL takes its permissions from it
    except OSError as error:
        raise disk_fault(error, f"store: open {path} for writing") from error
    db = _open(path)
    try:
        with as_faults():
            check_ours(db)
            db.execute("PRAGMA journal_mode = WAL").fetchall()
            db.execute("PRAGMA synchronous = FULL").fetchall()
            db.set_wal_hook(_LogWatch())
    except Fault:
        db.close()
        raise
    return db


class _LogWatch:
    """Empties the log into the database when it is long, or when it nears the free space of the disk.

    The database may have to grow by as much as the log holds: once the disk is full it is too late for that.
    """

    def __init__(self) -> None:
        self._looked = 0  # how long the log was when the free space was last checked

    def __call__(self, db: apsw.Connection, _: str, pages: int) -> int:
        with suppress(apsw.Error, OSError):  # what was committed is safe in the log; the next commit tries again
            if pages >= LOG_PAGES or self._nears_the_end(db, pages):
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        return apsw.SQLITE_OK

    def _nears_the_end(self, db: apsw.Connection, pages: int) -> bool:
        if 0 <= pages - self._looked < LOG_PAGES_LEAST:
            return False
        nears = pages >= LOG_PAGES_LEAST and pages * PAGE > _room(db.filename) // 2
        self._looked = 0 if nears else pages  # while it does, every commit looks again
        return nears


def _room(path: str) -> int:
    disk = os.statvfs(path)
    return disk.f_bavail * disk.f_frsize


def check_ours(db: apsw.Connection) -> None:
    """Refuse a database before anything in it is touched.

    Raises:
        DataTooNew: a newer Holdfast wrote it, or another program.
    """
    have, known = db.pragma("user_version"), store_schema()
    empty = db.execute("SELECT count(*) FROM sqlite_schema").get == 0
    if empty and not have and not db.pragma("application_id"):
        return
    if db.pragma("application_id") != APPLICATION_ID or not 1 <= have <= known:
        raise DataTooNew(f"store: schema version {have} is not supported; this version supports up to {known}")


def store_schema() -> int:
    """The schema that this Holdfast writes, the newest that it can read."""
    return len(migration_steps())


def is_current(db: apsw.Connection) -> bool:
    """Whether the schema is this version's."""
    return bool(db.pragma("user_version") == store_schema())


def open_reader(path: Path) -> apsw.Connection:
    """A connection that cannot write."""
    db = _open(path)
    with as_faults():
        db.execute("PRAGMA query_only = ON").fetchall()
    return db


def open_checker(path: Path) -> apsw.Connection:
    """A connection for verification: it reads, and makes temporary tables only."""
    return _open(path)


def _open(path: Path) -> apsw.Connection:
    with as_faults():
        # By its full path, which begins with a slash: it is never taken for a URI, though one may be attached.
        db = apsw.Connection(str(path.absolute()), flags=_FLAGS, statementcachesize=200)
        db.set_busy_timeout(BUSY_MS)
        # Plans do not depend on bound values: otherwise SQLite parses a statement anew for each (25 against 7 µs).
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        # The inner pages of the tables of a million records: with less they are read again for each row.
        db.execute("PRAGMA cache_size = -16000").fetchall()
        db.execute("PRAGMA mmap_size = 268435456").fetchall()
        # What was forgotten is overwritten, not only unlinked.
        db.execute("PRAGMA secure_delete = ON").fetchall()
    return db


def migrate(db: apsw.Connection) -> int:
    """Bring the schema to this version, one transaction per step; a kill leaves a whole step or none."""
    steps = migration_steps()
    with as_faults():
        have = db.pragma("user_version")
        for version in range(have + 1, len(steps) + 1):
            with db:
                for statement in _statements(steps[version - 1]):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}").fetchall()
                db.execute(f"PRAGMA user_version = {version}").fetchall()
    return len(steps)


def migration_steps() -> list[str]:
    folder = resources.files("holdfast.store.sqlite") / "migrations"
    files = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda e: e.name)
    return [entry.read_text(encoding="utf-8") for entry in files]


def _statements(script: str) -> list[str]:
    """The statements of a script; apsw stops at the first row of a multi-statement text."""
    without_comments = re.sub(r"--[^\n]*", "", script)
    return [part.strip() for part in without_comments.split(";") if part.strip()]
