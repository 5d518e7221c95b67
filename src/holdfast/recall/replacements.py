"""Marks hits that state what was replaced since, and puts what replaced it before them. Nothing is hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from holdfast.context import CallContext
from holdfast.core.model import Memory, Observation, Relation, Statement
from holdfast.recall.context.current_statements import SUPERSEDES, relations_to
from holdfast.recall.hit_text import statements_of
from holdfast.recall.hits import Hit, Replacement
from holdfast.recall.links import latest_of, versions_of
from holdfast.recall.passage import answering
from holdfast.recall.turn_hits import as_turns
from holdfast.store.port import Reader
from holdfast.store.tables import MEMORIES, OBSERVATIONS, STATEMENTS

LOOKED_AT = 30  # hits whose statements are read
FITS = 0.5  # share of a hit's score from which another one answers the question about as well


def newest_first(ctx: CallContext, reader: Reader, hits: Sequence[Hit], query: str) -> list[Hit]:
    """The hits, those that state something replaced marked, and what replaced it before them."""
    if ctx.in_chat:
        return list(hits)
    looked = hits[:LOOKED_AT]
    of_memories = _of_memories(ctx, reader, [hit.record for hit in looked if isinstance(hit.record, Memory)])
    marked = {id(hit): _newer(ctx, reader, hit, query, of_memories) for hit in looked}
    found: list[Hit] = []
    placed: set[str] = set()
    own = {id: hit for hit in hits for id in (hit.record.id, *(row.id for row in hit.turn))}
    for hit in hits:
        newer = marked.get(id(hit))
        if newer is None:
            _place(found, placed, hit)
            continue
        successor = own.get(newer.id) or (_hit_of(ctx, reader, newer, hit) if newer.sure else None)
        if successor is not None and successor.record.id not in placed and _goes_first(successor, hit, newer):
            again = marked.get(id(successor))
            _place(found, placed, replace(successor, outdated=again) if again else successor)
        _place(found, placed, replace(hit, outdated=newer))
    return found


def _goes_first(successor: Hit, hit: Hit, newer: Replacement) -> bool:
    """Whether the newer record is put before the hit. One that only perhaps replaces it must fit the question about as
    well: it may be about something else, and then it would hide the answer."""
    return newer.sure or successor.score >= FITS * hit.score


def _place(found: list[Hit], placed: set[str], hit: Hit) -> None:
    if hit.record.id not in placed:
        placed.add(hit.record.id)
        found.append(hit)


def _of_memories(ctx: CallContext, reader: Reader, memories: Sequence[Memory]) -> dict[str, Relation]:
    """The surest, then the last relation that replaces each memory or one of its versions, by the memory's id. Read for
    all memories at once: on a database elsewhere each read is a round trip."""
    own = versions_of(reader, memories)
    relations = relations_to(ctx, reader, list(own))
    roots = {memory.id: memory.root for memory in memories}
    found: dict[str, Relation] = {}
    for memory in memories:
        line = [id for id, of in own.items() if roots[of] == memory.root] if memory.version > 1 else [memory.id]
        of_line = [relations[id] for id in line if id in relations]
        if of_line:
            found[memory.id] = max(of_line, key=lambda one: (one.type == SUPERSEDES, one.seq))
    return found


def _newer(
    ctx: CallContext, reader: Reader, hit: Hit, query: str, of_memories: Mapping[str, Relation]
) -> Replacement | None:
    """What came in the place of the statement in this hit that matches the question."""
    if isinstance(hit.record, Memory):
        last = of_memories.get(hit.record.id)
        return _followed(ctx, reader, last) if last is not None else None
    said = statements_of(ctx, reader, hit)
    relations = relations_to(ctx, reader, [one.id for one in said])
    if not relations:
        return None
    matching = _matching(said, relations, query)
    return _followed(ctx, reader, matching) if matching is not None else None


def _matching(said: Sequence[Statement], relations: Mapping[str, Relation], query: str) -> Relation | None:
    """The relation of a statement that answers the question, if it was replaced. The best match of a question
    is the same question asked before, and that states nothing."""
    said = [one for one in said if not one.text.rstrip().endswith("?")]
    best = answering([one.text for one in said], query)
    if not best and said:  # found by its meaning: the turn's main statement is what it was found for
        best = [max(range(len(said)), key=lambda at: said[at].worth)]
    return next((relations[said[at].id] for at in best if said[at].id in relations), None)


def _followed(ctx: CallContext, reader: Reader, relation: Relation) -> Replacement | None:
    """The last of a chain of replacements."""
    sure, source, seen = relation.type == SUPERSEDES, relation.source_id, {relation.target_id}
    while source not in seen:
        seen.add(source)
        further = relations_to(ctx, reader, [source]).get(source)
        if further is None or further.type != SUPERSEDES:
            break
        source = further.source_id
    return _as_newer(ctx, reader, source, sure, relation.target_id)


def _as_newer(ctx: CallContext, reader: Reader, id: str, sure: bool, of: str) -> Replacement | None:
    statement = reader.get(STATEMENTS, ctx.tenant, id)
    if statement is not None:
        return Replacement(statement.source_id, statement.text, statement.at, sure, of)
    memory = latest_of(ctx, reader, [id], None).get(id)
    if memory is not None:
        return Replacement(memory.id, memory.content[:600], memory.created_at, sure, of)
    return None


def _hit_of(ctx: CallContext, reader: Reader, newer: Replacement, beside: Hit) -> Hit | None:
    """The newer record as a hit as good as the one it stands before."""
    record: Observation | Memory | None = reader.get(OBSERVATIONS, ctx.tenant, newer.id)
    record = record or reader.get(MEMORIES, ctx.tenant, newer.id)
    if record is None or not ctx.may_see(record):
        return None
    return as_turns(ctx, reader, [Hit(record, beside.score, beside.parts, beside.cosine, beside.covered)])[0]
