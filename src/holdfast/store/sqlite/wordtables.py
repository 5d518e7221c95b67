"""The word index: one contentless FTS5 table per tenant; rowid is the record's seq."""

from __future__ import annotations

from typing import Any

import apsw

from holdfast.store.port import IndexText

# Contentless: the rows hold the text already.
_CREATE = (
    "CREATE VIRTUAL TABLE {name} USING fts5 (title, body, tags, content = '', contentless_delete = 1, "
    "tokenize = 'porter unicode61 remove_diacritics 2')"
)


def create_words(name: str) -> str:
    """The statement that makes a table of words."""
    return _CREATE.format(name=name)


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
        db.execute(create_words(name))
        db.execute("INSERT INTO word_tables VALUES (?, ?)", (tenant, number))
    return name


def tenants_with_words(db: apsw.Connection) -> dict[str, str]:
    """Each tenant's table."""
    rows: Any = db.execute("SELECT tenant, number FROM word_tables ORDER BY number")
    return {tenant: f"words_{number}" for tenant, number in rows}


def word_table_names(db: apsw.Connection) -> set[str]:
    """Every table of words that is there, whether a tenant is known for it or not."""
    rows: Any = db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'words_*'")
    return {name for (name,) in rows if name.removeprefix("words_").isdigit()}


def list_sizes(db: apsw.Connection, name: str) -> apsw.Cursor:
    """How long each record is, and all together: what the ranking counts with besides the words."""
    totals = f"SELECT 0, id, block FROM {name}_data WHERE id = 1"
    return db.execute(f"{totals} UNION ALL SELECT 1, id, sz FROM {name}_docsize ORDER BY 1, 2")


def add_words(db: apsw.Connection, name: str, seq: int, text: IndexText) -> None:
    db.execute(
        f"INSERT INTO {name} (rowid, title, body, tags) VALUES (?, ?, ?, ?)", (seq, text.title, text.body, text.tags)
    )


def drop_words(db: apsw.Connection, name: str, seq: int) -> None:
    db.execute(f"DELETE FROM {name} WHERE rowid = ?", (seq,))


def drop_table(db: apsw.Connection, name: str) -> None:
    """Remove a table of words however broken it is: FTS5 refuses to drop one that it cannot open."""
    try:
        db.execute(f"DROP TABLE IF EXISTS {name}")
    except apsw.Error:
        for part in ("data", "idx", "docsize", "config"):
            db.execute(f"DROP TABLE IF EXISTS {name}_{part}")
        db.execute("PRAGMA writable_schema = ON").fetchall()
        db.execute("DELETE FROM sqlite_schema WHERE name = ?", (name,))
        db.execute("PRAGMA writable_schema = RESET").fetchall()


def list_words(db: apsw.Connection, name: str) -> apsw.Cursor:
    """Every entry of the index in its order: term, row, column, place."""
    db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.list_{name} USING fts5vocab (main, {name}, 'instance')")
    return db.execute(f"SELECT term, doc, col, offset FROM temp.list_{name}")


def count_terms(db: apsw.Connection, name: str) -> list[tuple[str, int]]:
    """Each term and how often it stands in the index; needs `list_words` before it."""
    rows: Any = db.execute(f"SELECT term, count(*) FROM temp.list_{name} GROUP BY term").fetchall()
    return [(term, count) for term, count in rows]


def count_term(db: apsw.Connection, name: str, term: str) -> int:
    """How often a term is found when it is asked for."""
    found: Any = db.execute(f"SELECT count(*) FROM temp.list_{name} WHERE term = ?", (term,)).get
    return int(found)
