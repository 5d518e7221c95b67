"""One agent's records as another's: the owner, the keys that hold the owner's name, and the checksums.

Keys of isolated agents' sessions, slots, commits and pages are made of the agent's name. Ids of insights are hashes
over it and stay as they are. So does the audit log: it records who did something, and that does not change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import apsw
import orjson

from holdfast.core.errors import Conflict
from holdfast.core.model import Note
from holdfast.core.session_keys import own_session
from holdfast.store.port import Table
from holdfast.store.rows import shape_of
from holdfast.store.sqlite.files.copy_rows import tally_again
from holdfast.store.sqlite.files.derived_data import make_derived
from holdfast.store.tables import (
    ACCESS,
    AUDIT,
    COMMITS,
    COORDINATION,
    NOTES,
    SESSIONS,
    SLOTS,
    SUMMARIES,
    TABLES,
    reflected_key,
)

# Columns in which sessions are named by their keys.
_SESSIONS = ("session_id", "session_ids", "source_ids")
_SLOT_AGENT, _COMMIT_AGENT, _PAGE_AGENT = 2, 2, 1  # the agent's place among the parts of a key


class AgentRename:
    """What becomes of an agent's records."""

    def __init__(self, old: str, new: str):
        self.old, self.new = old, new
        self._session = (own_session(old, ""), own_session(new, ""))

    def record(self, table: Table[Any], record: Any) -> Any:
        """The record as it is to be, which may be as it was."""
        changes: dict[str, Any] = {}
        if getattr(record, "agent", None) == self.old:
            changes["agent"] = self.new
        for column in _SESSIONS:
            if hasattr(record, column):
                changes[column] = self._sessions(getattr(record, column))
        if table is COORDINATION and record.kind == "signal" and record.subject == self.old:
            changes["subject"] = self.new
        changes["id"] = self._id(table, record)
        if table is NOTES and record.kind == "reflected":
            changes["content"] = self._lines(record)
        changes = {name: value for name, value in changes.items() if value != getattr(record, name)}
        return dataclasses.replace(record, **changes) if changes else record

    def _sessions(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self.session, value))
        return None if value is None else self.session(value)

    def session(self, key: str) -> str:
        """A session's key; most are the clients' own names and stay."""
        before, after = self._session
        return after + key.removeprefix(before) if key.startswith(before) else key

    def _id(self, table: Table[Any], record: Any) -> str:
        id = str(record.id)
        if table in (SESSIONS, SUMMARIES):
            return self.session(id)
        if table is SLOTS:
            return self._part(id, _SLOT_AGENT)
        if table is COMMITS:
            return self._part(id, _COMMIT_AGENT)
        if table is NOTES:
            return self._note(record)
        return id

    def _note(self, note: Note) -> str:
        if note.kind == "reflected":
            head, _, _ = note.id.partition("/")
            session = unquote(note.id[len(head) + 1 :])
            return reflected_key(self.session(session))
        return self._part(note.id, _PAGE_AGENT)

    def _part(self, key: str, at: int) -> str:
        parts = key.split("/")
        if len(parts) > at and parts[at] == quote(self.old, safe=""):
            parts[at] = quote(self.new, safe="")
        return "/".join(parts)

    def _lines(self, note: Note) -> str:
        """Which lines a session's reflection wrote, by the keys of slots."""
        lines = orjson.loads(note.content)
        return orjson.dumps({self._part(slot, _SLOT_AGENT): some for slot, some in lines.items()}).decode()


def rename_agent(db: apsw.Connection, old: str, new: str) -> int:
    """Make an agent's records another's, with all that is derived from them; how many changed.

    Raises:
        Conflict: the other agent has a record of the same name.
    """
    renaming, changed = AgentRename(old, new), 0
    for table in TABLES:
        if table not in (AUDIT, *ACCESS):
            changed += _rename_rows(db, table, renaming.record)
    if changed:
        tally_again(db)
        make_derived(db)
    return changed


BATCH = 500


def _rename_rows(db: apsw.Connection, table: Table[Any], rename: Callable[[Table[Any], Any], Any]) -> int:
    """Store what changes again under its number, some rows at a time: none is written while it is being read."""
    shape = shape_of(table)
    columns = (*shape.columns, "checksum")
    read = f"SELECT {', '.join(columns)} FROM {table.name} WHERE seq > ? ORDER BY seq LIMIT {BATCH}"
    write = f"UPDATE {table.name} SET ({', '.join(columns)}) = ({', '.join('?' * len(columns))}) WHERE seq = ?"
    changed, last = 0, -(2**63)
    while rows := db.execute(read, (last,)).fetchall():
        for record in map(shape.decode, rows):
            last, renamed = record.seq, rename(table, record)
            if renamed is not record:
                values = shape.encode(renamed)
                _store(db, table, write, (*values, shape.checksum(values), last))
                changed += 1
    return changed


def _store(db: apsw.Connection, table: Table[Any], sql: str, values: tuple[Any, ...]) -> None:
    try:
        db.execute(sql, values)
    except apsw.ConstraintError as error:
        raise Conflict(
            f"restore: {table.name} of both agents have conflicting names",
            hint="Restore it into a new folder with --into DIR.",
        ) from error
