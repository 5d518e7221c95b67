"""Relations: which record belongs to which, stored once."""

from __future__ import annotations

from hashlib import sha256

from holdfast.context import CallContext
from holdfast.core.model import EVERYBODY, IN_CHATS, Event, Relation
from holdfast.store.port import Tx
from holdfast.store.tables import MEMORIES, RELATIONS


def keep_relation(ctx: CallContext, tx: Tx, source: str, target: str, type: str, agent: str | None) -> Relation:
    """The relation, stored if it is new; its id follows from its content."""
    key = chr(31).join((source, target, type, agent or ""))
    id = f"rel_{sha256(key.encode()).hexdigest()[:20]}"
    known = tx.get(RELATIONS, ctx.tenant, id)
    if known:
        return known
    relation = Relation(
        tenant=ctx.tenant,
        id=id,
        seq=tx.next_seq(ctx.tenant),
        source_id=source,
        target_id=target,
        type=type,
        agent=agent,
        created_at=ctx.clock.now_ms(),
    )
    tx.add(RELATIONS, relation)
    audience = _audience(ctx, tx, source, target)
    ctx.audit(tx, "relate", (id,), agent, audience)
    tx.publish(Event(ctx.tenant, "relation", relation, agent=agent, audience=audience))
    return relation


def _audience(ctx: CallContext, tx: Tx, *ends: str) -> tuple[str, ...]:
    """Who may see both ends."""
    known = [tx.get(MEMORIES, ctx.tenant, id) for id in ends]
    audiences = [one.audience for one in known if one is not None] or [(EVERYBODY,)]
    narrow = [set(one) for one in audiences if IN_CHATS not in one]
    return tuple(sorted(set.intersection(*narrow))) if narrow else audiences[0]
