"""Draws statements from what was said, turn by turn, as it comes in: for the background of a server.

Two cursors mark the progress, one for turns and one for memories. Every step is short, bounded and can be repeated: a
statement's id follows from the observation it was said in, so a turn that is read again gives the same statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.context import CallContext
from holdfast.core.model import Memory, Note, Observation, Statement
from holdfast.core.session_keys import key_of
from holdfast.learn.statements.changes import Verdict
from holdfast.learn.statements.extraction import MOST_OF_ONE, ExtractedStatement, draw
from holdfast.learn.statements.session_turns import Turn, turn_around
from holdfast.learn.statements.supersession import (
    WORTH_COMPARING,
    Comparer,
    as_candidate,
    in_force,
    is_knowledge,
    supersede,
)
from holdfast.learn.statements.text_vectors import TextVectors
from holdfast.store.port import Condition, Reader, Tx
from holdfast.store.queries.stale_summaries import mark_outdated
from holdfast.store.queries.turns import MESSAGE_HOOK, PROMPT_HOOKS
from holdfast.store.tables import MEMORIES, NOTES, OBSERVATIONS, STATEMENTS

ROWS = 200  # observations read in one step
MEMORY_ROWS = 5  # few, as what is said now must not wait long for an import of many memories
SPOKEN = (*PROMPT_HOOKS, MESSAGE_HOOK)
CURSOR = "learner"
TURNS, KEPT = key_of("learner", "cursor"), key_of("learner", "memories")  # ids of the two cursors


@dataclass(frozen=True, slots=True)
class LearningStep:
    """What one step did; `more`: there is more to do."""

    statements: int = 0
    superseded: int = 0
    more: bool = False


def learn_step(ctx: CallContext, vectors: TextVectors | None = None) -> LearningStep:
    """Read the next turns and memories of a tenant, and keep what they state. `vectors`: those of earlier steps."""
    _split_cursor(ctx)
    comparer = Comparer(ctx, ctx.embedder, vectors)
    turns = _learn_turns(ctx, comparer)
    memories = _learn_memories(ctx, comparer)
    return LearningStep(turns.statements, turns.superseded + memories.superseded, turns.more or memories.more)


def _learn_turns(ctx: CallContext, comparer: Comparer) -> LearningStep:
    reader, last = ctx.store.read(), ctx.store.last_seq(ctx.tenant)
    fresh = Condition("seq", ">", cursor(ctx, reader))
    seen = reader.find(OBSERVATIONS, ctx.tenant, fresh, order="seq", limit=ROWS)
    if not seen:
        return LearningStep()
    upto = seen[-1].seq if len(seen) == ROWS else last
    statements = superseded = 0
    for turn in _turns(ctx, reader, [one for one in seen if one.hook in SPOKEN]):
        made, replaced = _learn_turn(ctx, comparer, turn)
        statements, superseded = statements + made, superseded + replaced
    _move(ctx, TURNS, upto)
    return LearningStep(statements, superseded, upto < last)


def _learn_memories(ctx: CallContext, comparer: Comparer) -> LearningStep:
    reader, last = ctx.store.read(), ctx.store.last_seq(ctx.tenant)
    fresh = Condition("seq", ">", cursor(ctx, reader, KEPT))
    kept = reader.find(MEMORIES, ctx.tenant, fresh, order="seq", limit=MEMORY_ROWS)
    if not kept:
        return LearningStep()
    upto = kept[-1].seq if len(kept) == MEMORY_ROWS else last
    knowledge = [one for one in kept if one.latest and is_knowledge(one)]
    superseded = sum(_learn_memory(ctx, comparer, one) for one in knowledge)
    _move(ctx, KEPT, upto)
    return LearningStep(0, superseded, upto < last)


def is_learnt(ctx: CallContext, projects: Sequence[str]) -> bool:
    """Whether all that was said in a project is learnt."""
    reader = ctx.store.read()
    said = (Condition("seq", ">", cursor(ctx, reader)), Condition("hook", "in", SPOKEN))
    return not reader.find(
        OBSERVATIONS, ctx.tenant, *said, Condition("project", "in", list(projects)), order="seq", limit=1
    )


def cursor(ctx: CallContext, reader: Reader, id: str = TURNS) -> int:
    """Up to which write the tenant's turns, or its memories, were read."""
    note = reader.get(NOTES, ctx.tenant, id)
    return int(note.content) if note is not None else 0


