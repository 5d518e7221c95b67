"""Links between records, as far as the caller may see both ends.

A relation names a version of a memory; it holds for the memory, whatever version it has now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import cast

from holdfast.context import CallContext
from holdfast.core.model import Memory, Relation
from holdfast.protocol.lifecycle import LinkKind, MemoryLifetime, MemoryLink, settle
from holdfast.store.port import Condition, Reader, where
from holdfast.store.tables import MEMORIES, RELATIONS

BATCH = 200
MOST_LINKED = 3
GOING_TOGETHER = ("related", "supports", "context")
CONTRADICTS: tuple[LinkKind, ...] = ("contradicts",)
OF_TWO_ONE: tuple[LinkKind, ...] = ("supersedes", *CONTRADICTS)
_LATER = Condition("parent_id", "not null")


def seen_relations(ctx: CallContext, reader: Reader, relations: Iterable[Relation]) -> Iterator[Relation]:
    """The relations without those that start or end at a memory that is not the caller's to see.

    In a chat only memories are seen: there both ends must be such ones.
    """
    rest = iter(relations)
    while batch := list(islice(rest, BATCH)):
        ends = list({end for one in batch for end in (one.source_id, one.target_id)})
        known = {memory.id: memory for memory in reader.find(MEMORIES, ctx.tenant, Condition("id", "in", ends))}
        seen = {id for id in ends if (ctx.may_see(known[id]) if id in known else not ctx.in_chat)}
        yield from (one for one in batch if one.source_id in seen and one.target_id in seen)


def linked(ctx: CallContext, reader: Reader, memories: Sequence[Memory], agent: str | None) -> list[Memory]:
    """Memories one step from these that the caller may see and that are not among them; three at most.

    What goes with the first comes first.
    """
    own = versions_of(reader, memories)
    place = {memory.id: number for number, memory in enumerate(memories)}
    ends: dict[str, int] = {}
    for one in _relations(ctx, reader, list(own), GOING_TOGETHER):
        for here, there in ((one.source_id, one.target_id), (one.target_id, one.source_id)):
            if here in own and there not in own:
                ends[there] = min(place[own[here]], ends.get(there, len(place)))
    found = latest_of(ctx, reader, list(ends), agent)
    nearest: dict[str, int] = {}
    for end, memory in found.items():
        nearest[memory.id] = min(ends[end], nearest.get(memory.id, len(place)))
    others = {memory.id: memory for memory in found.values()}.values()
    return sorted(others, key=lambda memory: (nearest[memory.id], -memory.seq))[:MOST_LINKED]


def current(
    ctx: CallContext,
    reader: Reader,
    memories: Sequence[Memory],
    agent: str | None = None,
    *,
    among: bool = False,
    kinds: Sequence[LinkKind] = OF_TWO_ONE,
) -> list[Memory]:
    """The memories without those that another one supersedes or, being newer, contradicts.

    The other need not be among them: what is no longer so is not shown because the question fits it better. It must be
    one that the caller may see. With `among`, only these themselves count, as for a question about the past.
    """
    own = versions_of(reader, memories)
    relations = _relations(ctx, reader, list(own), kinds)
    if not relations:
        return list(memories)
    strangers = {end for one in relations for end in (one.source_id, one.target_id)} - own.keys()
    others = {} if among else latest_of(ctx, reader, list(strangers), agent)
    names = own | {end: memory.id for end, memory in others.items()}
    links = [
        MemoryLink(names[one.source_id], names[one.target_id], cast(LinkKind, one.type))
        for one in relations
        if one.source_id in names and one.target_id in names
    ]
    lives = {one.id: MemoryLifetime(one.id, one.created_at) for one in (*memories, *others.values())}
    stay = set(settle(lives.values(), links).current)
    return [one for one in memories if one.id in stay]


def versions_of(reader: Reader, memories: Sequence[Memory]) -> dict[str, str]:
    """The id of each of the memories by the ids of all its versions."""
    shown = {memory.root: memory.id for memory in memories if memory.version > 1}
    own = {memory.id: memory.id for memory in memories}
    if shown:
        line = reader.find(MEMORIES, memories[0].tenant, Condition("root", "in", list(shown)), _LATER)
        own = {one.id: shown[one.root] for one in line} | shown | own
    return own


def latest_of(ctx: CallContext, reader: Reader, ids: Sequence[str], agent: str | None) -> Mapping[str, Memory]:
    """The latest versions of memories by the ids given, as far as the caller may see them and they are active."""
    if not ids:
        return {}
    named = reader.find(MEMORIES, ctx.tenant, Condition("id", "in", ids))
    roots = list({one.root for one in named if not one.latest})
    newer = reader.find(MEMORIES, ctx.tenant, *where(latest=True), Condition("root", "in", roots), _LATER)
    by_root = {one.root: one for one in (*newer, *(one for one in named if one.latest))}
    now = ctx.clock.now_ms()
    return {
        one.id: memory
        for one in named
        if (memory := by_root.get(one.root)) and memory.state == "active" and ctx.may_see(memory, agent)
        if memory.forget_after is None or memory.forget_after > now
    }


def _relations(ctx: CallContext, reader: Reader, ids: Sequence[str], kinds: Sequence[str]) -> list[Relation]:
    """Relations of some kinds that start or end at these memories."""
    if not ids:
        return []
    of = Condition("type", "in", kinds)
    found = [
        one
        for end in ("source_id", "target_id")
        for one in reader.find(RELATIONS, ctx.tenant, *ctx.sees(), of, Condition(end, "in", ids))
    ]
    return list({one.id: one for one in found}.values())
