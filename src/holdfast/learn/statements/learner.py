"""Draws statements from what was said, turn by turn, as it comes in: for the background of a server.

A cursor says how far it is. Every step is short, bounded and can be repeated: a statement's id follows from the
observation it was said in, so a turn that is read again gives the same statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.context import Desk
from holdfast.core.model import Memory, Note, Observation, Statement
from holdfast.core.session_keys import key_of
from holdfast.learn.statements.changes import Verdict
from holdfast.learn.statements.extraction import MOST_OF_ONE, Drawn, draw
from holdfast.learn.statements.session_turns import Turn, turn_around
from holdfast.learn.statements.supersession import (
    WORTH_COMPARING,
    Comparer,
    as_candidate,
    in_force,
    is_knowledge,
    supersede,
)
from holdfast.store.port import Condition, Reader, Tx
from holdfast.store.stale_summaries import mark_outdated
from holdfast.store.tables import MEMORIES, NOTES, OBSERVATIONS, STATEMENTS
from holdfast.store.turns import MESSAGE_HOOK, PROMPT_HOOKS

ROWS = 200  # observations and memories looked at in one step
SPOKEN = (*PROMPT_HOOKS, MESSAGE_HOOK)
CURSOR = "learner"


@dataclass(frozen=True, slots=True)
class Learnt:
    """What one step did; `more` says that there is more to do."""

    statements: int = 0
    superseded: int = 0
    more: bool = False


def learn_step(desk: Desk) -> Learnt:
    """Read the next turns and memories of a tenant, and keep what they state."""
    reader = desk.store.read()
    last = desk.store.last_seq()
    fresh = Condition("seq", ">", cursor(desk, reader))
    seen = reader.find(OBSERVATIONS, desk.tenant, fresh, order="seq", limit=ROWS)
    kept = reader.find(MEMORIES, desk.tenant, fresh, order="seq", limit=ROWS)
    if not seen and not kept:
        return Learnt()
    # Where one of the two was cut off, the other goes no further than it did.
    ends = [rows[-1].seq for rows in (seen, kept) if len(rows) == ROWS]
    upto = min(ends, default=last)
    comparer = Comparer(desk, desk.embedder)
    statements = superseded = 0
    for turn in _turns(desk, reader, [one for one in seen if one.seq <= upto and one.hook in SPOKEN]):
        made, replaced = _learn_turn(desk, comparer, turn)
        statements, superseded = statements + made, superseded + replaced
    for memory in kept:
        if memory.seq <= upto and memory.latest and is_knowledge(memory):
            superseded += _learn_memory(desk, comparer, memory)
    _move(desk, upto)
    return Learnt(statements, superseded, upto < last)


def cursor(desk: Desk, reader: Reader) -> int:
    """Up to which write the tenant's observations and memories were read."""
    note = reader.get(NOTES, desk.tenant, _cursor_id())
    return int(note.content) if note is not None else 0


def _cursor_id() -> str:
    return key_of("learner", "cursor")


def _move(desk: Desk, upto: int) -> None:
    def store(tx: Tx) -> None:
        known = tx.get(NOTES, desk.tenant, _cursor_id())
        seq = known.seq if known else tx.next_seq()
        tx.replace(NOTES, Note(desk.tenant, _cursor_id(), seq, CURSOR, str(upto), desk.clock.now_ms()))

    desk.store.write(store)


def _turns(desk: Desk, reader: Reader, rows: Sequence[Observation]) -> list[Turn]:
    """The turns that these rows are part of, each once, oldest first."""
    found: list[Turn] = []
    known: set[str] = set()
    for row in rows:
        if row.id not in known:
            turn = turn_around(desk, reader, row)
            known |= {one.id for one in (turn.prompt, *turn.said) if one is not None}
            found.append(turn)
    return sorted(found, key=lambda turn: min((one.at for one in (turn.prompt, *turn.said) if one), default=0))


def statement_id(source_id: str, place: int) -> str:
    return f"stm_{source_id}_{place}"


def _learn_turn(desk: Desk, comparer: Comparer, turn: Turn) -> tuple[int, int]:
    drawn = _best(draw(turn, desk.embedder))
    if not drawn:
        return 0, 0
    reader = desk.store.read()
    known = {id for one in drawn if reader.get(STATEMENTS, desk.tenant, id := statement_id(one.source.id, one.place))}
    fresh = [one for one in drawn if statement_id(one.source.id, one.place) not in known]
    if not fresh:
        return 0, 0
    first = fresh[0].source
    standing = in_force(desk, reader, first.project, first.agent)
    turn_ids = {one.id for one in (turn.prompt, *turn.said) if one is not None}
    before = [one for one in standing if one.source_id not in turn_ids]

    def store(tx: Tx) -> list[Statement]:
        made = [_statement(desk, tx, one) for one in fresh]
        for statement in made:
            tx.replace(STATEMENTS, statement)
        mark_outdated(tx, desk.tenant, desk.clock.now_ms(), [one.session_id for one in made])
        return made

    made = desk.store.write(store)
    replaced = 0
    for statement in made:
        if statement.worth >= WORTH_COMPARING:
            old = comparer.compare(reader, as_candidate(statement), turn, before)
            replaced += _say(desk, statement.id, old, statement.agent)
            before = [one for one in before if old.get(one.id) != "replaced"]
    return len(made), replaced


def _learn_memory(desk: Desk, comparer: Comparer, memory: Memory) -> int:
    reader = desk.store.read()
    others = [one for one in in_force(desk, reader, memory.project or "", memory.agent) if one.id != memory.id]
    old = comparer.compare(reader, as_candidate(memory), Turn(None), others)
    return _say(desk, memory.id, old, memory.agent)


def _say(desk: Desk, new: str, old: Mapping[str, Verdict], agent: str | None) -> int:
    """Keep the relations; how many were replaced."""
    if not old:
        return 0
    return desk.store.write(lambda tx: sum(supersede(desk, tx, new, id, said, agent) for id, said in old.items()))


def _best(drawn: Sequence[Drawn]) -> list[Drawn]:
    """The best of each message, in the order in which they were said."""
    kept: list[Drawn] = []
    for source in dict.fromkeys(one.source.id for one in drawn):
        own = [one for one in drawn if one.source.id == source]
        best = sorted(own, key=lambda one: -one.worth)[:MOST_OF_ONE]
        kept += [one for one in own if one in best]
    return kept


def _statement(desk: Desk, tx: Tx, drawn: Drawn) -> Statement:
    return Statement(
        tenant=desk.tenant,
        id=statement_id(drawn.source.id, drawn.place),
        seq=tx.next_seq(),
        source_id=drawn.source.id,
        session_id=drawn.source.session_id,
        project=drawn.source.project,
        agent=drawn.source.agent,
        kind=drawn.kind,
        text=drawn.text,
        worth=drawn.worth,
        at=drawn.source.at,
    )
