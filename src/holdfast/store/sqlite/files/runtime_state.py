"""What a memory was doing at a moment, read from its database: how far its background work had come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from holdfast.core.model import Json
from holdfast.store.sqlite.database import open_reader
from holdfast.store.sqlite.faults import as_faults

LEARNT = ("consolidate", "reflect", "summarize")  # operations whose last run is reported


def runtime_state(database: Path, tenant: str) -> Json:
    """Cursors of background work and its last runs."""
    db = open_reader(database)
    try:
        with as_faults():
            db.execute("PRAGMA mmap_size = 0").fetchall()  # a look through the audit would hold its pages
            return {
                "lastSeq": _one(db, "SELECT rows FROM tallies WHERE source = 'seq'"),
                "waitingForVectors": _one(db, "SELECT count(*) FROM outbox WHERE tenant = ?", tenant),
                "vectorCursors": {
                    str(source): {"model": model, "upTo": upto}
                    for source, model, upto in db.execute("SELECT source, model, upto FROM followed ORDER BY source")
                },
                "lastRuns": {
                    name: _one(db, "SELECT max(at) FROM audit WHERE tenant = ? AND operation = ?", tenant, name)
                    for name in LEARNT
                },
            }
    finally:
        db.close()


def _one(db: apsw.Connection, sql: str, *bound: Any) -> Any:
    return db.execute(sql, bound).get
