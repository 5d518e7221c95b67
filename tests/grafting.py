"""A captured file made fit to become a generation in one go, as a restore does it in two."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.files.copy_rows import counter, open_private
from holdfast.store.sqlite.files.graft import join, prepare


@dataclass(frozen=True, slots=True)
class Grafted:
    """What became of a restored file."""

    schema: int
    rows: tuple[tuple[str, int], ...]  # of the tenant, by table, those that have any
    renamed: int  # records that have another agent now
    others: int  # other tenants that were taken over from the live store
    last_seq: int


def graft(restored: Path, live: Path | None, tenant: str, *, agent: tuple[str, str] | None = None) -> Grafted:
    """Make a restored file fit to become a generation; it is thrown away if this fails, and not synced.

    `agent` is (old, new): records of the first become the second's. A live store must not be written meanwhile.

    Raises:
        DataTooNew: a newer Holdfast wrote it.
        DataDamaged: it is not what was captured, or holds another tenant's memory.
        Conflict: it comes from elsewhere, and its numbers are other tenants' here.
    """
    rows, renamed = prepare(restored, tenant, agent=agent)
    others = join(restored, live, tenant) if live is not None else 0
    db = open_private(restored)
    try:
        with as_faults():
            schema: Any = db.pragma("user_version")
            return Grafted(int(schema), rows, renamed, others, counter(db))
    finally:
        db.close()
