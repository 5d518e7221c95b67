"""What is derived from the records, rebuilt in a file that no process uses yet."""

from __future__ import annotations

import apsw

from holdfast.store.sqlite.files.copy_rows import counter, set_counter
from holdfast.store.sqlite.integrity import sketch_rows
from holdfast.store.sqlite.word_check import fill_words
from holdfast.store.tables import TABLES

_INDEXED = " + ".join(f"(SELECT count(*) FROM {table.name})" for table in TABLES if table.index)
# As many rows on one side as on the other.
_COUNTS = (
    ("SELECT count(*) FROM word_rows", f"SELECT {_INDEXED}"),
    ("SELECT count(*) FROM sketches", "SELECT count(*) FROM memories WHERE latest = 1"),
)


def is_complete(db: apsw.Connection) -> bool:
    """Whether there are as many words and sketches as records, which is quick to see; `verify` compares each."""
    return all(db.execute(have).get == db.execute(want).get for have, want in _COUNTS)


def make_derived(db: apsw.Connection) -> None:
    """Rewrite words and sketches of every record. Vectors depend on the text alone and stay."""
    db.execute("DELETE FROM sketches")
    db.executemany("INSERT INTO sketches VALUES (?, ?, ?)", list(sketch_rows(db)))
    last = counter(db)

    def next_seq() -> int:
        nonlocal last
        last += 1
        return last

    fill_words(db, next_seq)
    set_counter(db, last)
