"""What was removed on purpose: the audit log says it, and nothing else tells it from what was lost."""

from __future__ import annotations

from holdfast.store.port import Condition, Reader
from holdfast.store.tables import AUDIT

REMOVING = ("forget", "governance_delete", "auto_forget", "purge", "slot_delete", "coordination_remove")


def removed_ids(reader: Reader, tenant: str) -> dict[str, int]:
    """The ids of all records that were removed on purpose, and when last."""
    found: dict[str, int] = {}
    for entry in reader.each(AUDIT, tenant, Condition("operation", "in", REMOVING)):
        for id in entry.target_ids:
            found[id] = max(found.get(id, 0), entry.at)
    return found
