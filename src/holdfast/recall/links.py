"""Links between records, as far as the caller may see what stands at their ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from holdfast.desk import Desk
from holdfast.model import Memory, Relation
from holdfast.protocol.lifecycle import Life, Link, LinkKind, settle
from holdfast.store.port import Condition, Reader
from holdfast.store.tables import MEMORIES, RELATIONS

BATCH = 200
MOST_LINKED = 3
GOING_TOGETHER = ("related", "supports", "context")
OF_TWO_ONE: tuple[LinkKind, ...] = ("supersedes", "contradicts")


def seen_relations(desk: Desk, reader: Reader, relations: Iterable[Relation]) -> Iterator[Relation]:
    """The relations without those that start or end at a memory that is not the caller's to see.

    In a chat only memories are seen: there both ends must be such ones.
    """
    rest = iter(relations)
    while batch := list(islice(rest, BATCH)):
        ends = list({end for one in batch for end in (one.source_id, one.target_id)})
        known = {memory.id: memory for memory in reader.find(MEMORIES, desk.tenant, Condition("id", "in", ends))}
        seen = {id for id in ends if (desk.may_see(known[id]) if id in known else not desk.in_chat)}
        yield from (one for one in batch if one.source_id in seen and one.target_id in seen)


def linked(desk: Desk, reader: Reader, memories: Sequence[Memory], agent: str | None) -> list[Memory]:
    """Memories one step from these that the caller may see and that are not among them; three at most.

    What goes with the first comes first.
    """
    place = {memory.id: number for number, memory in enumerate(memories)}
    ends: dict[str, int] = {}
    for one in _relations(desk, reader, list(place), GOING_TOGETHER):
        for here, there in ((one.source_id, one.target_id), (one.target_id, one.source_id)):
            if here in place and there not in place:
                ends[there] = min(place[here], ends.get(there, len(place)))
    bounds = (*desk.sees_memories(agent), Condition("latest", "=", True), Condition("id", "in", list(ends)))
    found = [one for one in reader.find(MEMORIES, desk.tenant, *bounds) if desk.may_see(one, agent)] if ends else []
    return sorted(found, key=lambda memory: (ends[memory.id], -memory.seq))[:MOST_LINKED]


def current(desk: Desk, reader: Reader, memories: Sequence[Memory]) -> list[Memory]:
    """The memories without those that another of them supersedes or, being newer, contradicts."""
    ids = [memory.id for memory in memories]
    links = [
        Link(one.source_id, one.target_id, kind)
        for kind in OF_TWO_ONE
        for one in _relations(desk, reader, ids, (kind,))
    ]
    if not links:
        return list(memories)
    stay = set(settle((Life(one.id, one.created_at) for one in memories), links).current)
    return [one for one in memories if one.id in stay]


def _relations(desk: Desk, reader: Reader, ids: Sequence[str], kinds: Sequence[str]) -> list[Relation]:
    """Relations of some kinds that start or end at these memories."""
    if not ids:
        return []
    of = Condition("type", "in", kinds)
    found = [
        one
        for end in ("source_id", "target_id")
        for one in reader.find(RELATIONS, desk.tenant, *desk.sees(), of, Condition(end, "in", ids))
    ]
    return list({one.id: one for one in found}.values())
