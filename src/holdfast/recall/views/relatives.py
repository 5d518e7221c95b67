"""Memories that are linked to a memory, over several steps: by relations and by the versions of one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.context import CallContext
from holdfast.core.model import Memory
from holdfast.recall.links import seen_relations
from holdfast.store.port import Condition, Reader
from holdfast.store.tables import MEMORIES, RELATIONS

MOST_VISITED = 500
FADES = 0.5  # how much less sure each step beyond the first is


@dataclass(frozen=True, slots=True)
class Relative:
    """A linked memory, how many steps away it is, and how sure the link is: 1 for the first step, then half as much."""

    memory: Memory
    hop: int
    confidence: float


def relatives(ctx: CallContext, memory: Memory, most_hops: int, least: float) -> list[Relative]:
    """Memories linked to this one that the caller may see, the nearest first."""
    reader = ctx.store.read()
    known, new, found = {memory.id}, [memory], []
    for hop in range(1, most_hops + 1):
        confidence = FADES ** (hop - 1)
        if confidence < least or not new:
            break
        ids = [id for id in _neighbours(ctx, reader, new) if id not in known][: MOST_VISITED - len(known)]
        known |= set(ids)
        new = [one for one in reader.find(MEMORIES, ctx.tenant, Condition("id", "in", ids)) if ctx.may_see(one)]
        found += [Relative(one, hop, confidence) for one in sorted(new, key=lambda one: ids.index(one.id))]
    return found


def _neighbours(ctx: CallContext, reader: Reader, memories: Sequence[Memory]) -> list[str]:
    """Ids that relations lead to, and those of the versions before and after."""
    ids = [one.id for one in memories]
    named = dict.fromkeys(id for one in memories for id in (*one.supersedes, one.parent_id) if id)
    for end in ("source_id", "target_id"):
        related = reader.find(RELATIONS, ctx.tenant, *ctx.sees(), Condition(end, "in", ids), order="seq")
        for one in seen_relations(ctx, reader, related):
            named |= dict.fromkeys((one.source_id, one.target_id))
    later = reader.find(MEMORIES, ctx.tenant, Condition("parent_id", "in", ids), order="seq")
    return list(named | dict.fromkeys(one.id for one in later))
