"""Consolidation: what recurs over sessions becomes insights. Repeating it changes nothing while nothing is new."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.context import CallContext
from holdfast.core.model import Statement
from holdfast.core.session_keys import session_name
from holdfast.learn.recurrence import find_facts, find_procedures
from holdfast.learn.sessions.backlog import is_stale
from holdfast.learn.sessions.narrative import LEAST_WORTH
from holdfast.learn.sessions.results import Finding
from holdfast.learn.sessions.summarize import EXTRACTIVE, keep_finding, summarize
from holdfast.learn.statements.supersession import replaced_ids
from holdfast.store.port import Condition, Reader, Tx, where
from holdfast.store.tables import INSIGHTS, OBSERVATIONS, SESSIONS, STATEMENTS, SUMMARIES

MOST_OBSERVATIONS = 5_000
MOST_SUMMARIES = 200
MOST_STATEMENTS = 5_000
# Of each kind. A run finds a hundred at most; those that it does not find again are removed when there are more.
MOST_INSIGHTS = 500
KINDS = ("semantic", "procedural")


@dataclass(frozen=True, slots=True)
class ConsolidationResult:
    summarized: int
    facts: int
    procedures: int
    observations: int
    summaries: int


def consolidate(ctx: CallContext, project: str | None, min_observations: int) -> ConsolidationResult:
    """Summarize sessions that have no summary, then draw facts and procedures from all of them."""
    reader = ctx.store.read()
    bounds = (*ctx.sees(), *where(project=project))
    summarized = 0
    for session in reader.find(SESSIONS, ctx.tenant, *bounds, order="-started_at", limit=MOST_SUMMARIES):
        enough = session.observation_count >= min_observations
        if enough and is_stale(reader.get(SUMMARIES, ctx.tenant, session.id), session):
            summarize(ctx, session_name(session.id))
            summarized += 1
    return draw_insights(ctx, project, summarized)


def draw_insights(ctx: CallContext, project: str | None, summarized: int = 0) -> ConsolidationResult:
    """Draw facts and procedures from the newest observations; what repeats a replaced statement is removed."""
    reader = ctx.store.read()
    bounds = (*ctx.sees(), *where(project=project))
    seen = reader.find(OBSERVATIONS, ctx.tenant, *bounds, order="-at", limit=MOST_OBSERVATIONS)
    summaries = reader.find(SUMMARIES, ctx.tenant, *bounds, order="-created_at", limit=MOST_SUMMARIES)
    held, replaced = _statements(ctx, reader, project)
    facts, procedures = find_facts(seen, summaries, held), find_procedures(seen)
    if not (facts or procedures or summarized or reader.count(INSIGHTS, ctx.tenant)):
        return ConsolidationResult(0, 0, 0, len(seen), len(summaries))  # no writer waits

    def store(tx: Tx) -> tuple[int, int]:
        kept = {"semantic": _keep(ctx, tx, facts), "procedural": _keep(ctx, tx, procedures)}
        dropped = _drop_old(ctx, tx, kept["semantic"][0] | kept["procedural"][0], replaced)
        new = kept["semantic"][1], kept["procedural"][1]
        if any(new) or dropped or summarized:
            ctx.audit(tx, "consolidate", (), facts=new[0], procedures=new[1], summarized=summarized, dropped=dropped)
        return new

    new_facts, new_procedures = ctx.store.write(store)
    return ConsolidationResult(summarized, new_facts, new_procedures, len(seen), len(summaries))


def _statements(ctx: CallContext, reader: Reader, project: str | None) -> tuple[dict[str, list[Statement]], list[str]]:
    """The newest statements that are in force, by project, and the texts of those that are not."""
    worthy = (*ctx.sees(), *where(project=project), Condition("worth", ">=", LEAST_WORTH))
    said = reader.find(STATEMENTS, ctx.tenant, *worthy, order="-at", limit=MOST_STATEMENTS)
    replaced = replaced_ids(ctx, reader, [one.id for one in said])
    held: dict[str, list[Statement]] = {}
    for one in said:
        held.setdefault(one.project, []).extend([one] if one.id not in replaced else [])
    texts = {one.text for some in held.values() for one in some}
    return held, [one.text for one in said if one.id in replaced and one.text not in texts]


def _keep(ctx: CallContext, tx: Tx, findings: list[Finding]) -> tuple[set[str], int]:
    """The ids of the findings, and how many are new."""
    kept = [keep_finding(ctx, tx, one, EXTRACTIVE) for one in findings]
    return {insight.id for insight, _ in kept}, sum(new for _, new in kept)


def _drop_old(ctx: CallContext, tx: Tx, found: set[str], replaced: list[str]) -> int:
    """Remove insights that were not found again: those that quote what was replaced, and the oldest of too many."""
    dropped = 0
    for kind in KINDS:
        known = tx.find(INSIGHTS, ctx.tenant, *ctx.sees(), *where(kind=kind), order="-updated_at")
        for place, insight in enumerate(known):
            if insight.id in found or insight.maker != EXTRACTIVE:
                continue
            if place >= MOST_INSIGHTS or any(text in insight.content for text in replaced):
                tx.delete(INSIGHTS, ctx.tenant, insight.id)
                dropped += 1
    return dropped
