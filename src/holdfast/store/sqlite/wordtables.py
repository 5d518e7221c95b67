"""The word index: one contentless FTS5 table per tenant; rowid is the record's seq."""

from __future__ import annotations

from typing import Any

import apsw

from holdfast.store.port import IndexText

# Contentless: the rows hold the text already. secure-delete: a forgotten word is taken out, not only marked.
_CREATE = (
    "CREATE VIRTUAL TABLE {name} USING fts5 (title, body, tags, content = '', contentless_delete = 1, "
    "tokenize = 'porter unicode61 remove_diacritics 2')"
)


def words_of(db: apsw.Connection, tenant: str) -> str | None:
    """The name of the tenant's table, or None if it has no words yet."""
    number: Any = db.execute("SELECT number FROM word_tables WHERE tenant = ?", (tenant,)).get
    return None if number is None else f"words_{number}"


def make_words(db: apsw.Connection, tenant: str) -> str:
    """The name of the tenant's table, made if it is the first word."""
    name = words_of(db, tenant)
    if name is None:
        number: Any = db.execute("SELECT coalesce(max(number), 0) + 1 FROM word_tables").get
        name = f"words_{number}"
        db.execute(_CREATE.format(name=name))
        db.execute("INSERT INTO word_tables VALUES (?, ?)", (tenant, number))
    return name


def tenants_with_words(db: apsw.Connection) -> dict[str, str]:
    """Each tenant's table."""
    rows: Any = db.execute("SELECT tenant, number FROM word_tables ORDER BY number")
    return {tenant: f"words_{number}" for tenant, number in rows}


def add_words(db: apsw.Connection, name: str, seq: int, text: IndexText) -> None:
    db.execute(
        f"INSERT INTO {name} (rowid, title, body, tags) VALUES (?, ?, ?, ?)", (seq, text.title, text.body, text.tags)
    )


def drop_words(db: apsw.Connection, name: str, seq: int) -> None:
    db.execute(f"DELETE FROM {name} WHERE rowid = ?", (seq,))


def empty_words(db: apsw.Connection, name: str) -> None:
    db.execute(f"INSERT INTO {name} ({name}) VALUES ('delete-all')")


def list_words(db: apsw.Connection, name: str) -> apsw.Cursor:
    """Every entry of the index in its order: term, row, column, place."""
    db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.list_{name} USING fts5vocab (main, {name}, 'instance')")
    return db.execute(f"SELECT term, doc, col, offset FROM temp.list_{name}")
