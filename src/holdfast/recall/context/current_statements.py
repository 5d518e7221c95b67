"""What was stated in a project and still holds: statements without stock phrases and without those that a newer one
replaced, and open work without what was done since."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.context import CallContext
from holdfast.core.model import Relation, Statement
from holdfast.recall.context.stock_phrases import stock_phrases
from holdfast.recall.passage import stems
from holdfast.store.port import Condition, Reader
from holdfast.store.tables import MEMORIES, RELATIONS, STATEMENTS

READ = 800  # of a project's newest statements
BATCH = 500
SUPERSEDES, UPDATES, SAME_SUBJECT = "supersedes", "updates", "same_subject"
_STRENGTH = {SAME_SUBJECT: 0, UPDATES: 1, SUPERSEDES: 2}
# Share of an open item's own words that a later statement must hold for it to count as taken up since.
TAKEN_UP = 0.6
REPORTS = frozenset({"open", "change", "fact"})  # kinds that report how things are
# A run that fails, and one of the same that passes.
_RUN = r"\b(?P<run>tests?|suites?|builds?|lint|ci|pipeline)\b"
_FAILING = re.compile(rf"{_RUN}[^.;]{{0,60}}\b(?:fail\w*|red|broken)\b", re.IGNORECASE)
_PASSING = re.compile(rf"{_RUN}[^.;]{{0,40}}\b(?:pass(?:es|ed)?|green|succeed\w*)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CurrentStatement:
    """A statement that holds. `newer`: later statements that are, or may be, about the same."""

    statement: Statement
    newer: str = ""
    newer_id: str = ""
    doubtful: bool = False  # the newer one probably gives another value
    related: bool = True  # a reader sees what both are about, so it may stand below the newer one

    @property
    def earlier(self) -> bool:
        return bool(self.newer)


def standing(ctx: CallContext, projects: Sequence[str], agent: str | None) -> list[CurrentStatement]:
    """A project's statements that hold, newest first."""
    if ctx.in_chat or not projects:
        return []
    reader = ctx.store.read()
    said = newest_statements(ctx, reader, projects, agent)
    stock = stock_phrases(said)
    found = [one for one in said if one.id not in stock]
    newer = _relations_to(ctx, reader, [one.id for one in found], tuple(_STRENGTH))
    held = [one for one in found if all(relation.type != SUPERSEDES for relation in newer.get(one.id, ()))]
    texts = _texts(ctx, reader, [relation.source_id for one in held for relation in newer.get(one.id, ())])
    told = [one for one in held if not _is_done(one, held)]
    return [_standing(one, newer.get(one.id, ()), texts) for one in told]


def newest_statements(
    ctx: CallContext, reader: Reader, projects: Sequence[str], agent: str | None
) -> Sequence[Statement]:
    """What was stated last in a project, newest first."""
    bounds = (*ctx.sees(agent), Condition("project", "in", list(projects)))
    return reader.find(STATEMENTS, ctx.tenant, *bounds, order="-at", limit=READ)


def _standing(statement: Statement, newer: Sequence[Relation], said: Mapping[str, str]) -> CurrentStatement:
    """The statement with the newer one that is surest about the same; of these the last with a word in common."""
    own = stems(statement.text)
    rows = [
        (_STRENGTH[one.type], bool(own & stems(said[one.source_id])), one.seq, one)
        for one in newer
        if one.source_id in said
    ]
    if not rows:
        return CurrentStatement(statement)
    _, related, _, found = max(rows, key=lambda row: row[:3])
    doubtful = found.type == UPDATES
    return CurrentStatement(statement, said[found.source_id], found.source_id, doubtful, related or doubtful)


def _texts(ctx: CallContext, reader: Reader, ids: Sequence[str]) -> dict[str, str]:
    """The texts of statements and memories of these ids, as far as the caller may see them."""
    some = Condition("id", "in", list(ids))
    said = {one.id: one.text for one in reader.find(STATEMENTS, ctx.tenant, *ctx.sees(), some)}
    kept = reader.find(MEMORIES, ctx.tenant, some) if len(said) < len(set(ids)) else []
    return said | {one.id: one.content for one in kept if ctx.may_see(one)}


def relations_to(
    ctx: CallContext, reader: Reader, ids: Sequence[str], types: tuple[str, ...] = (SUPERSEDES, UPDATES)
) -> dict[str, Relation]:
    """What replaced each of these statements or memories, or is a later one on it; the surest, then the last."""
    return {id: found[-1] for id, found in _relations_to(ctx, reader, ids, types).items()}


def _relations_to(
    ctx: CallContext, reader: Reader, ids: Sequence[str], types: tuple[str, ...]
) -> dict[str, list[Relation]]:
    """All of them for each, the surest and last one at the end."""
    found: dict[str, list[Relation]] = {}
    kinds = Condition("type", "in", types)
    for start in range(0, len(ids), BATCH):
        some = Condition("target_id", "in", list(ids[start : start + BATCH]))
        relations = reader.find(RELATIONS, ctx.tenant, *ctx.sees(), kinds, some, order="seq")
        for one in sorted(relations, key=lambda one: (_STRENGTH[one.type], one.seq)):
            found.setdefault(one.target_id, []).append(one)
    return found


def _is_done(item: Statement, held: Sequence[Statement]) -> bool:
    """Whether it is open work that was taken up since, or a failure that is solved. What caused one is kept."""
    return (item.kind == "open" and _taken_up(item, held)) or (item.kind in REPORTS and _passes_since(item, held))


def _passes_since(item: Statement, others: Iterable[Statement]) -> bool:
    """Whether it says that a run fails, and something later that the same passes."""
    failing = _runs(_FAILING, item.text)
    return bool(failing) and any(other.at > item.at and failing & _runs(_PASSING, other.text) for other in others)


def _runs(pattern: re.Pattern[str], text: str) -> set[str]:
    return {found["run"].lower().rstrip("s") for found in pattern.finditer(text)}


def _taken_up(item: Statement, others: Iterable[Statement]) -> bool:
    """Whether something said in a later session is about the same: it is done, or its current state is there."""
    own = stems(item.text)
    return bool(own) and any(
        other.at > item.at
        and other.session_id != item.session_id
        and len(own & stems(other.text)) >= TAKEN_UP * len(own)
        for other in others
    )
