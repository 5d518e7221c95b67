"""What was stated in a project and still holds: statements without those that a newer one replaced, and open work
without what was done since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.desk import Desk
from holdfast.model import Relation, Statement
from holdfast.recall.passage import stems
from holdfast.store.port import Condition, Reader
from holdfast.store.tables import RELATIONS, STATEMENTS

READ = 800  # of a project's newest statements
BATCH = 500
SUPERSEDES, UPDATES = "supersedes", "updates"
# Share of an open item's own words that a later statement must hold for it to count as taken up since.
TAKEN_UP = 0.6


@dataclass(frozen=True, slots=True)
class Standing:
    """A statement that holds. `doubtful`: a newer one probably speaks of the same."""

    statement: Statement
    doubtful: bool = False


def standing(desk: Desk, projects: Sequence[str], agent: str | None) -> list[Standing]:
    """A project's statements that hold, newest first."""
    if desk.in_chat or not projects:
        return []
    reader = desk.store.read()
    bounds = (*desk.sees(agent), Condition("project", "in", list(projects)))
    found = reader.find(STATEMENTS, desk.tenant, *bounds, order="-at", limit=READ)
    newer = relations_to(desk, reader, [one.id for one in found])
    held = [one for one in found if one.id not in newer or newer[one.id].type != SUPERSEDES]
    return [Standing(one, one.id in newer) for one in held if one.kind != "open" or not _taken_up(one, held)]


def relations_to(desk: Desk, reader: Reader, ids: Sequence[str]) -> dict[str, Relation]:
    """What replaced each of these statements or memories, or speaks of the same anew; the surest, then the last."""
    found: dict[str, Relation] = {}
    kinds = Condition("type", "in", (SUPERSEDES, UPDATES))
    for start in range(0, len(ids), BATCH):
        some = Condition("target_id", "in", list(ids[start : start + BATCH]))
        relations = reader.find(RELATIONS, desk.tenant, *desk.sees(), kinds, some, order="seq")
        for one in sorted(relations, key=lambda one: (one.type == SUPERSEDES, one.seq)):
            found[one.target_id] = one
    return found


def _taken_up(item: Statement, others: Iterable[Statement]) -> bool:
    """Whether something said in a later session is about the same: it is done, or told there as it stands now."""
    own = stems(item.text)
    return bool(own) and any(
        other.at > item.at
        and other.session_id != item.session_id
        and len(own & stems(other.text)) >= TAKEN_UP * len(own)
        for other in others
    )
