"""The rows of words in SQLite, written in the record's own transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw

from holdfast.store.fulltext.postings import SELECT, pack
from holdfast.store.port import IndexText

_INSERT = "INSERT INTO word_rows VALUES (?, ?, ?, ?, ?, ?, ?)"


def add_words(db: apsw.Connection, tenant: str, seq: int, text: IndexText, doc: int) -> None:
    """Store the words of a new record. Readers go on from the last number that they saw, so `doc` is past all others;
    it is the record's own, unless that comes from elsewhere and others were given meanwhile."""
    if doc != seq:
        db.execute("INSERT INTO word_again VALUES (?, ?)", (seq, doc))
    db.execute(_INSERT, (tenant, doc, seq, *pack(text)))


def drop_words(db: apsw.Connection, tenant: str, seq: int, next_seq: Callable[[], int]) -> None:
    """Remove a record's words, and list them as gone for readers that hold them."""
    doc = doc_of(db, seq)
    db.execute("DELETE FROM word_rows WHERE tenant = ? AND doc = ?", (tenant, doc))
    db.execute("DELETE FROM word_again WHERE seq = ?", (seq,))
    db.execute("INSERT INTO word_gone VALUES (?, ?, ?)", (tenant, next_seq(), doc))


def change_words(db: apsw.Connection, tenant: str, seq: int, text: IndexText, next_seq: Callable[[], int]) -> None:
    """Store the words of a record over those it had; nothing moves if they are the same."""
    packed = pack(text)
    had: Any = db.execute(f"{SELECT} WHERE tenant = ? AND doc = ?", (tenant, doc_of(db, seq))).fetchall()
    if had and had[0][2:] == packed:
        return
    drop_words(db, tenant, seq, next_seq)
    doc = next_seq()
    db.execute("INSERT INTO word_again VALUES (?, ?)", (seq, doc))
    db.execute(_INSERT, (tenant, doc, seq, *packed))


def doc_of(db: apsw.Connection, seq: int) -> int:
    """The number of a record's words: its own, unless it was stored again."""
    again: Any = db.execute("SELECT doc FROM word_again WHERE seq = ?", (seq,)).get
    return int(seq if again is None else again)
