"""Links between records, as far as the caller may see what stands at their ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from holdfast.desk import Desk
from holdfast.model import Relation
from holdfast.store.port import Condition, Reader
from holdfast.store.tables import MEMORIES

BATCH = 200


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
