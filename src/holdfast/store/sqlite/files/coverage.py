"""Which rows a restore brought back that a damaged file could not give; what neither has is lost for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.store.sqlite.faults import as_faults
from holdfast.store.sqlite.files.copy_rows import FAR, RECORDS, attach, open_private

RESTORED = "snapshot_restore"


def count_covered(live: Path, salvaged: Path, tenant: str) -> dict[str, int]:
    """Rows by table that the live memory has from its last restore and the salvaged file lacks.

    What was written since the restore was never in the damaged file. The restore's entry in the audit log comes after
    all rows that it brought, so its number separates them.

    Raises:
        DataDamaged: one of the files cannot be read.
    """
    db = open_private(salvaged)
    try:
        with as_faults():
            attach(db, live)
            sql = f"SELECT max(seq) FROM {FAR}.audit WHERE tenant = ? AND operation = ?"
            last: Any = db.execute(sql, (tenant, RESTORED)).get
            found = {name: _count(db.execute, name, tenant, last) for name in RECORDS} if last is not None else {}
    finally:
        db.close()
    return {name: count for name, count in found.items() if count}


def _count(execute: Any, name: str, tenant: str, before: int) -> int:
    sql = (
        f"SELECT count(*) FROM {FAR}.{name} AS l WHERE l.tenant = ?1 AND l.seq < ?2 "
        f"AND NOT EXISTS (SELECT 1 FROM main.{name} AS s WHERE s.tenant = ?1 AND s.id = l.id)"
    )
    return int(execute(sql, (tenant, before)).get)
