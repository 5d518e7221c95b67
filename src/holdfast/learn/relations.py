"""Relations: which record belongs to which, said once."""

from __future__ import annotations

from hashlib import sha256

from holdfast.desk import Desk
from holdfast.model import Relation
from holdfast.store.port import Tx
from holdfast.store.tables import RELATIONS


def keep_relation(desk: Desk, tx: Tx, source: str, target: str, type: str, agent: str | None) -> Relation:
    """The relation, stored if it is new; its id follows from what it says."""
    key = chr(31).join((source, target, type, agent or ""))
    id = f"rel_{sha256(key.encode()).hexdigest()[:20]}"
    known = tx.get(RELATIONS, desk.tenant, id)
    if known:
        return known
    relation = Relation(
        tenant=desk.tenant,
        id=id,
        seq=tx.next_seq(),
        source_id=source,
        target_id=target,
        type=type,
        agent=agent,
        created_at=desk.clock.now_ms(),
    )
    tx.add(RELATIONS, relation)
    desk.audit(tx, "relate", (id,), agent)
    desk.tell(tx, "relation", relation)
    return relation
