"""Memories of a nexo database: an SQLite file of unknown origin, read without running anything it brings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw
import orjson

from holdfast.core.errors import SnapshotDamaged

_TABLE = "memories"
_NEEDED = {"id", "content", "created_at"}
_KNOWN = ("id", "agent_id", "content", "tags", "concept_tags", "memory_type", "created_at")
_LENGTH = 32 << 20  # of one value; a memory is far smaller
_LAST_MS = 253_402_300_799_999  # the year 9999
# SQLite VM steps between two checks, and checks until the query is stopped: some minutes.
_STEPS, _LOOKS = 1_000_000, 20_000


@dataclass(frozen=True, slots=True)
class NexoRow:
    """A memory as nexo kept it; its text is not redacted yet."""

    id: str
    agent: str
    content: str
    tags: tuple[str, ...]
    concepts: tuple[str, ...]
    memory_type: str | None
    created_at: int | None  # milliseconds; None if the row has no possible time


class NexoRows:
    """The rows of the memories table, in the order they were written. `skipped` counts those that hold no text."""

    def __init__(self, database: Path | None):
        self._database = database
        self.skipped = 0

    def __iter__(self) -> Iterator[NexoRow]:
        """Raises SnapshotDamaged: the database is damaged, or its memories are not a plain table."""
        self.skipped = 0
        if self._database is None:
            return
        try:
            db = _opened(self._database)
            try:
                for values in db.execute(_question(db)):
                    row = _row(values)
                    if row is None:
                        self.skipped += 1
                    else:
                        yield row
            finally:
                db.close()
        except apsw.Error as error:
            raise SnapshotDamaged("nexo bundle: its database cannot be read") from error


def _opened(database: Path) -> apsw.Connection:
    """The database: read only, as a file that no process writes, with nothing of its schema trusted."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(f"file:{quote(str(database.absolute()))}?immutable=1", flags=flags)
    off = ("TRUSTED_SCHEMA", "ENABLE_TRIGGER", "ENABLE_VIEW", "ENABLE_LOAD_EXTENSION", "ENABLE_FTS3_TOKENIZER")
    for name in off:
        db.config(getattr(apsw, f"SQLITE_DBCONFIG_{name}"), 0)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    db.limit(apsw.SQLITE_LIMIT_LENGTH, _LENGTH)
    db.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
    db.limit(apsw.SQLITE_LIMIT_SQL_LENGTH, 100_000)
    looks = iter(range(_LOOKS))
    db.set_progress_handler(lambda: next(looks, None) is None, _STEPS)
    for pragma in ("cell_size_check=1", "mmap_size=0", "temp_store=2"):
        db.execute(f"PRAGMA {pragma}").fetchall()
    return db


def _question(db: apsw.Connection) -> str:
    """The query for all rows, once it is known that they lie in a plain, whole table."""
    schema = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?"
    found = db.execute(schema, (_TABLE,)).fetchall()
    columns = {str(row[1]): row[6] for row in db.execute(f"PRAGMA table_xinfo({_TABLE})")}
    plain = len(found) == 1 and str(found[0][0]).upper().startswith("CREATE TABLE")
    # Generated columns would run expressions of the file.
    if not plain or not columns.keys() >= _NEEDED or any(columns.values()):
        raise SnapshotDamaged("nexo bundle: its memories are not a plain table")
    if db.execute(f"PRAGMA quick_check({_TABLE})").fetchall() != [("ok",)]:
        raise SnapshotDamaged("nexo bundle: its database is damaged")
    # As bytes: SQLite does not promise that its texts are UTF-8.
    names = [f"CAST({name} AS BLOB)" if name in columns else "NULL" for name in _KNOWN[:-1]]
    return f"SELECT {', '.join(names)}, created_at FROM main.{_TABLE} NOT INDEXED"  # noqa: S608


def _row(values: tuple[Any, ...]) -> NexoRow | None:
    *texts, created = values
    try:
        id, agent, content, tags, concepts, kind = (None if one is None else one.decode() for one in texts)
    except UnicodeDecodeError:
        return None
    if not id or not content:
        return None
    at = created if isinstance(created, int) and 0 <= created <= _LAST_MS else None
    return NexoRow(id, agent or "", content, _words(tags), _words(concepts), _kind(kind), at)


def _words(text: str | None) -> tuple[str, ...]:
    value = _json(text)
    return tuple(one for one in value if isinstance(one, str) and one) if isinstance(value, list) else ()


def _kind(text: str | None) -> str | None:
    """The type; nexo writes it as a JSON string."""
    value = _json(text)
    return value if isinstance(value, str) else text or None


def _json(text: str | None) -> Any:
    try:
        return orjson.loads(text or "null")
    except ValueError:
        return None
