"""Changes to a memory that leave its text alone: whether it is pinned, and who sees it."""

from __future__ import annotations

import dataclasses

from holdfast.context import CallContext, facts_of
from holdfast.core.errors import Forbidden
from holdfast.core.model import Memory
from holdfast.intake.addresses import memory_named
from holdfast.intake.remember import latest_of, line_of
from holdfast.protocol.access import MemoryFacts, check_writable, stored_keys
from holdfast.protocol.sameness import with_hash
from holdfast.protocol.terms import MemoryScope, MemoryType, default_visibility
from holdfast.store.port import Tx
from holdfast.store.tables import MEMORIES


@dataclasses.dataclass(frozen=True, slots=True)
class AttributeChange:
    """The changes; None leaves a field as it is."""

    pinned: bool | None = None
    scope: str | None = None
    visibility: str | None = None


def change(ctx: CallContext, name: str, wanted: AttributeChange, agent: str | None) -> Memory:
    """The memory of an id or at an address with the changes; all versions of it are for the same people.

    Raises:
        NotFound: no such memory, or not the caller's to see.
        Forbidden: a caller in a chat wants to share a memory of another owner, or to change a global one.
        InvalidRequest: the memory cannot have that scope, such as that of a group it was not made in.
    """

    def store(tx: Tx) -> Memory:
        memory = latest_of(tx, memory_named(ctx, tx, name, agent))
        ctx.check_change(memory)
        changed = _pinned(memory, wanted.pinned)
        facts = _facts(ctx, memory, wanted)
        versions = [changed, *(one for one in line_of(tx, memory) if one.id != memory.id)]
        kept = [with_hash(_for(one, facts)) for one in versions]
        ctx.check_change(kept[0])
        for one in kept:
            if one != tx.get(MEMORIES, ctx.tenant, one.id):
                tx.replace(MEMORIES, one)
        if kept[0] != memory:
            ctx.audit(tx, "memory_change", (memory.id,), memory.agent, kept[0].audience, **_said(wanted))
            ctx.publish(tx, "memory", kept[0])
        return kept[0]

    return ctx.store.write(store)


def _pinned(memory: Memory, pinned: bool | None) -> Memory:
    """A pinned memory has no end: neither age nor a time to live removes it."""
    if pinned is None:
        return memory
    if pinned:
        return dataclasses.replace(memory, memory_type=MemoryType.PERMANENT, forget_after=None)
    return dataclasses.replace(memory, memory_type=MemoryType.NORMAL)


def _facts(ctx: CallContext, memory: Memory, wanted: AttributeChange) -> MemoryFacts:
    """Who may see it after the change. To read a memory in a chat is not to own it."""
    facts = facts_of(memory)
    if wanted.scope is None and wanted.visibility is None:
        return facts
    if ctx.in_chat and not _is_owner(ctx, facts):
        raise Forbidden("memory_change: only its owner may change who sees a memory")
    scope = wanted.scope or facts.scope
    usual = default_visibility(scope, owners=1 + len(facts.co_owners)) if wanted.scope else facts.visibility
    # As when it is saved: an explicit scope `global` includes all chats.
    shared = facts.share_into_groups or (wanted.scope == MemoryScope.GLOBAL and not facts.origin.is_valid)
    visibility = wanted.visibility or usual
    return check_writable(dataclasses.replace(facts, scope=scope, visibility=visibility, share_into_groups=shared))


def _is_owner(ctx: CallContext, facts: MemoryFacts) -> bool:
    here = ctx.viewer.origin.platform_id, ctx.viewer.sender_id
    return bool(facts.owner) and here == (facts.origin.platform_id, facts.owner)


def _for(memory: Memory, facts: MemoryFacts) -> Memory:
    audience = stored_keys(facts) if memory.state == "active" else ()
    return dataclasses.replace(
        memory,
        scope=facts.scope,
        visibility=facts.visibility,
        share_into_groups=facts.share_into_groups,
        audience=audience,
    )


def _said(wanted: AttributeChange) -> dict[str, object]:
    return {name: value for name, value in dataclasses.asdict(wanted).items() if value is not None}
