"""The database of guarded files: <home>/guard/history.db. It is written in transactions, and no part of the memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw
import orjson

from holdfast.core.cleanup import OnFailure
from holdfast.core.disk import disk_faults, make_folder
from holdfast.core.errors import DataDamaged, DataTooNew
from holdfast.store.guard.guard_blocks import BlockReader, BlockWriter, pack_runs, pack_sparse, unpack_runs
from holdfast.store.guard.guard_records import (
    FileStamp,
    FileVersion,
    GuardedFile,
    GuardedPlace,
    NewVersion,
    PlaceTotals,
)
from holdfast.store.sqlite.faults import as_faults

FOLDER, NAME = "guard", "history.db"
APPLICATION_ID = 0x47554152  # "GUAR"
SCHEMA = 1
_BUSY_MS = 30_000
_PRAGMAS = ("auto_vacuum = INCREMENTAL", "journal_mode = WAL", "synchronous = FULL", "secure_delete = ON")

_TABLES = """
CREATE TABLE places (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, root TEXT NOT NULL, only TEXT NOT NULL,
    redact INTEGER NOT NULL, active INTEGER NOT NULL, added_at INTEGER NOT NULL
) STRICT;
CREATE TABLE files (
    id INTEGER PRIMARY KEY, place INTEGER NOT NULL, path BLOB NOT NULL, size INTEGER, mtime INTEGER, ctime INTEGER,
    inode INTEGER, left TEXT NOT NULL DEFAULT '', newest INTEGER, UNIQUE (place, path)
) STRICT;
CREATE TABLE versions (
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, taken_at INTEGER NOT NULL, gone INTEGER NOT NULL,
    size INTEGER NOT NULL, sha256 BLOB NOT NULL, mode INTEGER NOT NULL, mtime INTEGER NOT NULL,
    redacted INTEGER NOT NULL, original BLOB NOT NULL, runs BLOB NOT NULL
) STRICT;
CREATE INDEX versions_of ON versions (file, id);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, block INTEGER NOT NULL, start INTEGER NOT NULL,
    size INTEGER NOT NULL
) STRICT;
CREATE INDEX chunks_of ON chunks (block);
CREATE TABLE blocks (
    id INTEGER PRIMARY KEY, place INTEGER NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL
) STRICT;
CREATE INDEX blocks_of ON blocks (place, size);
"""
_PLACE = "id, name, root, only, redact, active, added_at"
_VERSION = "v.id, v.taken_at, v.gone, v.size, v.sha256, v.mode, v.mtime, v.redacted, v.original"
_FILE = f"f.id, f.place, f.path, f.size, f.mtime, f.ctime, f.inode, f.left, {_VERSION}"
_FILES = f"SELECT {_FILE} FROM files f LEFT JOIN versions v ON v.id = f.newest"


def history_path(home: Path) -> Path:
    return home / FOLDER / NAME


class GuardHistory:
    """One connection to the history. Several processes may have one each; they write one after the other."""

    def __init__(self, path: Path, *, foreign: bool = False):
        """Open the file, and make it if it is not there. A foreign one came from elsewhere and is only read.

        Raises:
            DataDamaged: it is no such database.
            DataTooNew: a newer version wrote it.
            StorageFull, StorageFailed: it cannot be made or opened.
        """
        self.path = path
        if not foreign:
            with disk_faults("guard: make the history"):
                make_folder(path.parent)
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        with as_faults():
            flags = apsw.SQLITE_OPEN_READONLY if foreign else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
            self._db = apsw.Connection(str(path.absolute()), flags=flags, statementcachesize=100)
        with OnFailure(self._db.close), as_faults():
            self._db.set_busy_timeout(_BUSY_MS)
            self._db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            self._db.execute("PRAGMA cell_size_check = ON").fetchall()
            self._prepare(foreign)

    def _prepare(self, foreign: bool) -> None:
        if not foreign:
            for pragma in _PRAGMAS:
                self._db.execute(f"PRAGMA {pragma}").fetchall()
            if not self._db.pragma("application_id"):
                self._make()
        if self._db.pragma("application_id") != APPLICATION_ID:
            raise DataDamaged("guard: the history of guarded files is damaged or no such history")
        if self._db.pragma("user_version") > SCHEMA:
            raise DataTooNew("guard: a newer version of Holdfast wrote the history of guarded files")

    def _make(self) -> None:
        with self.writing():
            if self._db.execute("SELECT count(*) FROM sqlite_schema").get:
                return  # another process just made it, or it is no history
            for statement in _TABLES.strip().rstrip(";").split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}").fetchall()
            self._db.execute(f"PRAGMA user_version = {SCHEMA}").fetchall()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        with as_faults():
            self._db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction: all that the block changes is durable at its end, or none of it."""
        with as_faults():
            self._db.execute("BEGIN IMMEDIATE").fetchall()
            with OnFailure(self._rollback):
                yield
                self._db.execute("COMMIT").fetchall()

    def _rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK").fetchall()

    def copy_to(self, into: Path) -> None:
        """The history at one moment, as a file of its own that is not synced."""
        with disk_faults("guard: copy the history"):
            os.close(os.open(into, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        with as_faults():
            copy = apsw.Connection(str(into.absolute()))
            try:
                with copy.backup("main", self._db, "main") as backup:
                    backup.step(-1)
                for pragma in ("journal_mode = OFF", "synchronous = OFF"):
                    copy.execute(f"PRAGMA {pragma}").fetchall()
            finally:
                copy.close()

    def tag(self) -> str:
        """Another one after every change of what is kept."""
        with as_faults():
            found = self._db.execute(
                "SELECT (SELECT max(id) FROM versions), (SELECT count(*) FROM versions), "
                "(SELECT group_concat(name || root || active || redact) FROM places)"
            ).get
        return repr(found)

    # Places

    def places(self) -> list[GuardedPlace]:
        """All of them, in the order in which they were added."""
        with as_faults():
            return [_place(row) for row in self._db.execute(f"SELECT {_PLACE} FROM places ORDER BY id")]

    def add_place(self, place: GuardedPlace) -> GuardedPlace:
        """The place with its number; one of that name is replaced and keeps its history. Call it in a transaction."""
        self._db.execute(
            "INSERT INTO places (name, root, only, redact, active, added_at) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET root = excluded.root, only = excluded.only, redact = excluded.redact, "
            "active = excluded.active",
            (place.name, place.root, orjson.dumps(place.only).decode(), place.redact, place.active, place.added_at),
        )
        return next(one for one in self.places() if one.name == place.name)

    def set_active(self, place: GuardedPlace, active: bool) -> None:
        self._db.execute("UPDATE places SET active = ? WHERE id = ?", (active, place.id))

    def drop_place(self, place: GuardedPlace) -> None:
        """Remove it with its whole history; `drop_unused` then makes room."""
        self._db.execute("DELETE FROM versions WHERE file IN (SELECT id FROM files WHERE place = ?)", (place.id,))
        self._db.execute("DELETE FROM files WHERE place = ?", (place.id,))
        self._db.execute("DELETE FROM places WHERE id = ?", (place.id,))

    def totals(self, place: GuardedPlace) -> PlaceTotals:
        with as_faults():
            files: Any = self._db.execute(
                "SELECT count(*) FILTER (WHERE v.gone = 0), count(*) FILTER (WHERE v.gone), "
                "count(*) FILTER (WHERE f.left != '') FROM files f LEFT JOIN versions v ON v.id = f.newest "
                "WHERE f.place = ?",
                (place.id,),
            ).get
            versions: Any = self._db.execute(
                "SELECT count(*), max(taken_at) FROM versions WHERE file IN (SELECT id FROM files WHERE place = ?)",
                (place.id,),
            ).get
            there, gone, left = files
            count, newest = versions
        return PlaceTotals(there, gone, left, count, self.stored_bytes(place), newest)

    def stored_bytes(self, place: GuardedPlace) -> int:
        """Bytes of the blocks that were written for it."""
        with as_faults():
            sql = "SELECT coalesce(sum(size), 0) FROM blocks WHERE place = ?"
            return int(self._db.execute(sql, (place.id,)).get)

    # Files

    def files(self, place: GuardedPlace) -> Iterator[GuardedFile]:
        """All files of a place that are known, in the order of their paths."""
        with as_faults():
            for row in self._db.execute(f"{_FILES} WHERE f.place = ? ORDER BY f.path", (place.id,)):
                yield _file(row)

    def files_below(self, place: GuardedPlace, folder: bytes) -> Iterator[GuardedFile]:
        """Those of them that lie in a folder or below it; all of them for the root."""
        if not folder:
            yield from self.files(place)
            return
        with as_faults():
            sql = f"{_FILES} WHERE f.place = ? AND f.path > ? AND f.path < ? ORDER BY f.path"
            for row in self._db.execute(sql, (place.id, folder + b"/", folder + b"0")):
                yield _file(row)

    def files_with(self, place: GuardedPlace, more_than: int) -> list[GuardedFile]:
        """Those of which more versions are kept."""
        many = "SELECT file FROM versions GROUP BY file HAVING count(*) > ?"
        with as_faults():
            found: Any = self._db.execute(f"{_FILES} WHERE f.place = ? AND f.id IN ({many})", (place.id, more_than))
            return [_file(row) for row in found]

    def file(self, place: GuardedPlace, path: bytes) -> GuardedFile | None:
        with as_faults():
            row = self._db.execute(f"{_FILES} WHERE f.place = ? AND f.path = ?", (place.id, path)).fetchone()
        return None if row is None else _file(row)

    def note(self, place: GuardedPlace, path: bytes, stamp: FileStamp | None, left: str = "") -> None:
        """Remember what was seen of a file without a new version of it."""
        values = (stamp.size, stamp.mtime, stamp.ctime, stamp.inode) if stamp else (None, None, None, None)
        self._db.execute(
            "INSERT INTO files (place, path, size, mtime, ctime, inode, left) VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (place, path) DO UPDATE SET size = excluded.size, mtime = excluded.mtime, "
            "ctime = excluded.ctime, inode = excluded.inode, left = excluded.left",
            (place.id, path, *values, left),
        )

    def drop_file(self, file: GuardedFile) -> None:
        """Forget a file with all its versions. Call it in a transaction."""
        self._db.execute("DELETE FROM versions WHERE file = ?", (file.id,))
        self._db.execute("DELETE FROM files WHERE id = ?", (file.id,))

    # Versions

    def versions(self, file: GuardedFile) -> list[FileVersion]:
        """Oldest first."""
        with as_faults():
            sql = f"SELECT {_VERSION} FROM versions v WHERE v.file = ? ORDER BY v.id"
            return [_version(row) for row in self._db.execute(sql, (file.id,))]

    def put(
        self, place: GuardedPlace, path: bytes, made: NewVersion, chunks: Iterable[memoryview], *, again: bool = False
    ) -> int | None:
        """Keep a version of a file that the caller noted before; the bytes that were stored for it, or None if it is
        the same as the newest one.

        The bytes come as chunks, cut so that bytes which did not change give the same ones again. With `again` it is
        kept in any case. Call it in a transaction.
        """
        file = self.file(place, path)
        assert file is not None, "it was noted"
        writer = BlockWriter(self._db, place.id)
        digest, size, numbers = sha256(), 0, []
        for piece in chunks:
            digest.update(piece)
            size += len(piece)
            numbers.append(writer.add(piece))
        writer.flush()
        newest, same = file.newest, (False, digest.digest(), made.mode)
        if not again and newest is not None and (newest.gone, newest.sha256, newest.mode) == same:
            return None
        values = (made.taken_at, 0, size, digest.digest(), made.mode, made.mtime, made.redacted, made.original)
        self._add_version(file, values, pack_runs(numbers))
        return writer.stored

    def put_gone(self, file: GuardedFile, taken_at: int) -> None:
        """Remember that the file was removed. Call it in a transaction."""
        self._add_version(file, (taken_at, 1, 0, b"", 0, 0, 0, b""), b"")
        self._db.execute(
            "UPDATE files SET size = NULL, mtime = NULL, ctime = NULL, inode = NULL, left = '' WHERE id = ?", (file.id,)
        )

    def _add_version(self, file: GuardedFile, values: tuple[Any, ...], runs: bytes) -> None:
        self._db.execute(
            "INSERT INTO versions (file, taken_at, gone, size, sha256, mode, mtime, redacted, original, runs) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (file.id, *values, runs),
        )
        self._db.execute("UPDATE files SET newest = ? WHERE id = ?", (self._db.last_insert_rowid(), file.id))

    def order_versions(self, file: GuardedFile) -> None:
        """Put the versions in the order of their times, after some were added that are not the newest. Call it in a
        transaction."""
        rows: Any = self._db.execute(
            "SELECT id FROM versions WHERE file = ? ORDER BY taken_at, id", (file.id,)
        ).fetchall()
        if rows != sorted(rows):
            for (id,) in rows:
                highest = self._db.execute("SELECT max(id) + 1 FROM versions").get
                self._db.execute("UPDATE versions SET id = ? WHERE id = ?", (highest, id))
        sql = "UPDATE files SET newest = (SELECT max(id) FROM versions WHERE file = ?1) WHERE id = ?1"
        self._db.execute(sql, (file.id,))

    def read(self, version: FileVersion) -> Iterator[bytes]:
        """The bytes of a version; the last piece comes once all were checked.

        Raises:
            DataDamaged: they are not what they were.
        """
        with as_faults():
            runs: Any = self._db.execute("SELECT runs FROM versions WHERE id = ?", (version.id,)).get
            reader, digest, size, last = BlockReader(self._db), sha256(), 0, b""
            for number in unpack_runs(runs or b""):
                if last:
                    yield last
                last = reader.chunk(number)
                digest.update(last)
                size += len(last)
                if size > version.size:
                    break
            if size != version.size or digest.digest() != version.sha256:
                raise DataDamaged("guard: a version of a file is damaged")
            if last:
                yield last

    def drop_versions(self, versions: list[FileVersion]) -> None:
        """Remove versions, none of them the newest of its file. Call it in a transaction."""
        self._db.executemany("DELETE FROM versions WHERE id = ?", [(one.id,) for one in versions])

    def drop_unused(self) -> None:
        """Remove chunks that no version has, and give their room back to the disk."""
        with self.writing():
            self._drop_unused()
        with as_faults():
            self._db.execute("PRAGMA incremental_vacuum").fetchall()

    def _drop_unused(self) -> None:
        live: set[int] = set()
        for (runs,) in self._db.execute("SELECT runs FROM versions"):
            live.update(unpack_runs(runs))
        dead = [(number,) for (number,) in self._db.execute("SELECT id FROM chunks") if number not in live]
        self._db.executemany("DELETE FROM chunks WHERE id = ?", dead)
        self._db.execute("DELETE FROM blocks WHERE id NOT IN (SELECT block FROM chunks)")
        if dead:
            pack_sparse(self._db)


def _place(row: Any) -> GuardedPlace:
    id, name, root, only, redact, active, added_at = row
    return GuardedPlace(id, name, root, tuple(orjson.loads(only)), bool(redact), bool(active), added_at)


def _version(row: Any) -> FileVersion:
    id, taken_at, gone, *rest = row
    return FileVersion(id, taken_at, bool(gone), *rest)


def _file(row: Any) -> GuardedFile:
    id, place, path, size, mtime, ctime, inode, left, *version = row
    stamp = None if size is None else FileStamp(size, mtime, ctime, inode)
    return GuardedFile(id, place, path, stamp, left, _version(version) if version[0] is not None else None)
