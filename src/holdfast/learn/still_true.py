"""Taking a supersession back: both statements hold."""

from __future__ import annotations

from holdfast.desk import Desk
from holdfast.errors import NotFound
from holdfast.learn.backlog import mark_sessions_of
from holdfast.learn.relations import keep_relation
from holdfast.learn.supersession import HOLDS, SUPERSEDES, UPDATES
from holdfast.model import Relation
from holdfast.store.port import Condition, Tx, where
from holdfast.store.tables import MEMORIES, RELATIONS, STATEMENTS


def still_true(desk: Desk, id: str) -> list[Relation]:
    """Say that a memory, a statement or all that an observation states still holds; the relations that were removed.

    The same supersession is not found again.

    Raises:
        NotFound: nothing of that id was superseded.
    """

    def store(tx: Tx) -> list[Relation]:
        said = tx.find(STATEMENTS, desk.tenant, *desk.sees(), *where(source_id=id))
        ends = Condition("target_id", "in", [id, *(one.id for one in said)])
        kinds = Condition("type", "in", (SUPERSEDES, UPDATES))
        found = tx.find(RELATIONS, desk.tenant, *desk.sees(), ends, kinds)
        memory = tx.get(MEMORIES, desk.tenant, id)
        if not found or (memory is not None and not desk.may_see(memory)):
            raise NotFound(
                f"{id}: nothing of that id was superseded", hint="holdfast recall shows the ids of outdated hits."
            )
        for one in found:
            tx.delete(RELATIONS, desk.tenant, one.id)
            keep_relation(desk, tx, one.source_id, one.target_id, HOLDS, one.agent)
        mark_sessions_of(desk, tx, [one.target_id for one in found])
        desk.audit(tx, "still_true", (id, *(one.target_id for one in found)))
        return found

    return desk.store.write(store)
