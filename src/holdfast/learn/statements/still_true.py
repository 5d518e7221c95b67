"""Taking a supersession back: both statements hold."""

from __future__ import annotations

from holdfast.context import CallContext
from holdfast.core.errors import NotFound
from holdfast.core.model import Relation
from holdfast.learn.relations import keep_relation
from holdfast.learn.statements.supersession import HOLDS, SAME_SUBJECT, SUPERSEDES, UPDATES
from holdfast.store.port import Condition, Tx, where
from holdfast.store.queries.stale_summaries import mark_sessions_of
from holdfast.store.queries.turns import MESSAGE_HOOK, MOST_MESSAGES, turn_of
from holdfast.store.tables import MEMORIES, OBSERVATIONS, RELATIONS, STATEMENTS


def still_true(ctx: CallContext, id: str) -> list[Relation]:
    """Mark that a memory, a statement or all statements in an observation's turn still hold. Returns the removed
    relations.

    The same supersession is not found again.

    Raises:
        NotFound: nothing of that id was superseded.
    """

    def store(tx: Tx) -> list[Relation]:
        sources = Condition("source_id", "in", _turn_ids(ctx, tx, id))
        said = tx.find(STATEMENTS, ctx.tenant, *ctx.sees(), sources)
        ends = Condition("target_id", "in", [id, *(one.id for one in said)])
        kinds = Condition("type", "in", (SUPERSEDES, UPDATES, SAME_SUBJECT))
        found = tx.find(RELATIONS, ctx.tenant, *ctx.sees(), ends, kinds)
        memory = tx.get(MEMORIES, ctx.tenant, id)
        if not found or (memory is not None and not ctx.may_see(memory)):
            raise NotFound(
                f"{id}: no record with that id is marked as outdated",
                hint="Find the marked id with: holdfast recall",
            )
        for one in found:
            tx.delete(RELATIONS, ctx.tenant, one.id)
            keep_relation(ctx, tx, one.source_id, one.target_id, HOLDS, one.agent)
        mark_sessions_of(tx, ctx.tenant, ctx.clock.now_ms(), [one.target_id for one in found])
        ctx.audit(tx, "still_true", (id, *(one.target_id for one in found)))
        return found

    return ctx.store.write(store)


def _turn_ids(ctx: CallContext, tx: Tx, id: str) -> list[str]:
    """The prompt and the messages that recall shows as one hit."""
    row = tx.get(OBSERVATIONS, ctx.tenant, id)
    if row is None:
        return [id]
    turn = turn_of(tx, ctx.tenant, row, MOST_MESSAGES, *where(hook=MESSAGE_HOOK))
    return [id, *([turn.prompt.id] if turn.prompt else []), *(one.id for one in turn.rows)]
