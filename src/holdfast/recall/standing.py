"""What was stated in a project and still holds: statements without those that a newer one replaced, and open work
without what was done since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from holdfast.desk import Desk
from holdfast.model import Relation, Statement
from holdfast.store import words
from holdfast.store.port import Condition, Reader, where
from holdfast.store.tables import RELATIONS, STATEMENTS

READ = 800  # of a project's newest statements
BATCH = 500
SUPERSEDES = "supersedes"
# Share of an open item's own words that a later statement must hold for it to count as taken up since.
TAKEN_UP = 0.6


@dataclass(frozen=True, slots=True)
class Replaced:
    """What replaced a statement or memory, and when it was said."""

    by: str
    text: str
    at: int


def standing(desk: Desk, projects: Sequence[str], agent: str | None, except_session: str | None) -> list[Statement]:
    """A project's statements that hold, newest first."""
    if desk.in_chat or not projects:
        return []
    reader = desk.store.read()
    bounds = (*desk.sees(agent), Condition("project", "in", list(projects)))
    found = reader.find(STATEMENTS, desk.tenant, *bounds, order="-at", limit=READ)
    gone = replacements(desk, reader, [one.id for one in found])
    held = [one for one in found if one.id not in gone and one.session_id != except_session]
    return [one for one in held if one.kind != "open" or not _taken_up(one, held)]


def replacements(desk: Desk, reader: Reader, ids: Sequence[str]) -> dict[str, Relation]:
    """The relation that replaced each of these statements or memories; the last one, if there are several."""
    found: dict[str, Relation] = {}
    for start in range(0, len(ids), BATCH):
        some = Condition("target_id", "in", list(ids[start : start + BATCH]))
        relations = reader.find(RELATIONS, desk.tenant, *desk.sees(), *where(type=SUPERSEDES), some, order="seq")
        found |= {one.target_id: one for one in relations}
    return found


def _taken_up(item: Statement, others: Iterable[Statement]) -> bool:
    """Whether something said in a later session is about the same: it is done, or told there as it stands now."""
    own = _stems(item.text)
    return bool(own) and any(
        other.at > item.at
        and other.session_id != item.session_id
        and len(own & _stems(other.text)) >= TAKEN_UP * len(own)
        for other in others
    )


@lru_cache(maxsize=4_096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem for word in words.query(text) for stem in words.stems(word))
