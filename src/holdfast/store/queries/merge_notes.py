"""What lost in a merge, in notes: how they are named, and how they go with the record they are of."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import unquote

from holdfast.core.session_keys import key_of
from holdfast.store.port import Tx, where
from holdfast.store.tables import NOTES

MERGED = "merged"  # the kind of such notes


def merged_key(id: str, table: str, digest: str) -> str:
    """The note that holds a record as it was before a merge kept another in its place."""
    return key_of(MERGED, id, table, digest)


def drop_set_aside(tx: Tx, tenant: str, gone: Collection[str]) -> None:
    """Remove what was set aside of records that are forgotten."""
    for note in tx.find(NOTES, tenant, *where(kind=MERGED)):
        if unquote(note.id.split("/")[1]) in gone:
            tx.delete(NOTES, tenant, note.id)