def _split_cursor(ctx: CallContext) -> None:
    """Earlier versions had one cursor for both: memories go on from there. Set before turns are read, as a step that
    is cut short would skip memories otherwise."""
    reader = ctx.store.read()
    if reader.get(NOTES, ctx.tenant, KEPT) is None:
        _move(ctx, KEPT, cursor(ctx, reader))


def _move(ctx: CallContext, id: str, upto: int) -> None:
    def store(tx: Tx) -> None:
        known = tx.get(NOTES, ctx.tenant, id)
        seq = known.seq if known else tx.next_seq(ctx.tenant)
        tx.replace(NOTES, Note(ctx.tenant, id, seq, CURSOR, str(upto), ctx.clock.now_ms()))

    ctx.store.write(store)


def _turns(ctx: CallContext, reader: Reader, rows: Sequence[Observation]) -> list[Turn]:
    """The turns that these rows are part of, each once, oldest first."""
    found: list[Turn] = []
    known: set[str] = set()
    for row in rows:
        if row.id not in known:
            turn = turn_around(ctx, reader, row)
            known |= turn.ids
            found.append(turn)
    return sorted(found, key=lambda turn: min((one.at for one in (turn.prompt, *turn.said) if one), default=0))


def statement_id(source_id: str, place: int) -> str:
    return f"stm_{source_id}_{place}"


def _learn_turn(ctx: CallContext, comparer: Comparer, turn: Turn) -> tuple[int, int]:
    drawn = _best(draw(turn, ctx.embedder))
    if not drawn:
        return 0, 0
    reader = ctx.store.read()
    known = {id for one in drawn if reader.get(STATEMENTS, ctx.tenant, id := statement_id(one.source.id, one.place))}
    fresh = [one for one in drawn if statement_id(one.source.id, one.place) not in known]
    if not fresh:
        return 0, 0
    first = fresh[0].source
    standing = in_force(ctx, reader, first.project, first.agent)
    before = [one for one in standing if one.source_id not in turn.ids]

    def store(tx: Tx) -> list[Statement]:
        made = [_statement(ctx, tx, one) for one in fresh]
        for statement in made:
            tx.replace(STATEMENTS, statement)
        mark_outdated(tx, ctx.tenant, ctx.clock.now_ms(), [one.session_id for one in made])
        return made

    made = ctx.store.write(store)
    replaced, idle = 0, list[str]()  # settings on which nothing was said before are not worth a line
    for statement in made:
        if statement.worth >= WORTH_COMPARING:
            old = comparer.compare(reader, as_candidate(statement), turn, before)
            replaced += _say(ctx, statement.id, old, statement.agent)
            before = [one for one in before if old.get(one.id) != "replaced"]
            if not old and statement.source_id in turn.edit_ids:
                idle.append(statement.id)
    if idle:
        ctx.store.write(lambda tx: [tx.delete(STATEMENTS, ctx.tenant, id) for id in idle])
    return len(made) - len(idle), replaced


def _learn_memory(ctx: CallContext, comparer: Comparer, memory: Memory) -> int:
    reader = ctx.store.read()
    others = [one for one in in_force(ctx, reader, memory.project or "", memory.agent) if one.id != memory.id]
    old = comparer.compare(reader, as_candidate(memory), Turn(None), others)
    return _say(ctx, memory.id, old, memory.agent)


def _say(ctx: CallContext, new: str, old: Mapping[str, Verdict], agent: str | None) -> int:
    """Keep the relations; how many were replaced."""
    if not old:
        return 0
    return ctx.store.write(lambda tx: sum(supersede(ctx, tx, new, id, said, agent) for id, said in old.items()))


def _best(drawn: Sequence[ExtractedStatement]) -> list[ExtractedStatement]:
    """The best of each message, in the order in which they were said."""
    kept: list[ExtractedStatement] = []
    for source in dict.fromkeys(one.source.id for one in drawn):
        own = [one for one in drawn if one.source.id == source]
        best = sorted(own, key=lambda one: -one.worth)[:MOST_OF_ONE]
        kept += [one for one in own if one in best]
    return kept


def _statement(ctx: CallContext, tx: Tx, drawn: ExtractedStatement) -> Statement:
    return Statement(
        tenant=ctx.tenant,
        id=statement_id(drawn.source.id, drawn.place),
        seq=tx.next_seq(ctx.tenant),
        source_id=drawn.source.id,
        session_id=drawn.source.session_id,
        project=drawn.source.project,
        agent=drawn.source.agent,
        kind=drawn.kind,
        text=drawn.text,
        worth=drawn.worth,
        at=drawn.source.at,
    )
